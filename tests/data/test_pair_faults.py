"""Pairs with faults, and the rows that an encoder reads."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tiny_models import BOS, EOS

from mt.data.pair_faults import FAULTY, TRAINED, TRUE, UNSEEN, examples, faulty, read_pairs, words_of
from mt.data.rows import labelled_rows

PAIRS = [(f"a{i} b{i} c{i} d{i} e{i} f{i}.", f"A{i} B{i} C{i} D{i} E{i} F{i}.") for i in range(400)]
OTHER = ("x y z", "X Y Z")


def words(text: str) -> list[str]:
    return text.rstrip(".").split()


def is_fault(kind: str, pair: tuple[str, str], new: tuple[str, str]) -> bool:
    """Whether `new` is what the name of the fault says, for texts of words that all differ."""
    if kind == "shifted":
        return new[0] == pair[0] and new[1] not in pair
    if kind == "wrong language":
        return new[0].islower() == new[1].islower() and (new[0] == pair[0] or new[1] == pair[1])
    if kind == "words replaced":
        ours = words(pair[1])
        return new[0] == pair[0] and 2 <= sum(word in ours for word in words(new[1])) <= 5 and len(words(new[1])) == 6
    [side] = [side for side in (0, 1) if new[side] != pair[side]]
    before, after = words(pair[side]), new[side].rstrip(".").split()
    return {
        "truncated": before[: len(after)] == after and 2 <= len(after) <= 4,
        "words dropped": [word for word in before if word in after] == after and 3 <= len(after) <= 5,
        "words shuffled": sorted(after) != after and sorted(words(new[side].replace(".", ""))) == sorted(before),
        "sentence added": new[side].startswith(f"{pair[side]} ") and len(after) == 9,
    }[kind]


@pytest.mark.parametrize("kind", [*TRAINED, *UNSEEN])
def test_a_fault_is_what_its_name_says(kind: str) -> None:
    fault = {**TRAINED, **UNSEEN}[kind]
    for seed, pair in enumerate(PAIRS):
        new = fault(pair, OTHER, random.Random(seed))
        assert new == pair or is_fault(kind, pair, new), new
    found = faulty(PAIRS, fault, seed="1")
    assert len(found) > 390
    assert not set(found) & set(PAIRS)
    assert found == faulty(PAIRS, fault, seed="1") != faulty(PAIRS, fault, seed="2")


@pytest.mark.parametrize("fault", [*TRAINED.values(), *UNSEEN.values()])
def test_the_shortest_sentences_have_a_fault_or_stay(fault: object) -> None:
    for seed in range(20):
        source, target = fault(("a", "A"), ("x", "X"), random.Random(seed))  # type: ignore[operator]
        assert source.split()
        assert target.split()


@pytest.mark.parametrize("kind", ["truncated", "words dropped", "words shuffled", "words replaced"])
def test_without_spaces_a_word_is_a_character(kind: str) -> None:
    pairs = [(f"今天天气很好我们去公园第{i}次吧。", f"今日は{i}回公園に行きましょう。") for i in range(100, 150)]
    found = faulty(pairs, {**TRAINED, **UNSEEN}[kind], seed="1")
    assert len(found) > 45
    assert not any(" " in side for pair in found for side in pair)
    assert words_of("The word 猫 means cat") == (["The", "word", "猫", "means", "cat"], " ")
    assert words_of("ฉัน ชอบ") == (list("ฉัน ชอบ"), "")


def test_every_other_pair_has_a_fault_of_a_kind_that_is_trained_on() -> None:
    drawn, classes = examples(PAIRS, seed="7")
    assert (drawn, classes) == examples(PAIRS, seed="7")
    assert drawn != examples(PAIRS, seed="8")[0]
    assert 160 < Counter(classes)[FAULTY] < 240
    for pair, new, known in zip(PAIRS, drawn, classes, strict=True):
        assert known == (TRUE if new == pair else FAULTY)


def test_a_large_corpus_gives_a_part_that_differs_between_epochs(tmp_path: Path) -> None:
    for side in (0, 1):
        lines = [pair[side] for pair in PAIRS]
        lines[5] = " " if side else lines[5]
        (tmp_path / "ab"[side]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    paths = tmp_path / "a", tmp_path / "b"
    assert read_pairs(*paths) == [*PAIRS[:5], *PAIRS[6:]]
    parts = [read_pairs(*paths, most=50, seed=(1, epoch)) for epoch in (0, 0, 1)]
    assert parts[0] == parts[1] != parts[2]
    assert all(49 <= len(part) <= 50 and set(part) <= set(PAIRS) for part in parts)


def test_a_batch_has_rows_their_classes_and_the_first_position() -> None:
    corpus = labelled_rows([np.array([BOS, 5, EOS, 6, 7]), np.array([BOS, 8, EOS, 9])], [TRUE, FAULTY])
    assert corpus.source_lengths.tolist() == [5, 4]
    assert corpus.target_lengths.tolist() == [0, 0]  # one token each, as `Pairs` counts
    batch = corpus.batch(np.arange(2))
    assert batch.source.tolist() == [[BOS, 5, EOS, 6, 7, EOS], [BOS, 8, EOS, 9, EOS, 0]]
    assert batch.target_output.flatten()[batch.label_indices].tolist() == [TRUE, FAULTY]
    assert batch.target_input.tolist() == [[0], [0]]
    assert (batch.source_tokens, batch.target_tokens) == (11, 2)
