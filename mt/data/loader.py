"""Batches in training order, prefetched by a thread, or for a GPU by a process, while the device computes."""

import functools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, TypeVar

import numpy as np

from mt.data import batching
from mt.data.batch import Batch, Pairs, make_packed_batch
from mt.data.batching import Indices, Lengths, PackedRows
from mt.errors import UserError, WorkerLostError
from mt.reporting import report

Part = TypeVar("Part")


class StepBatches(NamedTuple):
    """One optimizer step: its epoch, the batch that follows it, this rank's micro-batches, all ranks' real tokens."""

    epoch: int
    next_batch: int
    micro_batches: list[Batch]
    source_tokens: int
    target_tokens: int


Prefetch = Callable[[Iterator[StepBatches]], Generator[StepBatches, None, None]]


def in_thread(steps: Iterator[StepBatches]) -> Generator[StepBatches, None, None]:
    """The steps, each prepared by a thread before it is asked for."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="loader") as thread:
        pending = [thread.submit(next, steps, None) for _ in range(2)]
        while (ready := pending.pop(0).result()) is not None:
            pending.append(thread.submit(next, steps, None))
            yield ready


@dataclass(kw_only=True, eq=False)
class TrainingOrder:
    """The stream of training steps; step s of epoch e is a pure function of (seed, e, s).

    `corpus_of_epoch` gives the corpus of an epoch, the same for all where it is not `drawn` again for each.
    Each item is one optimizer step: micro-batches that together are one batch of the recipe. `pack_length` packs
    several sentences into each row (`mt/data/batching.py`), None gives each its own; with `one_shape` an epoch's last
    batch gets empty rows up to the shape of the others; `threads` is how many micro-batches a rank computes side by
    side, of equal size. The batch is the same for any number of ranks, of which each has as many micro-batches as the
    others; where there are too few pairs for that, some have nothing to learn. `pin` makes batches that a GPU copies by
    itself; `prefetch` says what prepares the steps while the device computes, of a corpus that is not drawn: a
    process for each epoch would cost more than it gains.
    """

    corpus_of_epoch: Callable[[int], Pairs]
    batch_tokens: int
    micro_batch_tokens: int
    seed: int
    drawn: bool = True
    pack_length: int | None = None
    one_shape: bool = False
    pin: bool = False
    prefetch: Prefetch = in_thread
    rank: int = 0
    world_size: int = 1
    threads: int = 1

    def steps(self, *, epoch: int, start: int) -> Generator[StepBatches, None, None]:
        """The steps without end, from batch `start` of an epoch on. Raises UserError when an epoch has no pairs."""
        prefetch = in_thread if self.drawn else self.prefetch
        while True:
            epochs = [epoch] if self.drawn else count(epoch)
            try:
                with closing(prefetch(self._epochs(self.corpus_of_epoch(epoch), epochs, start))) as steps:
                    for step in steps:
                        epoch, start = step.epoch, step.next_batch
                        pinned = [batch.pinned() for batch in step.micro_batches] if self.pin else step.micro_batches
                        yield step._replace(micro_batches=pinned)
            except WorkerLostError as error:
                report(f"warning: {error}, perhaps because memory ran out: batches are prepared by a thread now")
                prefetch = in_thread
            else:
                epoch, start = epoch + 1, 0

    def rows_of(self, length: int, micro_batch_tokens: int) -> int:
        """The packed rows of this length in a micro-batch."""
        most = max(1, micro_batch_tokens // length)
        return batching.split_evenly(self.batch_tokens // length, most=most, ranks=self.world_size * self.threads)

    def _epochs(self, corpus: Pairs, epochs: Iterable[int], start: int) -> Iterator[StepBatches]:
        """The batches of these epochs of a corpus, of the first from batch `start` on; runs where it is prefetched."""
        for epoch in epochs:
            yield from self._epoch(corpus, epoch, start)
            start = 0

    def _epoch(self, corpus: Pairs, epoch: int, start: int) -> Iterator[StepBatches]:
        lengths = corpus.token_lengths()
        index = -1
        for index, (indices, read) in enumerate(self._planned(corpus, lengths, epoch)):
            if index >= start:
                yield StepBatches(epoch, index + 1, read(), *lengths[:, indices].sum(axis=1).tolist())
        if index < 0:
            dropped = corpus.dropped_too_long
            longer = f", {dropped:,} are longer than data.filters.max_tokens" if dropped else ""
            raise UserError(f"no training pairs are left{longer}: look at the corpora and at data.filters")

    def _planned(
        self, corpus: Pairs, lengths: Lengths, epoch: int
    ) -> Iterator[tuple[Indices, Callable[[], list[Batch]]]]:
        """For each batch of an epoch the indices of its pairs, and what reads this rank's share of it."""
        options = {"batch_tokens": self.batch_tokens, "seed": self.seed, "epoch": epoch}
        if self.pack_length is None:
            for batch in batching.plan_epoch(lengths, **options):
                yield batch, functools.partial(self._read_padded, corpus, lengths, batch)
        else:
            for tokens, packed_rows in batching.plan_packed_rows(lengths, pack_length=self.pack_length, **options):
                yield np.concatenate(packed_rows), functools.partial(self._read_packed, corpus, packed_rows, tokens)

    def _read_padded(self, corpus: Pairs, lengths: Lengths, batch: Indices) -> list[Batch]:
        parts = batching.split_for_ranks(
            batch, lengths, micro_batch_tokens=self.micro_batch_tokens, ranks=self.world_size * self.threads
        )
        return self._share(parts, corpus.batch)

    def _read_packed(self, corpus: Pairs, packed_rows: PackedRows, pack_length: int) -> list[Batch]:
        """These rows as micro-batches of equally many."""
        rows = self.rows_of(pack_length, self.micro_batch_tokens)
        parts = [packed_rows[start : start + rows] for start in range(0, len(packed_rows), rows)]

        def read(part: PackedRows) -> Batch:
            pairs = [[(corpus.source(int(i)), corpus.target(int(i))) for i in row] for row in part]
            return make_packed_batch(pairs, pack_length=pack_length, rows=rows if self.one_shape else len(part))

        return self._share(parts, read)

    def _share(self, parts: Sequence[Part], read: Callable[[Part], Batch]) -> list[Batch]:
        """This rank's micro-batches, as many as the other ranks have."""
        own = [read(part) for part in parts[self.rank :: self.world_size]]
        while len(own) * self.world_size < len(parts):
            own.append((own[0] if own else read(parts[0])).without_targets())
        return own


def validation_batches(corpus: Pairs, *, batch_tokens: int) -> Iterator[Batch]:
    """Every pair of a validation corpus once, longest first."""
    return map(corpus.batch, batching.plan_in_order(corpus.token_lengths(), batch_tokens=batch_tokens))
