"""Blocks of a text with hidden tokens, for an encoder alone to predict: masked language modelling.

Devlin et al. 2019, section 3.1: of the tokens of a row 15 % are chosen, and the loss is on these alone. Instead of a
chosen one the model reads the mask (80 %), a token drawn from the vocabulary (10 %) or the token itself (10 %).
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int, Integer

from mt.data.batch import Batch, Ids, source_tensor
from mt.data.text_blocks import TextBlocks
from mt.data.tokenizer import BOS, EOS, PAD

CHOSEN, MASKED, REPLACED = 0.15, 0.8, 0.1  # shares of all tokens, and of those chosen


class MaskedBlocks:
    """Rows of BOS and a block, to which batches add EOS, as sources, and the tokens chosen in them as targets.

    Of a row 15 % of the tokens, rounded, and at least one are drawn by `seed` and the number of its block alone. Where
    a token is chosen, the source holds ~id instead of the id that the model reads.
    """

    dropped_too_long = 0

    def __init__(self, blocks: TextBlocks, *, mask: int, vocab_size: int, seed: tuple[int, int]) -> None:
        self._blocks, self._mask, self._vocab_size, self._seed = blocks, mask, vocab_size, seed
        lengths = blocks.target_lengths + 1
        self.source_lengths: Int[np.ndarray, " blocks"] = lengths + 1
        self.target_lengths: Int[np.ndarray, " blocks"] = np.maximum(np.rint(CHOSEN * lengths), 1).astype(np.int32) - 1

    def source(self, index: int) -> Integer[np.ndarray, " tokens"]:
        """BOS and a block, with the mask, another token or the same where one is chosen, there as ~id."""
        row, (chosen, chance, drawn) = self._row(index), self._draw(index)
        read = np.where(chance < MASKED, self._mask, np.where(chance < MASKED + REPLACED, drawn, row[chosen]))
        row[chosen] = ~read
        return row

    def target(self, index: int) -> Integer[np.ndarray, " chosen"]:
        """The tokens of the text that are chosen, in their order."""
        return self._row(index)[self._draw(index)[0]]

    def _row(self, index: int) -> Integer[np.ndarray, " tokens"]:
        return np.array([BOS, *self._blocks.target(index)], dtype=np.int32)

    def _draw(self, index: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The positions chosen in a row, ascending, and for each a number in [0, 1) and a token."""
        random = np.random.Generator(np.random.PCG64([*self._seed, index]))
        count = self.target_lengths[index] + 1
        chosen = np.sort(random.choice(self.source_lengths[index] - 1, count, replace=False)) + 1
        return chosen, random.random(count), random.integers(EOS + 1, self._vocab_size, count)


def make_masked_batch(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Rows of `MaskedBlocks` as one batch, whose target input holds the chosen positions of each row.

    Of a row without marks, such as one made up to find out what fits in memory, all positions count.
    """
    rows = [np.asarray(source) for source in sources]
    positions = np.zeros((len(rows), max(map(len, targets))), dtype=np.int64)
    labels = np.full_like(positions, PAD)
    for index, (row, target) in enumerate(zip(rows, targets, strict=True)):
        marked = np.flatnonzero(row < 0)
        positions[index, : len(target)] = marked if len(marked) else np.arange(len(target))
        labels[index, : len(target)] = target
    output = torch.from_numpy(labels)
    label_indices = output.flatten().nonzero().flatten()
    source = source_tensor([np.where(row < 0, ~row, row) for row in rows])
    return Batch(
        source=source,
        target_input=torch.from_numpy(positions),
        target_output=output,
        label_indices=label_indices,
        source_tokens=int(source.count_nonzero()),
        target_tokens=len(label_indices),
    )
