"""Chance: one random stream that keeps words in balance."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

Option = TypeVar("Option")


class Choice:
    """Random decisions from one seed; only `random.Random.random` is used, which is the same on every Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._uses: Counter[Any] = Counter()

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random.random() < probability

    def pick(self, options: Sequence[Option]) -> Option:
        """One of the options, each equally likely."""
        return options[int(self._random.random() * len(options))]

    def rare(self, options: Sequence[Option]) -> Option:
        """The less used of two options drawn, so that no word of the lexicon stays rare."""
        first, second = self.pick(options), self.pick(options)
        chosen = first if self._uses[self._label(first)] <= self._uses[self._label(second)] else second
        self._uses[self._label(chosen)] += 1
        return chosen

    def weighted(self, weights: Sequence[float]) -> int:
        """The index of a weight, in proportion to the weights."""
        point = self._random.random() * sum(weights)
        for index, weight in enumerate(weights):
            point -= weight
            if point < 0:
                return index
        return len(weights) - 1

    @staticmethod
    def _label(option: object) -> object:
        return getattr(option, "label", None) or getattr(option, "english", option)
