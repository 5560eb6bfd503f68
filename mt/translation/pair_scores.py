"""How sure a pair classifier is that two texts are translations of each other, and how well that tells faults apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from mt.data.batching import plan_in_order
from mt.data.filters import Pair
from mt.data.loader import read_batch, token_lengths
from mt.data.pair_faults import TRUE
from mt.data.rows import LabelledRows, make_row_batch, rows_of_pairs
from mt.data.tokenizer import Tokenizer
from mt.model.decoder_only import AnyTransformer

_BATCH_TOKENS = 4096


@dataclass(frozen=True)
class PairScorer:
    """A pair classifier in evaluation; of each text of a pair it reads `max_tokens` subwords."""

    model: AnyTransformer
    tokenizer: Tokenizer
    max_tokens: int

    @torch.inference_mode()
    def __call__(self, pairs: Sequence[Pair]) -> Float[np.ndarray, " pairs"]:
        """The probability that each pair is a translation."""
        scores, device = np.zeros(len(pairs)), next(self.model.parameters()).device
        if not pairs:
            return scores
        rows = rows_of_pairs(pairs, self.tokenizer, max_tokens=self.max_tokens)
        corpus = LabelledRows(rows, [TRUE] * len(rows))
        for indices in plan_in_order(token_lengths(corpus), batch_tokens=_BATCH_TOKENS):
            batch = read_batch(corpus, indices, make_row_batch).to(device)
            scores[indices] = self.model(batch.source, batch.target_input)[:, 0].softmax(-1)[:, TRUE].cpu().numpy()
        return scores


def roc_auc(higher: Float[np.ndarray, " true_pairs"], lower: Float[np.ndarray, " faulty_pairs"]) -> float:
    """The probability that one of the first scores is above one of the second; a tie counts half (Fawcett 2006)."""
    ordered = np.sort(lower)
    below = np.searchsorted(ordered, higher, "left") + np.searchsorted(ordered, higher, "right")
    return float(below.mean() / (2 * len(lower)))
