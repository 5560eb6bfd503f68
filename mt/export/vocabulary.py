"""Which token id of another engine stands for which of our pieces.

Here the special pieces are always the first four. A model that was trained here leaves with the same ids. A Marian
folder may number its tokens otherwise, in OPUS-MT's layout `</s>` 0, `<unk>` 1 and `<pad>` last, and start the
decoder from `<pad>`; a run that was imported from one remembers that order, so that it can leave as it came.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN

FIRST_PIECE = 4


@dataclass(frozen=True)
class SpecialIds:
    """The special tokens of a Marian folder by their ids, `start` being the decoder's first input."""

    pad: int
    unknown: int
    start: int
    eos: int


OWN = SpecialIds(pad=PAD, unknown=UNKNOWN, start=BOS, eos=EOS)


def our_ids(special: SpecialIds, size: int) -> list[int]:
    """For each token id of a vocabulary of that size, the id of our piece.

    One id that is both pad and start is our BOS, because the decoder reads it; as pad nothing ever does.
    """
    ours = {special.pad: PAD, special.unknown: UNKNOWN, special.eos: EOS}
    ours[special.start] = BOS
    pieces = iter(range(FIRST_PIECE, FIRST_PIECE + size))
    return [ours[token] if token in ours else next(pieces) for token in range(size)]


def marian_ids(special: SpecialIds, size: int, *, num_pieces: int) -> list[int]:
    """For each of our `num_pieces` pieces the token id; pieces beyond the other vocabulary are unknown there."""
    first = [special.pad, special.unknown, special.start, special.eos]
    rest = [token for token in range(size) if token not in first]
    missing = num_pieces - FIRST_PIECE - len(rest)
    return [*first, *rest, *[special.unknown] * missing]


def translated(tokens: Sequence[int], table: Sequence[int]) -> list[int]:
    """Token ids by a table of their counterparts."""
    return [table[token] for token in tokens]
