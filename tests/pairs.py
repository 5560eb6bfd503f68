"""Sentence pairs in memory, where the program would read an encoded corpus."""

import numpy as np


class ListedPairs:
    """What a loader asks of a corpus, from lists of piece ids."""

    def __init__(self, pairs: list[tuple[list[int], list[int]]]) -> None:
        self.pairs = pairs
        self.dropped_too_long = 0
        self.source_lengths = np.array([len(source) for source, _ in pairs], dtype=np.int32)
        self.target_lengths = np.array([len(target) for _, target in pairs], dtype=np.int32)

    def source(self, index: int) -> np.ndarray:
        return np.array(self.pairs[index][0], dtype=np.uint16)

    def target(self, index: int) -> np.ndarray:
        return np.array(self.pairs[index][1], dtype=np.uint16)


def random_pairs(count: int, *, longest: int, vocabulary_size: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Pairs of 1 to `longest` pieces a side; the two lengths know nothing of each other."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, size=(count, 2))
    return [
        (random.integers(4, vocabulary_size, source).tolist(), random.integers(4, vocabulary_size, target).tolist())
        for source, target in lengths
    ]
