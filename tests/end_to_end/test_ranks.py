"""RELIABILITY 5, 7, 11: a training of several processes, from the command to the run folder."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from waiting import until

import small_runs
from mt.config.schema import TrainConfig

ROOT = Path(__file__).resolve().parents[2]
STEPS = 12


def start(config: TrainConfig, log: Path, *, hold: Path | None = None, ranks: int = 2) -> list[BaseProcess]:
    environments = small_runs.torchrun_environments(ranks)
    return [small_runs.start_training(config, log=log, hold=hold, environment=one) for one in environments]


def metrics(run_dir: Path) -> list[dict[str, Any]]:
    lines = (run_dir / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return [small_runs.without_times(json.loads(line)) for line in lines]


def losses(run_dir: Path) -> list[dict[str, Any]]:
    return [line for line in metrics(run_dir) if line["kind"] == "train"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A command line; micro-batches of half a step, so that two ranks accumulate nothing and one does."""
    words = small_runs.write_corpus(tmp_path_factory.mktemp("ranks") / "corpus")
    return small_runs.arguments(words, f"training.max_steps={STEPS}", "training.micro_batch_tokens=100")


@pytest.fixture(scope="module")
def whole(corpus: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two ranks leave behind when nobody stops them; Muon, which has Adam for a part."""
    run_dir = tmp_path_factory.mktemp("whole") / "run"
    config = small_runs.train_config(corpus, f"run_dir={run_dir}", "training.optimizer=muon")
    assert small_runs.ended(start(config, run_dir.with_suffix(".log"))) == [0, 0]
    assert (run_dir / "evaluation.json").exists()
    return run_dir


@pytest.mark.reliability(5, 7)
def test_two_ranks_continue_bitwise_after_a_signal_to_one(corpus: list[str], whole: Path, tmp_path: Path) -> None:
    """Only the second rank hears it; both finish the step, one saves, one tells."""
    run_dir, log, hold = tmp_path / "run", tmp_path / "log", tmp_path / "hold"
    config = small_runs.train_config(corpus, f"run_dir={run_dir}", "training.optimizer=muon")
    processes = start(config, log, hold=hold)
    until((run_dir / "metrics.jsonl").exists)
    os.kill(int(processes[1].pid or 0), signal.SIGUSR1)
    hold.touch()
    assert small_runs.ended(processes) == [143, 143]
    [step] = re.findall(r"stopped by a signal: saved at step (\d+) of", log.read_text(encoding="utf-8"))
    assert int(step) < STEPS
    assert "Traceback" not in log.read_text(encoding="utf-8")
    assert [path.name for path in (run_dir / "checkpoints").glob("step-*")] == [f"step-{step}"]
    assert small_runs.ended(start(config, log)) == [0, 0]
    assert small_runs.outcome(run_dir) == small_runs.outcome(whole)


@pytest.mark.long
def test_two_ranks_read_what_one_reads(corpus: list[str], whole: Path, tmp_path: Path) -> None:
    assert small_runs.train(corpus, f"run_dir={tmp_path}/one") == 0
    keys = ("step", "kind", "epoch", "learning_rate", "target_tokens")
    places = [[[line.get(key) for key in keys] for line in metrics(run)] for run in (whole, tmp_path / "one")]
    assert places[0] == places[1]


@pytest.mark.long
def test_one_two_and_sharded_ranks_train_alike(corpus: list[str], tmp_path: Path) -> None:
    """Without dropout, which each rank draws for itself; a run may change between them at any step."""
    plain = small_runs.arguments(corpus, "model.dropout=0", "training.max_steps=8")
    one, two, mixed = (tmp_path / name for name in ("one", "two", "mixed"))
    together = start(small_runs.train_config(plain, f"run_dir={two}"), tmp_path / "log")
    assert small_runs.train(plain, f"run_dir={one}") == 0
    assert small_runs.ended(together) == [0, 0]
    for steps, fsdp, ranks in ((4, "true", 2), (6, "false", 1), (8, "true", 2)):
        changes = (f"run_dir={mixed}", f"training.max_steps={steps}", f"training.fsdp={fsdp}")
        if ranks == 1:
            assert small_runs.train(plain, *changes) == 0
        else:
            assert small_runs.ended(start(small_runs.train_config(plain, *changes), tmp_path / "log")) == [0, 0]
    keys = ("step", "epoch", "learning_rate", "target_tokens", "loss", "nll", "gradient_norm")
    for run_dir in (two, mixed):
        for ours, theirs in zip(losses(run_dir), losses(one), strict=True):
            assert [ours[key] for key in keys] == pytest.approx([theirs[key] for key in keys], rel=1e-4), run_dir


def test_a_rank_that_dies_ends_the_others(corpus: list[str], tmp_path: Path) -> None:
    run_dir, log = tmp_path / "run", tmp_path / "log"
    config = small_runs.train_config(corpus, f"run_dir={run_dir}", "training.max_steps=100000")
    processes = start(config, log)
    until((run_dir / "checkpoints/step-4").exists)
    processes[1].kill()
    assert small_runs.ended(processes, within_seconds=30) == [1, -signal.SIGKILL]
    text = log.read_text(encoding="utf-8")
    assert text.count("error: another process of this training has ended") == 1
    assert "Traceback" not in text


def test_an_error_of_one_rank_is_reported_once_and_ends_all(corpus: list[str], tmp_path: Path) -> None:
    """It is the second rank that cannot read its share; the first one only notices that it left."""
    run_dir, log = tmp_path / "run", tmp_path / "log"
    config = small_runs.train_config(corpus, f"run_dir={run_dir}")
    environments = small_runs.torchrun_environments(2)
    processes = [small_runs.start(train_without_memory, config, log, environment=one) for one in environments]
    assert small_runs.ended(processes, within_seconds=30) == [1, 2]
    text = log.read_text(encoding="utf-8")
    assert text.count("error: ") == 1
    assert "error: out of memory" in text
    assert "Traceback" not in text


def train_without_memory(config: TrainConfig, log: Path) -> None:
    from mt.training import trainer  # noqa: PLC0415

    original, calls = trainer.train_step, []

    def failing(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3 and os.environ["RANK"] == "1":
            raise MemoryError
        return original(*arguments, **options)

    trainer.train_step = failing
    small_runs._train(config, log, None, 1)


def test_an_error_of_all_ranks_is_reported_once(corpus: list[str], whole: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = small_runs.train_config(corpus, f"run_dir={whole}", "model.d_model=32")
    assert small_runs.ended(start(config, log)) == [2, 2]
    assert log.read_text(encoding="utf-8").count("error: ") == 1
    assert "differs in model.d_model" in log.read_text(encoding="utf-8")


def test_a_wrong_command_line_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    counts = []
    for local_rank in ("0", "1"):
        monkeypatch.setenv("LOCAL_RANK", local_rank)
        for words in (["training.max_step=3"], ["model.num_heads=3"], ["data=toys"]):
            assert small_runs.train(words) == 2
            counts.append(capfd.readouterr().err.count("error: "))
    assert counts == [1, 1, 1, 0, 0, 0]


# ---------------------------------------------------------------------------- the launcher itself


def torchrun(corpus: list[str], run_dir: Path, *changes: str, ranks: int = 2) -> subprocess.Popen[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--standalone"]
    words = small_runs.arguments(corpus, f"run_dir={run_dir}", *changes)
    command = [*launcher, str(ROOT / "scripts/train.py"), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
def test_torchrun_trains_as_one_process(corpus: list[str], tmp_path: Path, ranks: int) -> None:
    plain = small_runs.arguments(corpus, "model.dropout=0")
    launched = torchrun(plain, tmp_path / "launched", ranks=ranks)
    error = launched.communicate(timeout=200)[1]
    assert launched.returncode == 0, error
    assert f"on {ranks} × cpu" in error
    assert small_runs.train(plain, f"run_dir={tmp_path}/one") == 0
    for ours, theirs in zip(losses(tmp_path / "launched"), losses(tmp_path / "one"), strict=True):
        assert [ours["step"], ours["loss"]] == pytest.approx([theirs["step"], theirs["loss"]], rel=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_torchrun_saves(corpus: list[str], tmp_path: Path, number: signal.Signals) -> None:
    run_dir = tmp_path / "run"
    launched = torchrun(corpus, run_dir, "training.max_steps=100000", "training.validate_every_steps=100000")
    until((run_dir / "checkpoints/step-4").exists, seconds=120)
    launched.send_signal(number)
    start = time.monotonic()
    error = launched.communicate(timeout=60)[1]
    assert time.monotonic() - start < 20
    [step] = re.findall(r"stopped by a signal: saved at step ([\d,]+) of", error)
    assert (run_dir / f"checkpoints/step-{step.replace(',', '')}").exists()


@pytest.mark.long
def test_torchrun_ends_all_when_one_dies(corpus: list[str], tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    launched = torchrun(corpus, run_dir, "training.max_steps=100000")
    until((run_dir / "checkpoints/step-4").exists, seconds=120)
    children = Path(f"/proc/{launched.pid}/task/{launched.pid}/children").read_text(encoding="utf-8").split()
    os.kill(int(children[-1]), signal.SIGKILL)
    start = time.monotonic()
    error = launched.communicate(timeout=60)[1]
    assert time.monotonic() - start < 30
    assert launched.returncode != 0
    assert "SIGKILL" in error
    assert not any(Path(f"/proc/{child}").exists() for child in children)


@pytest.mark.long
def test_a_rank_that_hangs_leaves_after_a_signal(corpus: list[str], tmp_path: Path) -> None:
    """A rank that is neither dead nor alive, as NCCL sees a dead one: the other, deep in a collective, gives up."""
    run_dir, log = tmp_path / "run", tmp_path / "log"
    config = small_runs.train_config(corpus, f"run_dir={run_dir}", "training.max_steps=100000")
    processes = start(config, log)
    until((run_dir / "checkpoints/step-4").exists)
    os.kill(int(processes[1].pid or 0), signal.SIGSTOP)
    time.sleep(1)
    os.kill(int(processes[0].pid or 0), signal.SIGTERM)
    assert small_runs.ended(processes[:1], within_seconds=90) == [143]
    processes[1].kill()


@pytest.mark.long
@pytest.mark.reliability(7)
def test_four_ranks_continue_bitwise(corpus: list[str], tmp_path: Path) -> None:
    """And two ranks read what four would have read."""
    whole, torn, other = (tmp_path / name for name in ("whole", "torn", "other"))
    assert (
        small_runs.ended(start(small_runs.train_config(corpus, f"run_dir={whole}"), tmp_path / "log", ranks=4))
        == [0] * 4
    )
    short = small_runs.train_config(corpus, f"run_dir={torn}", "training.max_minutes=0.00001")
    for _ in range(3):
        assert small_runs.ended(start(short, tmp_path / "log", ranks=4)) == [0] * 4
    shutil.copytree(torn, other)
    assert (
        small_runs.ended(start(small_runs.train_config(corpus, f"run_dir={torn}"), tmp_path / "log", ranks=4))
        == [0] * 4
    )
    assert small_runs.outcome(torn) == small_runs.outcome(whole)
    assert (
        small_runs.ended(start(small_runs.train_config(corpus, f"run_dir={other}"), tmp_path / "log", ranks=2))
        == [0] * 2
    )
    places = [
        [(line["step"], line.get("epoch"), line.get("target_tokens")) for line in metrics(r)] for r in (other, whole)
    ]
    assert places[0] == places[1]


@pytest.mark.long
def test_submitit_starts_jobs_of_two_processes(corpus: list[str], tmp_path: Path) -> None:
    """As on SLURM, with its launcher for one machine: a sweep, a run folder for each job, one process for each task."""
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    launcher = ["hydra/launcher=submitit_local", "hydra.launcher.tasks_per_node=2", f"hydra.sweep.dir={tmp_path}/sweep"]
    words = [*small_runs.arguments(corpus, "seed=1,2", "training.max_steps=4", "run_dir=runs/x-${seed}"), *launcher]
    command = [sys.executable, str(ROOT / "scripts/train.py"), "-m", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    said = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "sweep/.submitit").rglob("*_0_log.err"))
    assert done.returncode == 0, done.stderr + said
    assert said.count("on 2 × cpu") == 2
    assert {path.parent.name for path in (tmp_path / "runs").glob("*/evaluation.json")} == {"x-1", "x-2"}
