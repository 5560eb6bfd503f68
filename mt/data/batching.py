"""Section 5.1: which sentence pairs share a batch, as a pure function of (seed, epoch).

"Sentence pairs were batched together by approximate sequence length. Each training batch contained a set of
sentence pairs containing approximately 25000 source tokens and 25000 target tokens."

In packed batches whole pairs share a row with room for `pack_length` source tokens and as many target tokens, so that
every batch has the same shape and little padding; a compiler makes a new program for each shape.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from mt.errors import UserError

Indices = Int[np.ndarray, "_"]  # of pairs of the corpus
Lengths = Int[np.ndarray, "side pairs"]  # of source and target in tokens, with the EOS
PackedRows = list[Indices]  # for each row, the indices of its pairs

_BATCHES_PER_POOL, _PACKED_BATCHES_PER_POOL = 64, 8


def plan_epoch(lengths: Lengths, *, batch_tokens: int, seed: int, epoch: int) -> list[Indices]:
    """Every pair once, in batches that hold at most `batch_tokens` tokens, padding included, on either side.

    The corpus is shuffled, cut into pools of many batches, sorted by length within a pool, cut into batches, and the
    batches are shuffled: similar lengths meet, and no two epochs agree. Raises UserError when one pair alone exceeds
    the budget.
    """
    longer = lengths.max(axis=0)
    check_longest(int(longer.max(initial=1)), batch_tokens=batch_tokens)
    random = np.random.Generator(np.random.PCG64([seed, epoch]))
    order = random.permutation(len(longer))
    pool_starts = np.cumsum(longer[order], dtype=np.int64) // (_BATCHES_PER_POOL * batch_tokens)
    order = order[np.lexsort((lengths[0][order], longer[order], pool_starts))]
    batches = split_batch(order, lengths, micro_batch_tokens=batch_tokens)
    return [batches[index] for index in random.permutation(len(batches))]


def check_longest(longest: int, *, batch_tokens: int) -> None:
    """Raise UserError when a batch cannot hold a pair of `longest` tokens."""
    if longest > batch_tokens:
        raise UserError(
            f"training.batch_tokens={batch_tokens} cannot hold a pair of {longest} tokens: "
            "raise it, or lower data.filters.max_tokens"
        )


def plan_in_order(lengths: Lengths, *, batch_tokens: int) -> list[Indices]:
    """Every pair once, longest first, under the same budget; what validation reads."""
    order = np.lexsort((lengths[0], lengths.max(axis=0)))[::-1]
    return split_batch(order, lengths, micro_batch_tokens=batch_tokens)


def split_batch(batch: Indices, lengths: Lengths, *, micro_batch_tokens: int) -> list[Indices]:
    """Cut pairs, in their order, into batches of at most `micro_batch_tokens`, padding included, on either side."""
    parts = []
    start = longest = 0
    for end, length in enumerate(lengths[:, batch].max(axis=0).tolist()):
        longest = max(longest, length)
        if (end + 1 - start) * longest > micro_batch_tokens and end > start:
            parts.append(batch[start:end])
            start, longest = end, length
    if len(batch) > start:
        parts.append(batch[start:])
    return parts


def split_for_ranks(batch: Indices, lengths: Lengths, *, micro_batch_tokens: int, ranks: int) -> list[Indices]:
    """Cut one batch for several ranks: the fewest micro-batches for every rank, of about equal size.

    Where `split_batch` needs n of them, these are at most the next multiple of `ranks`, under the smallest budget
    (to one part in 64) that keeps to it; one rank gets what `split_batch` gives.
    """
    parts = split_batch(batch, lengths, micro_batch_tokens=micro_batch_tokens)
    if ranks == 1:
        return parts
    most = -(-len(parts) // ranks) * ranks
    tokens = int(lengths[:, batch].sum(axis=1).max())
    too_small, enough = tokens // most - 1, micro_batch_tokens
    while enough - too_small > 1 + too_small // 64:
        budget = (too_small + enough) // 2
        tried = split_batch(batch, lengths, micro_batch_tokens=budget)
        if len(tried) <= most:
            parts, enough = tried, budget
        else:
            too_small = budget
    return parts


def plan_packed_rows(
    lengths: Lengths, *, batch_tokens: int, pack_length: int, seed: int, epoch: int
) -> Iterator[tuple[int, PackedRows]]:
    """Every pair once: (tokens of a row, the rows of a batch), a pure function of (seed, epoch).

    Pairs of up to `pack_length` tokens share rows of that length; longer ones, if there are any, go to batches of
    their own with rows for the longest (`row_lengths`). All batches of a row length have the same number of rows,
    except the last one in the epoch. The corpus is shuffled and packed a pool of pairs at a time. Raises UserError
    when one pair alone exceeds `batch_tokens`.
    """
    random = np.random.Generator(np.random.PCG64([seed, epoch]))
    order = random.permutation(lengths.shape[1])
    longer = lengths.max(axis=0)
    short_tokens, long_tokens = row_lengths(
        int(longer.max(initial=1)), pack_length=pack_length, batch_tokens=batch_tokens
    )
    waiting: dict[int, PackedRows] = {short_tokens: [], long_tokens: []}
    pool_numbers = np.cumsum(longer[order], dtype=np.int64) // (_PACKED_BATCHES_PER_POOL * batch_tokens)
    for pool in np.split(order, np.flatnonzero(np.diff(pool_numbers)) + 1):
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


def pack(members: Indices, lengths: Lengths, *, pack_length: int) -> PackedRows:
    """Put each pair into the first row that has room for both its sides, longest pairs first."""
    decreasing = members[np.argsort(-lengths[:, members].max(axis=0), kind="stable")]
    small = np.int16 if pack_length < 2**15 else np.int64  # a vector of the processor holds four times as many
    source_room, target_room = np.full((2, len(members) + 1), pack_length, dtype=small)
    rows: list[list[int]] = []
    full = 0  # rows before this one have no room for any pair
    shortest = int(lengths[:, members].min(initial=pack_length))
    for index, source, target in zip(decreasing.tolist(), *lengths[:, decreasing].tolist(), strict=True):
        fits = source_room[full : len(rows) + 1] >= source
        fits &= target_room[full : len(rows) + 1] >= target
        row = full + int(fits.argmax())
        if row == len(rows):
            rows.append([])
        rows[row].append(index)
        source_room[row] -= source
        target_room[row] -= target
        while full < len(rows) and min(source_room[full], target_room[full]) < shortest:
            full += 1
    return [np.array(row) for row in rows]


def split_evenly(whole: int, *, most: int, ranks: int = 1) -> int:
    """The size of the fewest parts that hold `whole` with at most `most` in each, as many parts for every rank."""
    parts = -(-whole // (most * ranks)) * ranks
    return -(-whole // parts)
