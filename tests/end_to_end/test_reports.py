"""What is reported where a run stopped, where pairs were removed, where a disk is full and where names are the same."""

import errno
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from faults import failing_disk

import small_runs
from mt.commands.average import average
from mt.commands.entry_point import run
from mt.commands.translate import translate
from mt.training import trainer


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `runs/mine`, which a signal ended in the first step."""
    folder = tmp_path_factory.mktemp("stopped")
    corpus = small_runs.write_corpus(folder / "corpus")
    assert train_until_a_signal([*corpus, f"run_dir={folder}/runs/mine"]) == 143
    return folder


def train_until_a_signal(words: list[str]) -> int:
    """mt-train, which gets a signal in its first step; its exit code."""
    original = trainer.train_step

    def signalled(*arguments: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return original(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "train_step", signalled)
        return small_runs.train(words)


def test_a_run_that_a_signal_ended_says_how_to_translate(
    stopped: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(stopped)
    corpus = small_runs.write_corpus(stopped / "again")
    assert train_until_a_signal([*corpus, "run_dir=runs/other"]) == 143
    assert "run_dir=runs/other makes a model to translate with" in capfd.readouterr().err
    shutil.rmtree("runs/other")
    assert run("translate", translate, ["source=house"]) == 2
    error = capfd.readouterr().err
    assert "found no finished run under" in error
    assert "run mt-average run_dir=DIR" in error
    assert run("average", average, []) == 0
    assert run("translate", translate, ["source=house", "decoding.max_extra_tokens=2"]) == 0


def test_the_list_of_removed_pairs_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    quick = (f"run_dir={tmp_path}/run", "training.max_steps=1", "training.max_minutes=0.000001")
    assert small_runs.train(corpus, *quick) == 0
    assert "held_out.jsonl" not in capfd.readouterr().err
    for side in ("en", "de"):
        with (tmp_path / f"corpus/train.{side}").open("a", encoding="utf-8") as train:
            train.write((tmp_path / f"corpus/test.{side}").read_text(encoding="utf-8"))
    assert small_runs.train(corpus, *quick, f"run_dir={tmp_path}/another") == 0
    [line] = [line for line in capfd.readouterr().err.split("\n") if "held_out.jsonl" in line]
    path = Path(line.split()[-1])
    listed = [json.loads(text) for text in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert [leak["number"] for leak in listed if leak["split"] == "test"] == list(range(91, 99))


def test_a_full_disk_names_the_option_that_chooses_the_disk(stopped: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with failing_disk(stopped / "runs", fail_at=1, mode="full"):
        assert run("average", average, [f"run_dir={stopped}/runs/mine"]) == 5
    error = capfd.readouterr().err
    assert os.strerror(errno.ENOSPC) in error
    assert error.endswith("free some space and run it again, or choose another run_dir\n")
