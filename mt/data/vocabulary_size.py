"""How many pieces suit a text, and a word before the long silence in which they are learned."""

import sys
from collections.abc import Iterator, Sequence

# A piece and its space take about five bytes. One that occurs ten times is hardly learned; fifty times will do.
LEAST_BYTES_PER_PIECE, GOOD_BYTES_PER_PIECE = 50, 250
SMALLEST_HINT = 512
MANY_LINES = 200_000  # from here on learning takes longer than one cares to wait without a word


def too_many_pieces(pieces: Sequence[str], *, text_bytes: int) -> str:
    """Return a hint where most pieces occur too seldom in so little text, with a size that suits it; else nothing."""
    indispensable = sum(len(piece.strip("▁")) <= 1 or piece.startswith("<") for piece in pieces)
    suggested = max(SMALLEST_HINT, indispensable * 5 // 4, text_bytes // GOOD_BYTES_PER_PIECE) // 64 * 64
    if text_bytes >= LEAST_BYTES_PER_PIECE * len(pieces) or suggested >= len(pieces):
        return ""
    return (
        f"{len(pieces):,} pieces are many for {max(1, text_bytes // 1000):,} kB of text, most will occur too seldom to "
        f"be learned: try tokenizer.vocabulary_size={suggested}"
    )


def told_of_silence(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The lines; when there were many, say at their end that SentencePiece now learns and tells nothing meanwhile."""
    count = 0
    for count, line in enumerate(lines, start=1):  # noqa: B007
        yield line
    if count >= MANY_LINES:
        print(f"learning pieces from {count:,} lines: minutes without a word", file=sys.stderr, flush=True)
