"""What one call of a translator may ask for, checked before any work begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mt.errors import UserError


class LimitError(UserError):
    """A call asks for more than it may."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that one call may ask for; None allows any number."""

    texts: int | None = None
    characters: int | None = None
    """Of all texts together."""
    subwords: int | None = None
    """Of all texts together, as the source tokenizer counts them."""
    beam_size: int | None = None
    n_best: int | None = None

    def check_texts(self, texts: Sequence[str]) -> None:
        """Refuse too much text. Raises LimitError."""
        self._check("texts", len(texts), self.texts)
        self._check("characters", sum(map(len, texts)), self.characters)

    def check_subwords(self, count: int) -> None:
        """Refuse too many subwords. Raises LimitError."""
        self._check("subwords", count, self.subwords)

    def check_search(self, *, beam_size: int, n_best: int) -> None:
        """Refuse a search that is too wide. Raises LimitError."""
        self._check("hypotheses of decoding.beam_size", beam_size, self.beam_size)
        self._check("hypotheses of n_best", n_best, self.n_best)

    def _check(self, what: str, count: int, most: int | None) -> None:
        if most is not None and count > most:
            raise LimitError(f"{count:,} {what}: more than the limit of {most:,}")


def check_type(texts: Any) -> list[str]:
    """Return the texts as a list. Raises TypeError for a single text, and for items that are not text."""
    if isinstance(texts, str | bytes):
        raise TypeError("translate takes a list of texts, not one text")
    found = list(texts)
    for index, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(f"translate takes a list of texts; texts[{index}] is of type {type(text).__name__}")
    return found
