"""The best finished hypotheses of every sentence of a batch."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.errors import DivergedError
from mt.search.hypothesis import Hypothesis


class FinishedHypotheses:
    """Up to `num_kept` finished hypotheses of each sentence, best first.

    Of equal scores the hypothesis that finished earlier ranks higher, then the one offered first.
    """

    def __init__(
        self,
        *,
        num_sentences: int,
        num_kept: int,
        longest: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        shape = (num_sentences, num_kept)
        self._scores = torch.full(shape, -torch.inf, dtype=dtype, device=device)
        self._log_probabilities = torch.full(shape, -torch.inf, dtype=dtype, device=device)
        self._lengths = torch.zeros(shape, dtype=torch.int64, device=device)
        self._tokens = torch.zeros((*shape, longest), dtype=torch.int64, device=device)

    def worst_scores(self, sentences: Int[Tensor, " some"]) -> Float[Tensor, "some"]:
        """Return the lowest kept score of these sentences, minus infinity while places are free."""
        return self._scores[sentences, -1]

    def add(
        self,
        *,
        sentences: Int[Tensor, " some"],
        scores: Float[Tensor, "some offered"],
        log_probabilities: Float[Tensor, "some offered"],
        tokens: Int[Tensor, "some offered longest"],
        length: int,
    ) -> None:
        """Offer hypotheses of one length |Y|; minus infinity or not a number is never kept."""
        num_kept = self._scores.shape[1]
        scores = scores.masked_fill(scores.isnan(), -torch.inf)
        all_scores = torch.cat([self._scores[sentences], scores], dim=1)
        ranked = all_scores.sort(dim=1, descending=True, stable=True)
        best = ranked.indices[:, :num_kept]

        def merged(kept: Tensor, offered: Tensor) -> Tensor:
            both = torch.cat([kept[sentences], offered], dim=1)
            index = best if both.dim() == 2 else best[:, :, None].expand(-1, -1, both.shape[2])
            return both.gather(1, index)

        lengths = torch.full_like(scores, length, dtype=torch.int64)
        self._scores[sentences] = ranked.values[:, :num_kept]
        self._log_probabilities[sentences] = merged(self._log_probabilities, log_probabilities)
        self._lengths[sentences] = merged(self._lengths, lengths)
        self._tokens[sentences] = merged(self._tokens, tokens)

    def to_lists(self) -> list[list[Hypothesis]]:
        """Return each sentence's hypotheses, best first.

        Raises DivergedError if a sentence has none: every permitted output scored minus infinity
        or not a number.
        """
        results: list[list[Hypothesis]] = []
        columns = (self._scores, self._log_probabilities, self._lengths, self._tokens)
        for sentence, rows in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            hypotheses = [
                Hypothesis(tokens=tokens[: length - 1], score=score, log_probability=log_probability)
                for score, log_probability, length, tokens in zip(*rows, strict=True)
                if length > 0
            ]
            if not hypotheses:
                raise DivergedError(
                    f"no output of sentence {sentence} of the batch has a finite score: the model's"
                    " weights are damaged or its training diverged"
                )
            results.append(hypotheses)
        return results
