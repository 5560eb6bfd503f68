"""What a search asks of a model, or of several as one: scores of the next token, and keeping the rows that go on."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.errors import SearchStoppedError
from mt.search.candidates import accumulation_dtype


@runtime_checkable
class NextToken(Protocol):
    """A model with its state, such as a KV cache: one row for each prefix that a search extends.

    Rows are sentence-major. Beam search keeps `beam_size` rows for every unfinished sentence, from the first call to
    the last: row = position among the unfinished sentences * beam_size + index in the beam. A row never becomes
    another sentence's.
    """

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append to each row's prefix its newest token, given on any device; return scores of the token after that.

        The scores are unnormalised logits or log-probabilities; the search may overwrite them. The first call brings
        the begin-of-sentence token for every row.
        """
        ...

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i's state what row `rows[i]`'s was: rows may be moved, repeated and dropped.

        Called only when this changes something. `rows` is on the host.
        """
        ...


class Stoppable:
    """A next-token function that first asks, once a step, whether to stop."""

    def __init__(self, next_token: NextToken, stop: Callable[[], bool]) -> None:
        self._next_token, self._stop = next_token, stop
        self.reorder = next_token.reorder

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Raises SearchStoppedError when `stop` says so."""
        if self._stop():
            raise SearchStoppedError("the search was stopped before it was complete")
        return self._next_token(tokens)


class Ensemble:
    """The mean of the members' next-token probabilities; all know the same vocabulary and the same sentences.

    The arithmetic mean, as in fairseq and in Sutskever et al. 2014, not that of the log-probabilities: the result
    is again a distribution, so that scores stay log-probabilities, and no single member can rule a token out.
    """

    def __init__(self, members: Sequence[NextToken]) -> None:
        self._members = members

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Ask every member; return the logarithm of the mean probability."""
        logits = [member(tokens) for member in self._members]
        members = [torch.log_softmax(each, dim=-1, dtype=accumulation_dtype(each)) for each in logits]
        return torch.stack(members).logsumexp(dim=0) - math.log(len(members))

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Reorder every member."""
        for member in self._members:
            member.reorder(rows)
