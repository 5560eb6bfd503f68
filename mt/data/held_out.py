"""Finding validation and test pairs among training pairs, also when case, spaces or punctuation differ."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

Pair = tuple[str, str]

_NOT_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
_ASCII_NOT_LETTER_OR_DIGIT = {code: None for code in range(128) if not chr(code).isalnum()}


def normalise(text: str) -> str:
    """Return the letters and digits of `text` alone, NFKC and case-folded: what two spellings have in common."""
    if text.isascii():
        return text.lower().translate(_ASCII_NOT_LETTER_OR_DIGIT)
    return _NOT_LETTER_OR_DIGIT.sub("", unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True, kw_only=True)
class Leak:
    """A training pair that is also a validation or test pair, each found by its number counted from 1."""

    corpus: str
    number: int
    split: str
    split_number: int
    source: str
    target: str


class HeldOut:
    """The validation and test pairs in normalised form, to be found among the training pairs."""

    def __init__(self) -> None:
        """Start empty."""
        self._places: dict[Pair, list[tuple[str, int]]] = {}
        self._sources: set[str] = set()
        self._targets: set[str] = set()

    def add(self, split: str, pairs: Iterable[Pair], *, first_number: int) -> None:
        """Add pairs of a split, the first of them number `first_number`.

        A pair with a side without letters or digits identifies nothing and is left out.
        """
        for number, (source, target) in enumerate(pairs, start=first_number):
            key = normalise(source), normalise(target)
            if all(key):
                self._places.setdefault(key, []).append((split, number))
                self._sources.add(key[0])
                self._targets.add(key[1])

    def places(self, key: Pair) -> list[tuple[str, int]]:
        """Return the (split, number) of every held-out pair with this normalised form."""
        return self._places.get(key, [])

    def has_source(self, key: Pair) -> bool:
        """Return whether a held-out pair has this normalised source, whatever its target."""
        return key[0] in self._sources

    def has_target(self, key: Pair) -> bool:
        """Return whether a held-out pair has this normalised target, whatever its source."""
        return key[1] in self._targets
