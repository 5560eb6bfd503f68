"""Validation and test pairs for who has none: drawn from the training corpora, which lose them to the filters."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from mt.data.corpus import Corpus
from mt.data.filters import FilterSettings, Pair, normalise
from mt.errors import UserError

PAIRS = 1000  # for a split, at most
SHARE = 0.05  # of the different training pairs, at most


@dataclass(frozen=True)
class Draw:
    """Pairs of the training corpora for two splits that were not given: always the same of the same text.

    1,000 for each, or a twentieth of the different pairs where that is less: those whose normalised text has the
    smallest hash, so that neither their order nor what is next to them matters. Equal pairs are drawn once; none is of
    a corpus in `given`, one that by the `filters` cannot be a translation, or one with more than `most_characters` on a
    side.
    """

    corpora: Sequence[Corpus]
    given: Sequence[Corpus]
    """The other corpora that are held out."""
    filters: FilterSettings
    most_characters: int

    @cached_property
    def parts(self) -> tuple[list[Pair], list[Pair]]:
        """The pairs of each split, in the order of the corpora. Raises UserError where there are too few."""
        held_out = {_mark(*map(normalise, pair)) for corpus in self.given for pair in corpus.pairs()}
        smallest: dict[bytes, tuple[int, Pair]] = {}
        count, distinct = 0, set[bytes]()  # of the latter as many as matter for the size
        for corpus in self.corpora:
            for pair in corpus.pairs():
                key = normalise(pair[0]), normalise(pair[1])
                mark = _mark(*key)
                suits = max(map(len, pair)) <= self.most_characters and not self.filters.reason(*pair, key)
                if mark is not None and mark not in held_out and suits:
                    smallest.setdefault(mark, (count, pair))
                    count += 1
                    if len(distinct) < PAIRS / SHARE:
                        distinct.add(mark)
                if len(smallest) >= 4 * PAIRS:
                    smallest = dict(sorted(smallest.items())[: 2 * PAIRS])
        size = int(SHARE * len(distinct))
        if not size:
            need = f"{1 / SHARE:.0f} that have text on both sides, differ and pass data.filters"
            raise UserError(
                f"data.train: too few pairs to hold some out, fewer than {need}; give data.validation={{...}}"
            )
        drawn = [one for _, one in sorted(smallest.items())]
        first, second = sorted(drawn[:size]), sorted(drawn[size : 2 * size])
        return [pair for _, pair in first], [pair for _, pair in second]


@dataclass(frozen=True)
class DrawnCorpus:
    """The part of a draw, 0 or 1, that is one split."""

    name: str
    draw: Draw
    part: int

    def fingerprint(self) -> str:
        """Return those of the corpora, and which pairs are drawn."""
        corpora, settings = (*self.draw.corpora, *self.draw.given), (self.draw.filters, self.draw.most_characters)
        return f"drawn {self.part} of {[corpus.fingerprint() for corpus in corpora]!r} by {settings}"

    def count_pairs(self) -> int:
        """Return the number of pairs. Raises UserError where there are too few to draw from."""
        return len(self.draw.parts[self.part])

    def pairs(self) -> Iterator[Pair]:
        """Yield the pairs in the order of the corpora."""
        return iter(self.draw.parts[self.part])


def _mark(source: str, target: str) -> bytes | None:
    """A hash of a pair's normalised text; None where a side has none."""
    if not (source and target):
        return None
    return hashlib.blake2b(f"{source}\t{target}".encode(errors="replace"), digest_size=16).digest()
