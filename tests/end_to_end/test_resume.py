"""RELIABILITY 2, 6, 7, 8: a run that is killed as often as one likes ends as if nothing had happened."""

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from reliability import Trials

import small_runs
from mt.commands.entry_point import run
from mt.config.schema import TrainConfig
from mt.runs.atomic import read_folder, write_folder

SHORT, LONG = 6, 200
VARIANTS = {
    "fp32": [],
    "bf16": ["training.precision=bf16"],
    "separate vocabularies, Muon": ["tokenizer.shared_vocab=false", "training.optimizer=muon"],
    "BPE-dropout, R-Drop": ["tokenizer.bpe_dropout=0.1", "training.consistency=rdrop"],
    "SimCut": ["training.consistency=simcut"],
    "packed, augmented": [
        "training.packing=true",
        "augmentation=mozilla",
        "data.augmentation.upper_case=0.3",
        "data.augmentation.typos=0.3",
    ],
}
STEPS_PER_KILL = 10


def killed_until_done(command: list[str], run_dir: Path, kills: int, chance: random.Random, *, threads: int) -> int:
    """Start the same command again and again, killing it at random moments; returns how often it was killed.

    A moment is a random delay after a random line of the metrics, so that it may fall anywhere in a step, a
    validation, a save or the next start.
    """
    config = small_runs.train_config(command)
    done = 0
    while True:
        process = small_runs.start_training(config, log=run_dir.with_suffix(".log"), threads=threads)
        if done < kills:
            _wait_for_growth(run_dir / "metrics.jsonl", chance.choice([0, 0, 1, 300, 900]), process)
            process.join(chance.uniform(0, 0.15))
            process.kill()
        process.join()
        if process.exitcode == 0:
            return done
        assert process.exitcode == -signal.SIGKILL, run_dir.with_suffix(".log").read_text(encoding="utf-8")
        done += 1


def _wait_for_growth(path: Path, growth_bytes: int, process: object) -> None:
    start = path.stat().st_size if path.exists() else 0
    while growth_bytes and process.is_alive():  # type: ignore[attr-defined]
        if path.exists() and path.stat().st_size >= start + growth_bytes:
            return
        time.sleep(0.002)


@pytest.mark.reliability(2)
@pytest.mark.parametrize("kills", [SHORT, pytest.param(LONG, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_killed_runs_end_bitwise_as_others(tmp_path: Path, kills: int, trials: Trials) -> None:
    """However many kills a torn run takes before it is through, others follow until there were that many.

    Every second variant computes its micro-batches in two threads.
    """
    chance = random.Random(kills)
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    share = -(-kills // len(VARIANTS))
    steps = f"training.max_steps={STEPS_PER_KILL * share + 1}"
    for number, (name, changes) in enumerate(VARIANTS.items()):
        threads = 2 - number % 2
        whole, torn = tmp_path / f"{name} whole", tmp_path / f"{name} torn"
        command = small_runs.arguments(corpus, *changes, steps)
        killed_until_done([*command, f"run_dir={whole}"], whole, 0, chance, threads=threads)
        expected = small_runs.outcome(whole)
        assert any("optimizer" in file for file in expected)
        killed = 0
        while killed < share:
            command_of_torn = [*command, f"run_dir={torn}"]
            killed += killed_until_done(command_of_torn, torn, share - killed, chance, threads=threads)
            found = small_runs.outcome(torn)
            assert found.keys() == expected.keys(), name
            for file in expected:
                assert found[file] == expected[file], f"{name}: {file}"
            shutil.rmtree(torn)
        trials.add(killed)


@pytest.mark.reliability(6)
def test_of_ten_starts_one_runs(tmp_path: Path, trials: Trials) -> None:
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    config = small_runs.train_config(corpus, f"run_dir={tmp_path}/run", "training.max_steps=3")
    go = tmp_path / "go"
    processes = [small_runs.start_training(config, log=tmp_path / "log", hold=go) for _ in range(10)]
    deadline = time.monotonic() + 60
    while sum(process.is_alive() for process in processes) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    go.touch()
    for process in processes:
        process.join()
    trials.add(len(processes))
    assert sorted(process.exitcode for process in processes) == [0, *[6] * 9]
    assert "another process is writing to" in (tmp_path / "log").read_text(encoding="utf-8")
    assert (tmp_path / "run/evaluation.json").exists()


CHANGES = {
    "model.d_model": "model.d_model=32",
    "model.dropout": "model.dropout=0.2",
    "tokenizer.vocab_size": "tokenizer.vocab_size=330",
    "tokenizer.shared_vocab": "tokenizer.shared_vocab=false",
    "seed": "seed=2",
    "training.batch_tokens": "training.batch_tokens=401",
    "training.label_smoothing": "training.label_smoothing=0.2",
    "data.filters.max_tokens": "data.filters.max_tokens=61",
    "data.augmentation": "data.augmentation.typos=0.5",
    "data (text and filters)": "data.filters.remove_duplicates=false",
}
ALLOWED = [
    "training.max_steps=6",
    "training.validate_every_steps=3",
    "training.checkpoint_every_steps=5",
    "training.log_every_steps=1",
    "training.average_checkpoints=1",
    "training.keep_checkpoints=9",
    "training.patience=9",
    "training.max_minutes=5",
    "decoding.beam_size=2",
]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("begun")
    corpus = [*small_runs.write_corpus(folder / "corpus"), f"run_dir={folder}/run", "training.max_steps=4"]
    assert small_runs.train(corpus) == 0
    return folder, corpus


@pytest.mark.reliability(8)
@pytest.mark.parametrize("field", CHANGES)
def test_another_run_in_the_same_folder_is_refused(
    begun: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str], field: str
) -> None:
    before = small_runs.outcome(begun[0] / "run")
    assert small_runs.train(begun[1], CHANGES[field]) == 2
    error = capfd.readouterr().err
    assert f"holds a run that differs in {field}: " in error
    assert error.count(" -> ") == 1
    assert error.endswith(": repeat the command that it began with, or choose another run_dir\n")
    assert small_runs.outcome(begun[0] / "run") == before


@pytest.mark.reliability(8)
def test_other_data_or_vocabulary_is_refused(begun: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    folder, corpus = begun
    before = small_runs.outcome(folder / "run")
    for path, field in ((folder / "corpus/train.de", "data"), (folder / "run/tokenizer.model", "vocabulary")):
        content = path.read_bytes()
        path.write_bytes(content.replace(b"Br\xc3\xbccke", b"Burgen\xc3\xa4", 1) if field == "data" else OTHER(folder))
        assert small_runs.train(corpus, "training.max_steps=6") == 2
        path.write_bytes(content)
        assert f"differs in {field}" in capfd.readouterr().err
    assert small_runs.outcome(folder / "run") == before


def test_a_start_without_a_checkpoint_leaves_no_held_out_text(tmp_path: Path) -> None:
    """Held out of one corpus, it may be training text of the next."""
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    run_dir = f"run_dir={tmp_path}/run"
    begun = prepared(small_runs.train_config(corpus, run_dir), tmp_path / "run")
    assert {"test.source", "validation.source"} <= begun
    without = [word for word in corpus if not word.startswith("data.test=")]
    begun = prepared(small_runs.train_config(without, run_dir), tmp_path / "run")
    assert "validation.source" in begun
    assert "test.source" not in begun
    other = tmp_path / "project/data/test.source"  # of a folder that is no run
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    assert small_runs.train(without, f"run_dir={tmp_path}/project") == 2
    assert other.read_text() == "mine"


def prepared(config: TrainConfig, run_dir: Path) -> set[str]:
    """The names of the texts in a run folder when its training is about to begin."""
    from mt.commands.preparation import prepare  # noqa: PLC0415  after the shape checks are in place

    run_dir.mkdir(exist_ok=True)
    prepare(config, run_dir)
    return {path.name for path in (run_dir / "data").iterdir()}


def OTHER(folder: Path) -> bytes:  # noqa: N802
    """A tokenizer of the same size from other text."""
    from mt.data.tokenizer import train_tokenizer  # noqa: PLC0415  after the shape checks are in place

    train_tokenizer(
        text_files=[folder / "corpus/train.en"],
        output=folder / "other.model",
        vocab_size=320,
        character_coverage=1.0,
        byte_fallback=True,
        input_sentence_size=1000,
    )
    return (folder / "other.model").read_bytes()


def test_what_does_not_decide_the_result_may_change(begun: tuple[Path, list[str]], tmp_path: Path) -> None:
    run_dir = shutil.copytree(begun[0] / "run", tmp_path / "run")
    assert small_runs.train(begun[1], *ALLOWED, f"run_dir={run_dir}") == 0
    lines = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert [line["step"] for line in lines] == [3, 4, 5, 6, 6]


def test_other_versions_are_reported(
    begun: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir = shutil.copytree(begun[0] / "run", tmp_path / "run")
    newest = run_dir / "checkpoints/step-4"
    state = json.loads((newest / "state.json").read_bytes())
    state["origin"] |= {"torch_version": "1.9", "threads": 64}
    write_folder(newest, {**read_folder(newest), "state.json": json.dumps(state).encode()})
    for steps in (5, 6):
        assert small_runs.train(begun[1], f"run_dir={run_dir}", f"training.max_steps={steps}") == 0
        lines = [line for line in capfd.readouterr().err.split("\n") if "last bits" in line]
        changes = f"torch_version 1.9 -> {torch.__version__}, threads 64 -> 1"
        assert [line.endswith(changes) for line in lines] == [True] * (steps == 5)


def test_what_killed_writers_left_aside_is_removed(begun: tuple[Path, list[str]], tmp_path: Path) -> None:
    """And none leaves half a text for the evaluation: what there is keeps its place until the new one is whole."""
    run_dir = shutil.copytree(begun[0] / "run", tmp_path / "run")
    text = run_dir / "data/test.source"
    os.link(text, tmp_path / "old")
    before = small_runs.outcome(run_dir)
    for name in (".metrics.jsonl.77.part", ".tokenizer.model.77.part"):
        (run_dir / name).write_bytes(b"half")
    (run_dir / ".hf.part").mkdir()  # an export that is being written
    assert small_runs.train(begun[1], f"run_dir={run_dir}") == 0
    (run_dir / ".hf.part").rmdir()
    assert small_runs.outcome(run_dir) == before
    assert not text.samefile(tmp_path / "old")


@pytest.mark.reliability(4)
@pytest.mark.parametrize(
    ("damage", "reported"),
    [
        (lambda content: content[:0], "nothing is left of steps 1 to 4"),
        (lambda content: content[: content.index(b"\n") // 2], "nothing is left of steps 1 to 4"),
        (lambda content: content.replace(b"{", b"[", 1), "damaged lines left out: 1"),
    ],
    ids=["empty", "cut", "one line"],
)
def test_metrics_that_were_lost_are_reported(
    begun: tuple[Path, list[str]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    damage: Callable[[bytes], bytes],
    reported: str,
) -> None:
    run_dir = shutil.copytree(begun[0] / "run", tmp_path / "run")
    command = [*begun[1], f"run_dir={run_dir}", "training.max_steps=8"]
    path = run_dir / "metrics.jsonl"
    path.write_bytes(damage(path.read_bytes()))
    assert small_runs.train(command) == 0
    assert f"metrics.jsonl: {reported}" in capfd.readouterr().err


@pytest.mark.reliability(4)
@pytest.mark.parametrize("damage", [lambda content: content[:-1] + b"?", None], ids=["another byte", "gone"])
def test_a_model_is_not_marked_with_a_tokenizer_that_is_not_its_own(
    begun: tuple[Path, list[str]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    damage: Callable[[bytes], bytes] | None,
) -> None:
    run_dir = shutil.copytree(begun[0] / "run", tmp_path / "run")
    tokenizer, model = run_dir / "tokenizer.model", (run_dir / "model.safetensors").read_bytes()
    if damage is None:
        tokenizer.unlink()
    else:
        tokenizer.write_bytes(damage(tokenizer.read_bytes()))
    from mt.commands.average import average  # noqa: PLC0415  after the shape checks are in place

    assert run("average", average, [f"run_dir={run_dir}"]) == 4
    assert f"{tokenizer}: missing, damaged or exchanged" in capfd.readouterr().err
    assert (run_dir / "model.safetensors").read_bytes() == model


@pytest.mark.reliability(4)
def test_a_damaged_newest_checkpoint_is_reported_and_none_whole_ends_the_run(
    begun: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir = shutil.copytree(begun[0] / "run", tmp_path / "run")
    command = [*begun[1], f"run_dir={run_dir}"]
    assert small_runs.train(command, "training.max_steps=8") == 0
    before = small_runs.outcome(run_dir)
    (run_dir / "checkpoints/step-8/model.safetensors").write_bytes(b"")
    capfd.readouterr()
    assert small_runs.train(command, "training.max_steps=8") == 0
    error = capfd.readouterr().err
    assert "passing over a damaged checkpoint" in error
    assert "step-8" in error
    assert "continues after step 4" in error
    assert small_runs.outcome(run_dir) == before
    for step in (4, 8):
        (run_dir / f"checkpoints/step-{step}/manifest.json").unlink()
    assert small_runs.train(command, "training.max_steps=8") == 4
    assert "no checkpoint is whole" in capfd.readouterr().err
