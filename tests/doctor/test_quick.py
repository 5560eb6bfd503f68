"""The short visit before a training: what it names, that it is bounded and paid once, and that it ends nothing."""

import random
from pathlib import Path
from typing import Any

import pytest
from pairs import GeneratedCorpus, builtin_pairs

import small_runs
from mt.data.filters import FilterSettings
from mt.data.text_cache import PreparedText, prepare_text
from mt.doctor import quick
from mt.doctor.reading import Excerpt

Pair = tuple[str, str]


@pytest.fixture(scope="module")
def toy() -> dict[str, list[Pair]]:
    return builtin_pairs(train=2500, validation=200, test=200)


def prepared(folder: Path, splits: dict[str, list[Pair]], **changes: Any) -> PreparedText:
    corpora = {
        name: GeneratedCorpus(name=name, identity=repr(pairs), make_pairs=lambda pairs=pairs: pairs)
        for name, pairs in splits.items()
    }
    on = {"remove_copies": True, "remove_duplicates": True, "remove_held_out": True}
    return prepare_text(
        train=[corpora["train"]],
        validation=corpora["validation"],
        test=corpora["test"],
        filters=FilterSettings(**({"max_length_ratio": 3.0} | on | changes)),
        cache_dir=folder,
    )


def look(folder: Path, text: PreparedText) -> quick.QuickLook:
    return quick.look(text, languages=("en", "de"), max_length_ratio=3.0, cache_dir=folder)


def test_a_sound_corpus_is_passed_and_looked_at_once(
    tmp_path: Path, toy: dict[str, list[Pair]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = prepared(tmp_path, toy)
    seen = look(tmp_path, text)
    assert seen == quick.QuickLook(examined=text.report.kept, pairs=text.report.kept, findings=[])
    monkeypatch.setattr(quick, "diagnose", lambda *_, **__: pytest.fail("looked again"))
    assert look(tmp_path, text) == seen
    for path in tmp_path.glob("doctor-*"):
        path.write_text("{")
    with pytest.raises(pytest.fail.Exception):
        look(tmp_path, text)  # a damaged note is ignored


def test_faults_that_no_filter_removed_are_named_with_the_filter_that_would(
    tmp_path: Path, toy: dict[str, list[Pair]]
) -> None:
    train = list(toy["train"])
    damaged = [line for line, (_, target) in enumerate(train) if "ü" in target][:50]
    for line in damaged:
        train[line] = train[line][0], train[line][1].encode().decode("latin-1")
    leaked = random.Random(3).sample([line for line in range(len(train)) if line not in damaged], 40)
    for line, pair in zip(leaked, toy["test"], strict=False):
        train[line] = pair
    filtered = look(tmp_path, prepared(tmp_path, {**toy, "train": train})).findings
    assert len(filtered) == 1
    assert "train: 50 lines" in filtered[0]
    assert "mojibake" in filtered[0]
    whole = look(tmp_path, prepared(tmp_path, {**toy, "train": train}, remove_held_out=False)).findings
    assert len(whole) == 2
    assert "pairs are test pairs" in whole[0]
    assert whole[0].endswith("; data.filters.remove_held_out=true removes them")


def test_a_large_corpus_is_looked_at_in_excerpts(
    tmp_path: Path, toy: dict[str, list[Pair]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first half of the targets is one line too low."""
    sources, targets = zip(*toy["train"], strict=True)
    half = len(targets) // 2
    moved = (targets[half], *targets[:half], *targets[half + 1 :])
    monkeypatch.setattr(quick, "EXCERPT_PAIRS", 1600)
    seen = look(tmp_path, prepared(tmp_path, {**toy, "train": list(zip(sources, moved, strict=True))}))
    assert seen.examined == 1600 < seen.pairs
    assert any("shifted" in finding for finding in seen.findings)


@pytest.mark.parametrize("total", [1, 99, 100, 101, 250, 1000])
def test_an_excerpt_knows_the_lines_it_took(tmp_path: Path, total: int) -> None:
    for side in ("source", "target"):
        (tmp_path / side).write_text("".join(f"{side} {n}\n" for n in range(1, total + 1)), encoding="utf-8")
    paths = {side: str(tmp_path / side) for side in ("source", "target")}
    excerpt = Excerpt(name="train", total=total, most=100, **paths)
    pairs = list(excerpt.pairs())
    assert len(pairs) == excerpt.count_pairs() <= 100
    lines = [excerpt.line_number(position) for position in range(1, len(pairs) + 1)]
    assert pairs == [(f"source {line}", f"target {line}") for line in lines]
    assert lines == sorted(set(lines))
    assert (lines[0], lines[-1]) == (1, total)


def test_what_the_doctor_cannot_do_costs_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("mt.doctor.quick.look", broken)
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/run", "training.max_steps=2"]
    assert small_runs.train(corpus) == 0
    assert "corpus doctor: could not look at the corpora (ValueError: a bug)" in capfd.readouterr().err
