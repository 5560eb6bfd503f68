"""What a search asks of a model: scores of the next token, and keeping the rows it still needs."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable
class NextToken(Protocol):
    """A model with its state, such as a KV cache: one row for each prefix that a search extends.

    Rows are sentence-major. Beam search keeps `beam_size` rows for every unfinished sentence, from the first call to
    the last: row = position among the unfinished sentences * beam_size + index in the beam. A row never becomes
    another sentence's.
    """

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append to each row's prefix its newest token; return scores of the token after that.

        The scores are unnormalised logits or log-probabilities; the search may overwrite them. The first call brings
        the begin-of-sentence token for every row.
        """
        ...

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i's state what row `rows[i]`'s was: rows may be moved, repeated and dropped.

        Called only when this changes something.
        """
        ...


@runtime_checkable
class AdmittingNextToken(NextToken, Protocol):
    """One that knows more sentences than it has rows for, in the order of the search."""

    def admit(self, count: int) -> None:
        """Append rows with empty prefixes for the next `count` sentences; their next token is begin-of-sentence."""
        ...


def checked_limits(max_lengths: Int[Tensor, " sentences"], *, eos: int, forbidden: Sequence[int]) -> set[int]:
    """Return the distinct longest lengths; raise ValueError if a sentence could never end."""
    limits = set(max_lengths.tolist())
    if limits and min(limits) < 1:
        raise ValueError(f"a longest output of {min(limits)} tokens: it must hold at least the EOS")
    if eos in forbidden:
        raise ValueError(f"the EOS token {eos} is among the forbidden tokens")
    return limits
