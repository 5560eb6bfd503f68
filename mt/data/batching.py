"""Section 5.1: which sentence pairs share a batch, as a pure function of (seed, epoch).

"Sentence pairs were batched together by approximate sequence length. Each training batch contained a set of
sentence pairs containing approximately 25000 source tokens and 25000 target tokens."
"""

import numpy as np
from jaxtyping import Int

from mt.errors import UserError

Indices = Int[np.ndarray, "_"]  # of pairs of the corpus
Lengths = Int[np.ndarray, "side pairs"]  # of source and target in tokens, with the EOS

_BATCHES_PER_POOL = 64


def plan_epoch(
    lengths: Lengths,
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
) -> list[Indices]:
    """Every pair once, in batches that hold at most `batch_tokens` tokens, padding included, on either side.

    The corpus is shuffled, cut into pools of many batches, sorted by length
    within a pool, cut into batches, and the batches are shuffled: similar lengths meet, and no two epochs agree.
    Raises UserError when one pair alone exceeds the budget.
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


def split_for_ranks(
    batch: Indices,
    lengths: Lengths,
    *,
    micro_batch_tokens: int,
    ranks: int,
) -> list[Indices]:
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
