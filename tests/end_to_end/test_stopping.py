"""RELIABILITY 3, 5: signals and full disks anywhere in a training leave a folder that the same command continues."""

import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults import Mode, failing_disk
from reliability import Trials

import small_runs
from mt.commands import examples, preparation, validation
from mt.commands import train as job
from mt.runs import atomic as durable
from mt.runs.delivery import averaged_steps
from mt.training import trainer
from small_runs import CODES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, Any]]:
    """A command line, and what it leaves behind when nobody stops it."""
    folder = tmp_path_factory.mktemp("whole")
    corpus = [*small_runs.write_corpus(folder / "corpus"), "training.max_steps=9"]
    assert small_runs.train(corpus, f"run_dir={folder}/run") == 0
    return corpus, small_runs.outcome(folder / "run")


MOMENTS = {
    "reading the corpora": (preparation, "prepare_text", 1),
    "training the tokenizer": (preparation, "in_process", 1),
    "encoding": (examples, "encode_corpus", 1),
    "a step": (trainer, "train_step", 6),
    "validation": (validation, "corpus_bleu", 1),
    "a save": (durable, "sync_folder", 8),
    "averaging": (job, "deliver", 1),
    "drawing": (job, "draw_curves", 1),
    "scoring": (job, "score_split", 1),
}
SHORT = {"training the tokenizer", "a step", "a save"}  # one for each signal; the other moments are long


@pytest.mark.reliability(5, 7)
@pytest.mark.parametrize(
    "moment",
    [moment if moment in SHORT else pytest.param(moment, marks=pytest.mark.long) for moment in MOMENTS],
)
def test_a_signal_anywhere_ends_the_run_cleanly(
    whole: tuple[list[str], dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    moment: str,
) -> None:
    corpus, expected = whole
    command = [*corpus, f"run_dir={tmp_path}/run", f"data.cache_dir={tmp_path}/cache"]
    number = list(CODES)[list(MOMENTS).index(moment) % len(CODES)]
    module, name, call = MOMENTS[moment]
    calls = []

    def signalled(original: Callable[..., Any]) -> Callable[..., Any]:
        def action(*arguments: Any, **options: Any) -> Any:
            calls.append(time.monotonic())
            if len(calls) == call:
                signal.raise_signal(number)
            return original(*arguments, **options)

        return action

    with monkeypatch.context() as patch:
        patch.setattr(module, name, signalled(getattr(module, name)))
        assert small_runs.train(command) == CODES[number]
        assert time.monotonic() - calls[call - 1] < 10
    error = capfd.readouterr().err
    assert "stopped by a signal" in error
    assert "Traceback" not in error
    assert small_runs.train(command) == 0
    assert small_runs.outcome(tmp_path / "run") == expected


@pytest.mark.reliability(5)
def test_a_library_that_holds_the_lock_of_python_is_not_waited_for(
    whole: tuple[list[str], dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SentencePiece does, while it learns the subwords of a large corpus for minutes."""
    corpus, _ = whole
    ready = tmp_path / "ready"

    def learning(**_: Any) -> None:
        ready.touch()
        ctypes.PyDLL(None).sleep(15)

    def stop() -> None:
        while not ready.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(preparation, "train_tokenizer", learning)
    stopping = threading.Thread(target=stop)
    stopping.start()
    assert small_runs.train(corpus, f"run_dir={tmp_path}/run") == 143
    stopping.join()
    assert time.time() - ready.stat().st_mtime < 10


@pytest.mark.reliability(5)
def test_the_command_itself_obeys(whole: tuple[list[str], dict[str, Any]], tmp_path: Path) -> None:
    """From the shell, with a real signal at a real moment."""
    corpus, _ = whole
    run_dir = tmp_path / "run"
    script = [sys.executable, str(ROOT / "scripts/train.py")]
    words = small_runs.arguments(
        corpus, f"run_dir={run_dir}", "training.max_steps=100000", "training.validate_every_steps=100000"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([*script, *words], env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (run_dir / "checkpoints/step-4").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    start = time.monotonic()
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 143, error
    assert time.monotonic() - start < 10
    assert "stopped by a signal: saved at step" in error
    assert "Traceback" not in error


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.reliability(5)
@pytest.mark.long
@pytest.mark.parametrize("number", CODES)
def test_the_default_training_leaves_within_ten_seconds(tmp_path: Path, cache: Path, number: signal.Signals) -> None:
    """What `make train` starts, while it trains."""
    run_dir = tmp_path / "run"
    command = [sys.executable, str(ROOT / "scripts/train.py"), f"run_dir={run_dir}", f"data.cache_dir={cache}"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=log)
        deadline = time.monotonic() + 200
        while process.poll() is None and time.monotonic() < deadline and not _trains(run_dir):
            time.sleep(0.1)
        process.send_signal(number)
        start = time.monotonic()
        process.wait(timeout=60)
        seconds = time.monotonic() - start
    error = (tmp_path / "log").read_text(encoding="utf-8")
    assert process.returncode == CODES[number], error
    assert seconds < 10
    assert "saved at step" in error
    assert list((run_dir / "checkpoints").glob("step-*"))


def _trains(run_dir: Path) -> bool:
    metrics = run_dir / "metrics.jsonl"
    return metrics.exists() and metrics.stat().st_size > 0


@pytest.mark.reliability(7)
def test_a_run_that_its_clock_ends_has_a_model_and_a_score_and_continues(
    whole: tuple[list[str], dict[str, Any]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus, expected = whole
    command = [*corpus, f"run_dir={tmp_path}/run"]
    run_dir = tmp_path / "run"
    for step in (1, 2):
        assert small_runs.train(command, "training.max_minutes=0.00001") == 0
        error = capfd.readouterr().err
        assert f"training.max_minutes=1e-05: training ends at step {step} of 9; the same command continues" in error
        assert f"step {step} validation: loss" in error
        assert averaged_steps(run_dir / "model.safetensors") == [step]
        for name in ("evaluation.json", "hypotheses.txt", "loss.png", "bleu.png"):
            (run_dir / name).unlink()
    assert small_runs.train(command) == 0
    found = small_runs.outcome(tmp_path / "run")
    assert {name for name in expected if found[name] != expected[name]} == set()


@pytest.mark.reliability(3)
@pytest.mark.parametrize(
    "code", [errno.ENOSPC, *(pytest.param(code, marks=pytest.mark.long) for code in (errno.EROFS, errno.EIO))]
)
def test_a_disk_that_fails_in_a_save_is_exit_5(
    whole: tuple[list[str], dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    code: int,
) -> None:
    corpus, expected = whole
    command = [*corpus, f"run_dir={tmp_path}/run"]
    original = durable.write_file

    def failing(path: Path, content: bytes, **options: Any) -> None:
        if "step-8" in str(path):
            raise durable.disk_error(path, OSError(code, os.strerror(code)))
        original(path, content, **options)

    with monkeypatch.context() as patch:
        patch.setattr(durable, "write_file", failing)
        assert small_runs.train(command) == 5
    assert os.strerror(code) in capfd.readouterr().err
    assert not list((tmp_path / "run/checkpoints").glob(".*"))
    assert small_runs.train(command) == 0
    assert small_runs.outcome(tmp_path / "run") == expected


@pytest.mark.reliability(3)
@pytest.mark.parametrize("mode", ["full", "once", pytest.param("read_only", marks=pytest.mark.long)])
@pytest.mark.parametrize("faults", [1, pytest.param(60, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_a_disk_that_fails_anywhere_in_a_training_costs_no_work(
    *,
    whole: tuple[list[str], dict[str, Any]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    mode: Mode,
    faults: int,
    trials: Trials,
) -> None:
    """From the first corpus read to the score; once there is room again, the same command ends as any other."""
    corpus, expected = whole
    with failing_disk(tmp_path, fail_at=10**9, mode=mode) as disk:
        assert small_runs.train(corpus, f"run_dir={tmp_path}/counted", f"data.cache_dir={tmp_path}/cache") == 0
    assert disk.calls > 200
    for fault in trials(range(faults)):
        fail_at = 1 + (disk.calls - 1) * (2 * fault + 1) // (2 * faults)
        folder = tmp_path / str(fail_at)
        command = [*corpus, f"run_dir={folder}/run", f"data.cache_dir={folder}/cache"]
        with failing_disk(folder, fail_at=fail_at, mode=mode):
            code = small_runs.train(command)
        error = capfd.readouterr().err
        assert code == 5 or (code == 0 and mode == "once"), f"call {fail_at}: {error}"
        if code == 5:
            [line] = [line for line in error.split("\n") if line.startswith("error: ")]
            assert str(folder) in line, f"call {fail_at}: {line}"
        assert "Traceback" not in error
        assert small_runs.train(command) == 0
        assert small_runs.outcome(folder / "run") == expected, f"call {fail_at}"
        shutil.rmtree(folder)


@pytest.mark.reliability(3)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_folder_that_cannot_be_written_is_exit_5(
    whole: tuple[list[str], dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    code: int,
) -> None:
    original = os.open

    def failing(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).startswith(str(tmp_path / "run")):
            raise OSError(code, os.strerror(code), str(path))
        return original(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        assert small_runs.train([*whole[0], f"run_dir={tmp_path}/run"]) == 5
    assert f"run_dir {tmp_path}/run" in capfd.readouterr().err
