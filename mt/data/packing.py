"""Sequence packing: whole sentence pairs share a row, so that every batch has the same shape and little padding.

A packed row has room for `pack_length` source tokens and as many target tokens. Length-sorted batches fill less of
their rows and rarely have the same shape twice, for each of which a compiler makes a new program.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from mt.data.batching import Indices, Lengths, check_longest

PackedRows = list[Indices]  # for each row, the indices of its pairs

_BATCHES_PER_POOL = 8


def plan_packed_rows(
    lengths: Lengths,
    *,
    batch_tokens: int,
    pack_length: int,
    seed: int,
    epoch: int,
) -> Iterator[tuple[int, PackedRows]]:
    """Every pair once: (tokens of a row, the rows of a batch), a pure function of (seed, epoch).

    Pairs of up to `pack_length` tokens share rows of that length; longer ones, if
    there are any, go to batches of their own with rows for the longest (`row_lengths`). All batches of a row length
    have the same number of rows, except the last one in the epoch. The corpus is shuffled and packed a pool of pairs
    at a time. Raises UserError when one pair alone exceeds `batch_tokens`.
    """
    random = np.random.Generator(np.random.PCG64([seed, epoch]))
    order = random.permutation(lengths.shape[1])
    longer = lengths.max(axis=0)
    short_tokens, long_tokens = row_lengths(
        int(longer.max(initial=1)), pack_length=pack_length, batch_tokens=batch_tokens
    )
    waiting: dict[int, PackedRows] = {short_tokens: [], long_tokens: []}
    for pool in _pools(order, longer, pool_tokens=_BATCHES_PER_POOL * batch_tokens):
        short = longer[pool] <= short_tokens
        for tokens, members in ((short_tokens, pool[short]), (long_tokens, pool[~short])):
            rows = pack(members, lengths, pack_length=tokens)
            waiting[tokens] += [rows[index] for index in random.permutation(len(rows))]
            size = batch_tokens // tokens
            while len(waiting[tokens]) >= size:
                yield tokens, waiting[tokens][:size]
                del waiting[tokens][:size]
    for tokens, rows in waiting.items():
        if rows:
            yield tokens, rows


def row_lengths(longest: int, *, pack_length: int, batch_tokens: int) -> tuple[int, int]:
    """The tokens of a common row and of one that holds the longest sentence: a multiple, or a whole batch.

    Raises UserError when a batch cannot hold that sentence.
    """
    check_longest(longest, batch_tokens=batch_tokens)
    long_tokens = -(-longest // pack_length) * pack_length
    return min(pack_length, batch_tokens), min(long_tokens, batch_tokens)


def pack(
    members: Indices,
    lengths: Lengths,
    *,
    pack_length: int,
) -> PackedRows:
    """Put each pair into the first row that has room for both its sides, longest pairs first."""
    decreasing = members[np.argsort(-lengths[:, members].max(axis=0), kind="stable")]
    room = np.full((len(members), 2), pack_length)
    rows: list[list[int]] = []
    full = 0  # rows before this one have no room for any pair
    shortest = int(lengths[:, members].min(initial=1))
    for index in decreasing.tolist():
        fits = (room[full : len(rows) + 1] >= lengths[:, index]).all(axis=1)
        row = full + int(fits.argmax())
        if row == len(rows):
            rows.append([])
        rows[row].append(index)
        room[row] -= lengths[:, index]
        while full < len(rows) and room[full].min() < shortest:
            full += 1
    return [np.array(row) for row in rows]


def split_evenly(whole: int, *, most: int, ranks: int = 1) -> int:
    """The size of the fewest parts that hold `whole` with at most `most` in each, as many parts for every rank."""
    parts = -(-whole // (most * ranks)) * ranks
    return -(-whole // parts)


def _pools(order: Indices, longer: Int[np.ndarray, " pairs"], *, pool_tokens: int) -> Iterator[Indices]:
    """The shuffled corpus in parts of about `pool_tokens`."""
    number = np.cumsum(longer[order], dtype=np.int64) // pool_tokens
    yield from np.split(order, np.flatnonzero(np.diff(number)) + 1)
