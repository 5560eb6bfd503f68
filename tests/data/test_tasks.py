"""The pairs of a task follow its rule, and no source that is held out is trained on."""

from typing import get_args

import pytest

from mt.data.filters import SPLITS
from mt.data.tasks import MODULUS, Task, TaskCorpus
from mt.errors import UserError


def splits(task: Task, training_pairs: int, held_out_pairs: int) -> list[list[tuple[str, str]]]:
    sizes = {"training_pairs": training_pairs, "held_out_pairs": held_out_pairs}
    corpora = [TaskCorpus(task=task, split=split, **sizes) for split in SPLITS]
    found = [list(corpus.pairs()) for corpus in corpora]
    assert [corpus.count_pairs() for corpus in corpora] == list(map(len, found))
    assert len({corpus.fingerprint() for corpus in corpora}) == len(SPLITS)
    return found


@pytest.mark.parametrize("task", get_args(Task))
def test_splits_share_no_source_and_are_the_same_again(task: Task) -> None:
    found = splits(task, 2000, 300)
    assert list(map(len, found)) == [2000, 300, 300]
    sources = [source for pairs in found for source, _ in pairs]
    assert len(set(sources)) == len(sources)
    assert splits(task, 2000, 300) == found


def test_answers_follow_the_rule() -> None:
    for source, target in splits("copy", 500, 10)[0]:
        assert source == target
    for source, target in splits("reverse", 500, 10)[0]:
        assert [source[-1 - i] for i in range(len(source))] == list(target)
    for source, target in splits("sort", 500, 10)[0]:
        assert list(target) == sorted(target)
        assert all(source.count(letter) == target.count(letter) for letter in source + target)
    lengths = {len(source) for source, _ in splits("sort", 500, 10)[0]}
    assert lengths == set(range(2, 17))


def test_the_addition_has_every_pair_of_numbers_and_no_more() -> None:
    everything = [pair for pairs in splits("addition", MODULUS**2 - 20, 10) for pair in pairs]
    sums = {tuple(map(int, source.split(" + "))): int(target) for source, target in everything}
    assert sums == {(a, b): (a + b) % MODULUS for a in range(MODULUS) for b in range(MODULUS)}
    with pytest.raises(UserError, match=r"data\.training_pairs: 9,390 and two times .* 10 are 9,410; .* has 9,409"):
        splits("addition", MODULUS**2 - 19, 10)
