"""Pairs that are not translations, made of pairs that are: what a pair classifier learns to tell apart.

A fault is a function of a pair, of another pair near it in the corpus, and of chance. Those of `UNSEEN` are never
trained on: they show what the classifier makes of faults that nobody thought of.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from pathlib import Path

import numpy as np

from mt.data.filters import Pair
from mt.data.lines import count_lines, read_lines
from mt.data.spaces import look_unspaced

Fault = Callable[[Pair, Pair, random.Random], Pair]
FAULTY, TRUE = 0, 1  # the classes

EPOCH_PAIRS = 200_000  # drawn again for each epoch where a corpus has more: they are in memory
_NEAR = 9  # pairs, from which the other side of a shifted pair comes


def shifted(pair: Pair, other: Pair, chance: random.Random) -> Pair:
    """The translation of another sentence, as where lines are lost on a side."""
    del chance
    return pair[0], other[1]


def on_one_side(change: Callable[[list[str], random.Random], list[str]]) -> Fault:
    """The fault that changes the words of one side, of either as often."""

    def fault(pair: Pair, other: Pair, chance: random.Random) -> Pair:
        del other
        side = chance.randrange(2)
        words, between = words_of(pair[side])
        return _with_side(pair, side, between.join(change(words, chance)))

    return fault


def words_of(text: str) -> tuple[list[str], str]:
    """The words of a text and what is between them; of a language without spaces its characters, spaces too."""
    return (list(text.strip()), "") if look_unspaced(list(filter(str.isalpha, text))) else (text.split(), " ")


def _with_side(pair: Pair, side: int, text: str) -> Pair:
    return (text, pair[1]) if side == 0 else (pair[0], text)


def truncated(words: list[str], chance: random.Random) -> list[str]:
    """A side ends after 30 to 70 % of its words, every other time with its last mark."""
    kept = words[: max(1, round(chance.uniform(0.3, 0.7) * len(words)))]
    mark = words[-1][-1]
    if chance.random() < 0.5 and not mark.isalnum() and len(kept) < len(words):
        kept[-1] += mark
    return kept


def words_dropped(words: list[str], chance: random.Random) -> list[str]:
    """A side without 20 to 50 % of its words, at least one."""
    number = max(1, round(chance.uniform(0.2, 0.5) * len(words)))
    dropped = set(chance.sample(range(len(words)), min(number, len(words) - 1)))
    return [word for index, word in enumerate(words) if index not in dropped]


def wrong_language(pair: Pair, other: Pair, chance: random.Random) -> Pair:
    """Both sides in the same language: an untranslated copy, or another sentence of that language."""
    side = chance.randrange(2)
    return _with_side(pair, 1 - side, chance.choice((pair, other))[side])


def words_shuffled(words: list[str], chance: random.Random) -> list[str]:
    """The words of a side in random order."""
    return chance.sample(words, len(words))


def words_replaced(pair: Pair, other: Pair, chance: random.Random) -> Pair:
    """20 to 50 % of the target's words, at least one, are words of another target."""
    (words, between), (others, _) = words_of(pair[1]), words_of(other[1])
    for index in chance.sample(range(len(words)), max(1, round(chance.uniform(0.2, 0.5) * len(words)))):
        words[index] = chance.choice(others)
    return pair[0], between.join(words)


def sentence_added(pair: Pair, other: Pair, chance: random.Random) -> Pair:
    """A sentence too many at the end of one side."""
    side = chance.randrange(2)
    return _with_side(pair, side, f"{pair[side]} {other[side]}")


TRAINED: dict[str, Fault] = {
    "shifted": shifted,
    "truncated": on_one_side(truncated),
    "words dropped": on_one_side(words_dropped),
    "wrong language": wrong_language,
}
UNSEEN: dict[str, Fault] = {
    "words shuffled": on_one_side(words_shuffled),
    "words replaced": words_replaced,
    "sentence added": sentence_added,
}


def near(pairs: Sequence[Pair], index: int, chance: random.Random) -> Pair:
    """Another pair, at most `_NEAR` lines away."""
    return pairs[(index + chance.choice((-1, 1)) * chance.randint(1, _NEAR)) % len(pairs)]


def faulty(pairs: Sequence[Pair], fault: Fault, *, seed: str) -> list[Pair]:
    """Each pair with the fault, drawn by `seed` and its index; those that the fault did not change are left out."""
    changed = []
    for index, pair in enumerate(pairs):
        chance = random.Random(f"{seed} {index}")
        if (new := fault(pair, near(pairs, index, chance), chance)) != pair:
            changed.append(new)
    return changed


def examples(pairs: Sequence[Pair], *, seed: str) -> tuple[list[Pair], list[int]]:
    """Each pair as it is or, every other time, with a fault of `TRAINED`, and its class; drawn by seed and index."""
    faults, drawn, classes = list(TRAINED.values()), [], []
    for index, pair in enumerate(pairs):
        chance = random.Random(f"{seed} {index}")
        new = chance.choice(faults)(pair, near(pairs, index, chance), chance) if chance.random() < 0.5 else pair
        drawn.append(new)
        classes.append(TRUE if new == pair else FAULTY)
    return drawn, classes


def read_pairs(source: Path, target: Path, *, most: int = EPOCH_PAIRS, seed: int | tuple[int, ...] = 0) -> list[Pair]:
    """The pairs of two text files with words on both sides; of more lines than `most` as many, drawn by `seed`."""
    lines: Iterator[Pair] = zip(read_lines(str(source)), read_lines(str(target)), strict=True)
    count = count_lines(str(source))
    if count > most:
        chosen = np.zeros(count, dtype=bool)
        chosen[np.random.Generator(np.random.PCG64(seed)).choice(count, most, replace=False)] = True
        lines = compress(lines, chosen)
    return [pair for pair in lines if all(side.split() for side in pair)]
