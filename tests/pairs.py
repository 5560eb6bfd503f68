"""Sentence pairs in memory, where the program would read an encoded corpus."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

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


class ListedPairs:
    """What a loader asks of a corpus, from lists of subword ids."""

    def __init__(self, pairs: list[tuple[list[int], list[int]]]) -> None:
        self.pairs = pairs
        self.dropped_too_long = 0
        self.source_lengths = np.array([len(source) for source, _ in pairs], dtype=np.int32)
        self.target_lengths = np.array([len(target) for _, target in pairs], dtype=np.int32)

    def source(self, index: int) -> np.ndarray:
        return np.array(self.pairs[index][0], dtype=np.uint16)

    def target(self, index: int) -> np.ndarray:
        return np.array(self.pairs[index][1], dtype=np.uint16)


def random_pairs(count: int, *, longest: int, vocab_size: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Pairs of 1 to `longest` subwords a side, with independent lengths."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, size=(count, 2))
    return [
        (random.integers(4, vocab_size, source).tolist(), random.integers(4, vocab_size, target).tolist())
        for source, target in lengths
    ]
