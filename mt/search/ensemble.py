"""Several models as one next-token function."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.search.candidates import accumulation_dtype
from mt.search.next_token import AdmittingNextToken, NextToken


class Ensemble:
    """The mean of the members' next-token probabilities; all know the same vocabulary and the same sentences.

    The arithmetic mean, as in fairseq and in Sutskever et al. 2014, not that of the log-probabilities: the result
    is again a distribution, so that scores stay log-probabilities, and no single member can rule a token out.
    """

    def __init__(self, members: Sequence[NextToken]) -> None:
        if not members:
            raise ValueError("an ensemble of no models")
        self._members = members

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Ask every member; return the logarithm of the mean probability."""
        logits = [member(tokens) for member in self._members]
        members = [torch.log_softmax(each, dim=-1, dtype=accumulation_dtype(each)) for each in logits]
        return torch.stack(members).logsumexp(dim=0) - math.log(len(members))

    def admit(self, count: int) -> None:
        """Let every member, which must know how, append the next sentences."""
        for member in self._members:
            assert isinstance(member, AdmittingNextToken)
            member.admit(count)

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Reorder every member."""
        for member in self._members:
            member.reorder(rows)
