"""Blocks of a text with hidden tokens, for an encoder alone to predict: masked language modelling.

Devlin et al. 2019, section 3.1: of the tokens of a row 15 % are chosen, and the loss is on these alone. Instead of a
chosen one the model reads the mask (80 %), a token drawn from the vocabulary (10 %) or the token itself (10 %).
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Integer

from mt.data.batch import Batch, Ids, Pairs, padded, source_tensor
from mt.data.tokenizer import BOS, EOS

CHOSEN, MASKED, REPLACED = 0.15, 0.8, 0.1  # shares of all tokens, and of those chosen


def masked_blocks(blocks: Pairs, *, mask: int, vocab_size: int, seed: tuple[int, int]) -> Pairs:
    """Rows of BOS and a block, to which batches add EOS, as sources, and the tokens chosen in them as targets.

    Of a row 15 % of the tokens, rounded, and at least one are drawn by `seed` and the number of its block alone. Where
    a token is chosen, the source holds ~id instead of the id that the model reads.
    """
    lengths = blocks.target_lengths + 1
    counts = np.maximum(np.rint(CHOSEN * lengths), 1).astype(np.int32)

    def drawn(index: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
        """A row, the positions chosen in it, ascending, and the generator that drew them."""
        random = np.random.Generator(np.random.PCG64([*seed, index]))
        chosen = np.sort(random.choice(lengths[index], counts[index], replace=False)) + 1
        return np.array([BOS, *blocks.target(index)], dtype=np.int32), chosen, random

    def source(index: int) -> Integer[np.ndarray, " tokens"]:
        row, chosen, random = drawn(index)
        chance, others = random.random(len(chosen)), random.integers(EOS + 1, vocab_size, len(chosen))
        row[chosen] = ~np.where(chance < MASKED, mask, np.where(chance < MASKED + REPLACED, others, row[chosen]))
        return row

    def target(index: int) -> Integer[np.ndarray, " chosen"]:
        row, chosen, _ = drawn(index)
        return row[chosen]

    return Pairs(source, target, lengths + 1, counts - 1, make_masked_batch)


def make_masked_batch(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Rows of `masked_blocks` as one batch, whose target input holds the chosen positions of each row.

    Of a row without marks, such as one made up to find out what fits in memory, all positions count.
    """
    rows = [np.asarray(source) for source in sources]
    marked = [np.flatnonzero(row < 0) for row in rows]
    positions = [own if len(own) else np.arange(len(target)) for own, target in zip(marked, targets, strict=True)]
    source = source_tensor([np.where(row < 0, ~row, row) for row in rows])
    return Batch.of(source, torch.from_numpy(padded(positions)), torch.from_numpy(padded(targets)))
