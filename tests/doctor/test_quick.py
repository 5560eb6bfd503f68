"""The short visit before a training: what it names, that it is bounded, and that it ends nothing."""

import random
from pathlib import Path
from typing import Any

import pytest
from pairs import GeneratedCorpus, builtin_pairs

import small_runs
from mt.data.filters import FilterSettings
from mt.data.text_cache import PreparedText, prepare_text
from mt.doctor import examination, quick

Pair = tuple[str, str]


@pytest.fixture(scope="module")
def toy() -> dict[str, list[Pair]]:
    return builtin_pairs(train=2500, validation=200, test=200)


def prepared(folder: Path, splits: dict[str, list[Pair]], **changes: Any) -> PreparedText:
    corpora = {
        name: [GeneratedCorpus(name=name, identity=repr(pairs), make_pairs=lambda pairs=pairs: pairs)]
        for name, pairs in splits.items()
    }
    on = {"remove_copies": True, "remove_duplicates": True, "remove_held_out": True}
    return prepare_text(
        corpora,
        filters=FilterSettings(**({"max_length_ratio": 3.0} | on | changes)),
        cache_dir=folder,
    )


def look(capfd: pytest.CaptureFixture[str], text: PreparedText) -> list[str]:
    """The lines that a training would print."""
    quick.report_corpus_findings(text, languages=("en", "de"), max_length_ratio=3.0)
    return [line for line in capfd.readouterr().err.splitlines() if "corpus doctor: " in line]


def test_a_sound_corpus_is_passed(
    tmp_path: Path, toy: dict[str, list[Pair]], capfd: pytest.CaptureFixture[str]
) -> None:
    text = prepared(tmp_path, toy)
    [line] = look(capfd, text)
    assert f"nothing suspicious in {text.report.kept:,} pairs" in line


def test_faults_that_no_filter_removed_are_named_with_the_filter_that_would(
    tmp_path: Path, toy: dict[str, list[Pair]], capfd: pytest.CaptureFixture[str]
) -> None:
    train = list(toy["train"])
    damaged = [line for line, (_, target) in enumerate(train) if "ü" in target][:50]
    for line in damaged:
        train[line] = train[line][0], train[line][1].encode().decode("latin-1")
    leaked = random.Random(3).sample([line for line in range(len(train)) if line not in damaged], 40)
    for line, pair in zip(leaked, toy["test"], strict=False):
        train[line] = pair
    filtered = look(capfd, prepared(tmp_path, {**toy, "train": train}))
    assert len(filtered) == 2
    assert "train: 50 lines" in filtered[0]
    assert "mojibake" in filtered[0]
    whole = look(capfd, prepared(tmp_path, {**toy, "train": train}, remove_held_out=False))
    assert len(whole) == 3
    assert "are test pairs" in whole[0]
    assert whole[0].endswith("; training drops them (data.filters.remove_held_out=true)")


def test_of_a_large_corpus_blocks_are_looked_at_with_their_line_numbers(
    tmp_path: Path, toy: dict[str, list[Pair]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first half of the targets is one line too low."""
    sources, targets = map(list, zip(*toy["train"], strict=True))
    half = len(targets) // 2
    targets[: half + 1] = [targets[half], *targets[:half]]
    for line in range(0, len(targets), 10):
        targets[line] += " Ã¤"
    monkeypatch.setattr(quick, "MOST_PAIRS", 1300)
    monkeypatch.setattr(examination, "BLOCK_PAIRS", 100)
    text = prepared(tmp_path, {**toy, "train": list(zip(sources, targets, strict=True))}, remove_copies=False)
    *found, extent = look(capfd, text)
    assert f"1,200 of {text.report.kept:,} pairs" in extent
    assert any("shifted" in finding for finding in found)
    [mojibake] = [finding for finding in found if "mojibake" in finding]
    named = mojibake.rpartition(": ")[2].removesuffix(" ...").split(", ")
    lines = text.path("train", "target").read_text(encoding="utf-8").split("\n")
    assert all("Ã¤" in lines[int(number) - 1] for number in named)


def test_what_the_doctor_cannot_do_costs_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("mt.doctor.quick.examine", broken)
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/run", "training.max_steps=2"]
    assert small_runs.train(corpus) == 0
    assert "corpus doctor: could not look at the corpora (ValueError: a bug)" in capfd.readouterr().err
