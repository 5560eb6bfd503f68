"""Consistency training: two passes over each batch whose predictions shall agree, against overfitting on small corpora.

Both passes go through the model as one batch with every row twice, each row with dropout of its own. `divergence` says
how the loss is made of the passes, `laid_out` which embeddings are zero.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from mt.data.batch import Batch
from mt.model.masks import Layout
from mt.training.loss import Divergence


def doubled(batch: Batch) -> Batch:
    """Every row twice, first all of them and then all again: two passes of a model in one."""
    twice = batch.with_tensors(lambda tensor: torch.cat([tensor, tensor]))
    second = batch.label_indices + batch.target_output.numel()
    return replace(
        twice,
        label_indices=torch.cat([batch.label_indices, second]),
        source_tokens=2 * batch.source_tokens,
        target_tokens=2 * batch.target_tokens,
    )


class RDrop:
    """Liang et al. 2021 (arXiv 2106.14448): passes that differ by dropout alone, and count alike.

    The paper and its code add up both cross-entropies and α / 2 times the KL in both directions. Here all of it is
    halved, so that without dropout the loss is that of a single pass; Adam does not see the difference. `weight` is α.
    """

    def __init__(self, *, weight: float) -> None:
        self.divergence = Divergence(weight / 2, shares=(0.5, 0.5))

    def laid_out(self, twice: Batch, layout: Layout) -> Layout:
        """The layout as it is: no embedding is zero."""
        del twice
        return layout


class SimCut(nn.Module):
    """Gao et al. 2022 (arXiv 2206.02368): in the second pass some tokens of source and target are cut.

    The loss is the first pass's cross-entropy plus α, the `weight`, times KL(first ‖ second), with the gradient
    through both. A token is cut with the probability of `dropout`: its embedding is zero, its position stays. `spared`
    are token ids that are never cut, padding and the ends of sentences, as in the authors' code.
    """

    def __init__(self, *, weight: float, dropout: nn.Module, spared: Sequence[int]) -> None:
        super().__init__()
        self.divergence = Divergence(weight, shares=(1.0, 0.0))
        self.dropout = dropout
        self.spared = tuple(spared)

    def laid_out(self, twice: Batch, layout: Layout) -> Layout:
        """The layout with the tokens of source and decoder's input that are cut, drawn as the masks of dropout are."""
        return replace(layout, source_cut=self._cut(twice.source), target_cut=self._cut(twice.target_input))

    def _cut(self, tokens: Int[Tensor, "rows length"]) -> Bool[Tensor, "rows length"]:
        second = tokens[len(tokens) // 2 :]
        drawn = self.dropout(torch.ones(second.shape, device=tokens.device)) == 0
        for token in self.spared:
            drawn &= second != token
        return torch.cat([torch.zeros_like(drawn), drawn])
