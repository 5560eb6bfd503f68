"""Sentence pairs in memory, where the program would read an encoded corpus."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mt.data.batch import Pairs
from mt.data.corpus import builtin_corpus

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class GeneratedCorpus:
    """Pairs that a function makes; `identity` must differ whenever the pairs would."""

    name: str
    identity: str
    make_pairs: Callable[[], Iterable[Pair]]

    def fingerprint(self) -> str:
        return f"generated {self.identity}"

    def count_pairs(self) -> int:
        return sum(1 for _ in self.make_pairs())

    def pairs(self) -> Iterator[Pair]:
        return iter(self.make_pairs())


def builtin_pairs(**counts: int) -> dict[str, list[Pair]]:
    """The first pairs of each split of the built-in corpus."""
    return {split: list(islice(builtin_corpus(split).pairs(), count)) for split, count in counts.items()}


def listed_pairs(pairs: list[tuple[list[int], list[int]]]) -> Pairs:
    """What a loader asks of a corpus, from lists of subword ids."""
    sides = zip(*pairs, strict=True) if pairs else ((), ())
    return Pairs.listed(*([np.array(ids, dtype=np.uint16) for ids in side] for side in sides))


def random_pairs(count: int, *, longest: int, vocab_size: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Pairs of 1 to `longest` subwords a side, with independent lengths."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, size=(count, 2))
    return [
        (random.integers(4, vocab_size, source).tolist(), random.integers(4, vocab_size, target).tolist())
        for source, target in lengths
    ]
