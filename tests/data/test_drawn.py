"""Pairs that are drawn for validation and test: which, and what they have in common with others."""

from pathlib import Path

import pytest

from mt.data.corpus import FileCorpus
from mt.data.drawn import Draw, DrawnCorpus
from mt.data.filters import FilterSettings, Pair
from mt.errors import UserError

FILTERS = FilterSettings(max_length_ratio=3.0, remove_copies=True, remove_duplicates=True, remove_held_out=True)
LINES = [f"{number} a\t{number} b\n" for number in range(100)]


def corpus(path: Path, lines: list[str]) -> FileCorpus:
    path.write_text("".join(lines), encoding="utf-8")
    return FileCorpus(file=str(path), source_language="de", target_language="en")


def drawn(corpora: list[FileCorpus], given: list[FileCorpus] | None = None) -> list[list[Pair]]:
    draw = Draw(corpora, given or [], FILTERS, 100)
    parts = [DrawnCorpus("drawn", draw, part) for part in (0, 1)]
    pairs = [list(part.pairs()) for part in parts]
    assert [part.count_pairs() for part in parts] == list(map(len, pairs))
    return pairs


def test_a_twentieth_for_each_split_in_the_order_of_the_corpora(tmp_path: Path) -> None:
    corpora = [corpus(tmp_path / f"{half}.tsv", LINES[half::2]) for half in (0, 1)]
    order = [pair for one in corpora for pair in one.pairs()]
    validation, test = drawn(corpora)
    assert len({*validation, *test}) == 10
    for part in (validation, test):
        assert sorted(part, key=order.index) == part
        assert len(part) == 5


def test_the_order_of_the_corpora_and_their_copies_do_not_matter(tmp_path: Path) -> None:
    """Nor do case and punctuation: none of a pair's forms is in two splits, or in one twice."""
    first = corpus(tmp_path / "a.tsv", LINES)
    again = corpus(tmp_path / "b.tsv", [line.upper().replace(" A", " a!") for line in LINES[::-1]])
    once, twice = drawn([first]), drawn([first, again])
    assert [len(part) for part in twice] == [5, 5]
    assert [set(part) for part in once] == [set(part) for part in twice]
    assert [set(part) for part in drawn([first, first])] == [set(part) for part in twice]


def test_nothing_is_drawn_that_another_test_set_has(tmp_path: Path) -> None:
    first = corpus(tmp_path / "a.tsv", LINES)
    test = corpus(tmp_path / "test.tsv", [line.upper() for line in LINES[:60]])
    found = {pair for part in drawn([first], [test]) for pair in part}
    assert len(found) == 4
    assert not found & {*list(first.pairs())[:60]}


def test_no_noise_is_drawn(tmp_path: Path) -> None:
    """Such as training drops: copies, pairs of other lengths, lines that are too long for it."""
    noise = [("{} the same", "{} the same"), ("{}", "{} " + "c " * 20), ("{} " + "d" * 100, "{} " + "e" * 90)]
    lines = [f"{source}\t{target}\n".replace("{}", str(number)) for number in range(100) for source, target in noise]
    mixed = corpus(tmp_path / "a.tsv", [*LINES, *lines])
    clean = corpus(tmp_path / "b.tsv", LINES)
    assert drawn([mixed]) == drawn([clean])


def test_other_text_is_another_draw(tmp_path: Path) -> None:
    first = corpus(tmp_path / "a.tsv", LINES)
    marks = [DrawnCorpus("drawn", Draw([first], [], FILTERS, 100), part).fingerprint() for part in (0, 1)]
    corpus(tmp_path / "a.tsv", LINES[1:])
    assert len({*marks, DrawnCorpus("drawn", Draw([first], [], FILTERS, 100), 0).fingerprint()}) == 3


@pytest.mark.parametrize("lines", [LINES[:19], ["a\tb\n"] * 100, ["a\t \n"] * 100])
def test_too_few_pairs_to_draw_from_are_refused(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(UserError, match=r"^data\.train: too few .*, fewer than 20 .*; give data\.validation"):
        DrawnCorpus("drawn", Draw([corpus(tmp_path / "few.tsv", lines)], [], FILTERS, 100), 0).count_pairs()
