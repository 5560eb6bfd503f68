"""Batches in training order, prepared by a thread while the device computes."""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, Integer

from mt.data.batch import Batch, make_batch
from mt.data.batching import Indices, plan_epoch, plan_in_order, split_batch
from mt.errors import UserError


@runtime_checkable
class Pairs(Protocol):
    """An encoded corpus: piece ids by index, and all lengths in pieces."""

    source_lengths: Int[np.ndarray, " pairs"]
    target_lengths: Int[np.ndarray, " pairs"]
    dropped_too_long: int

    def source(self, index: int) -> Integer[np.ndarray, " pieces"]:
        """The source's piece ids."""

    def target(self, index: int) -> Integer[np.ndarray, " pieces"]:
        """The target's piece ids."""


class TrainingOrder:
    """The stream of training steps; step s of epoch e is a pure function of (seed, e, s).

    `corpus_of_epoch` gives the corpus of an epoch, which differs between epochs only under BPE-dropout.
    Each item is one optimizer step: a list of micro-batches that together are one batch of the recipe.
    """

    def __init__(
        self, *, corpus_of_epoch: Callable[[int], Pairs], batch_tokens: int, micro_batch_tokens: int, seed: int
    ) -> None:
        self.corpus_of_epoch = corpus_of_epoch
        self.batch_tokens = batch_tokens
        self.micro_batch_tokens = micro_batch_tokens
        self.seed = seed

    def steps(self, *, epoch: int, start: int) -> Generator[tuple[int, int, list[Batch]], None, None]:
        """(epoch, index of the next step in that epoch, micro-batches) without end, from a place on.

        Raises UserError when an epoch has no pairs.
        """
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="loader") as thread:
            places = self._places(epoch, start)
            pending = [thread.submit(self._load, *next(places)) for _ in range(2)]
            while True:
                ready = pending.pop(0).result()
                pending.append(thread.submit(self._load, *next(places)))
                yield ready

    def _places(self, epoch: int, start: int) -> Iterator[tuple[int, int, Pairs, Indices]]:
        while True:
            corpus = self.corpus_of_epoch(epoch)
            plan = plan_epoch(
                corpus.source_lengths + 1,
                corpus.target_lengths + 1,
                batch_tokens=self.batch_tokens,
                seed=self.seed,
                epoch=epoch,
            )
            if not plan:
                raise UserError("no training pairs are left: look at the corpora and at data.filters")
            for index in range(start, len(plan)):
                yield epoch, index + 1, corpus, plan[index]
            epoch, start = epoch + 1, 0

    def _load(self, epoch: int, next_index: int, corpus: Pairs, batch: Indices) -> tuple[int, int, list[Batch]]:
        parts = split_batch(
            batch, corpus.source_lengths + 1, corpus.target_lengths + 1, micro_batch_tokens=self.micro_batch_tokens
        )
        return epoch, next_index, [read_batch(corpus, part) for part in parts]


def read_batch(corpus: Pairs, indices: Indices) -> Batch:
    """These pairs of the corpus as one batch."""
    return make_batch([corpus.source(int(i)) for i in indices], [corpus.target(int(i)) for i in indices])


def validation_batches(corpus: Pairs, *, batch_tokens: int) -> Iterator[Batch]:
    """Every pair of a validation corpus once, longest first."""
    plan = plan_in_order(corpus.source_lengths + 1, corpus.target_lengths + 1, batch_tokens=batch_tokens)
    for indices in plan:
        yield read_batch(corpus, indices)
