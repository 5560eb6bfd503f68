"""The best finished hypotheses of every sentence of a batch, and whether live ones can still join them."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.errors import DivergedError
from mt.search.hypothesis import Hypothesis
from mt.search.length_penalty import LengthPenaltyForm, length_penalties


class FinishedHypotheses:
    """Up to `num_kept` finished hypotheses of each sentence, best first.

    Of equal scores the hypothesis that finished earlier ranks higher, then the one offered first.
    `max_lengths` holds each sentence's longest |Y|; `dtype` is that of the log-probabilities.
    """

    def __init__(
        self,
        *,
        max_lengths: Int[Tensor, " sentences"],
        num_kept: int,
        length_penalty: float,
        length_penalty_form: LengthPenaltyForm,
        dtype: torch.dtype,
    ) -> None:
        device, longest = max_lengths.device, int(max_lengths.max())
        penalties = length_penalties(form=length_penalty_form, alpha=length_penalty, longest=longest)
        self._penalties = torch.tensor(penalties, dtype=dtype, device=device)
        self._max_lengths = max_lengths
        shape = (len(max_lengths), num_kept)
        self._scores = torch.full(shape, -torch.inf, dtype=dtype, device=device)
        self._log_probabilities = self._scores.clone()
        self._lengths = torch.zeros(shape, dtype=torch.int64, device=device)
        self._tokens = torch.zeros((*shape, longest), dtype=torch.int64, device=device)

    def add(
        self,
        *,
        sentences: Int[Tensor, " some"],
        log_probabilities: Float[Tensor, "some offered"],
        tokens: Int[Tensor, "some offered longest"],
        length: int,
    ) -> None:
        """Offer hypotheses of one |Y|; whatever scores minus infinity or not a number is never kept."""
        num_kept = self._scores.shape[1]
        scores = log_probabilities / self._penalties[length]
        scores = scores.masked_fill(scores.isnan(), -torch.inf)
        ranked = torch.cat([self._scores[sentences], scores], dim=1).sort(dim=1, descending=True, stable=True)
        best = ranked.indices[:, :num_kept]

        def merged(kept: Tensor, offered: Tensor) -> Tensor:
            both = torch.cat([kept[sentences], offered], dim=1)
            return both.gather(1, best) if both.dim() == 2 else both.take_along_dim(best[:, :, None], dim=1)

        self._scores[sentences] = ranked.values[:, :num_kept]
        self._log_probabilities[sentences] = merged(self._log_probabilities, log_probabilities)
        self._lengths[sentences] = merged(self._lengths, torch.full_like(scores, length, dtype=torch.int64))
        self._tokens[sentences] = merged(self._tokens, tokens)

    def improvable(
        self, *, sentences: Int[Tensor, " some"], log_probabilities: Float[Tensor, " some"], length: int
    ) -> Bool[Tensor, " some"]:
        """Tell whether a live prefix of `length` tokens with this log-probability may still change what is kept.

        A log-probability only falls, and the penalty rises or falls steadily with |Y|. So no output that begins with
        the prefix scores above the better of its log-probability at the next |Y| and at the longest.
        """
        next_length = min(length + 1, len(self._penalties) - 1)
        soon = log_probabilities / self._penalties[next_length]
        late = log_probabilities / self._penalties[self._max_lengths[sentences]]
        return torch.maximum(soon, late) > self._scores[sentences, -1]

    def to_lists(self) -> list[list[Hypothesis]]:
        """Return each sentence's hypotheses, best first.

        Raises DivergedError if a sentence has none: every permitted output scored minus infinity or not a number.
        """
        results: list[list[Hypothesis]] = []
        columns = (self._scores, self._log_probabilities, self._lengths, self._tokens)
        for sentence, rows in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            hypotheses = [
                Hypothesis(tokens=tokens[: length - 1], score=score, log_probability=log_probability)
                for score, log_probability, length, tokens in zip(*rows, strict=True)
                if length > 0
            ]
            if not hypotheses:
                raise DivergedError(
                    f"no output of sentence {sentence} of the batch has a finite score: the model's weights are"
                    " damaged, its training diverged, or the constraints exclude every output"
                )
            results.append(hypotheses)
        return results
