"""Pairs that a rule makes, to see whether a model learned the rule; the same ones on every machine."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from string import ascii_lowercase
from typing import Literal

from mt.data.filters import SPLITS, Pair, Split
from mt.errors import UserError

MODULUS = 97  # of the addition, as in Power et al. 2022
_LONGEST = 16  # letters of a sequence

Task = Literal["copy", "reverse", "sort", "addition"]


@dataclass(frozen=True, kw_only=True)
class TaskCorpus:
    """A split of a task's pairs; no source occurs twice, in one split or in two."""

    task: Task
    split: Split
    training_pairs: int
    held_out_pairs: int  # of validation, and of the test

    @property
    def name(self) -> str:
        """Return the task."""
        return self.task

    def fingerprint(self) -> str:
        """Return all that decides the pairs."""
        return repr(self)

    def count_pairs(self) -> int:
        """Return the number of pairs. Raises UserError where the addition does not have as many as are asked for."""
        needed, there = self.training_pairs + 2 * self.held_out_pairs, MODULUS**2
        if self.task == "addition" and needed > there:
            raise UserError(
                f"data.training_pairs: {self.training_pairs:,} and two times data.held_out_pairs = "
                f"{self.held_out_pairs:,} are {needed:,}; the addition modulo {MODULUS} has {there:,} pairs"
            )
        return self.training_pairs if self.split == "train" else self.held_out_pairs

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the split's share of all pairs: the test is first, training last."""
        start = self.held_out_pairs * (2 - SPLITS.index(self.split))
        return islice(_all_pairs(self.task), start, start + self.count_pairs())


def _all_pairs(task: Task) -> Iterator[Pair]:
    """All sums in random order; of the other tasks, different pairs without end."""
    chance = random.Random(task)
    if task == "addition":
        numbers = list(product(range(MODULUS), repeat=2))
        chance.shuffle(numbers)
        yield from ((f"{a} + {b}", str((a + b) % MODULUS)) for a, b in numbers)
        return
    seen: set[str] = set()
    while True:
        source = "".join(chance.choices(ascii_lowercase, k=chance.randint(2, _LONGEST)))
        if source not in seen:
            seen.add(source)
            yield source, {"copy": source, "reverse": source[::-1], "sort": "".join(sorted(source))}[task]
