"""Where the two sides of a corpus are misaligned: after a lost line, long sentences no longer have long translations.

Gale and Church (1993) align sentences by their lengths; here the lengths show by how many lines, up to `MAX_SHIFT`,
the sides are shifted.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Integer

MAX_SHIFT = 10
_SHIFTS = sorted(range(-MAX_SHIFT, MAX_SHIFT + 1), key=abs)  # no shift first: it wins a tie
WINDOW_LINES = 128
# A shift must fit better in most of so many windows: a table of dates, whose lines are long and short in turn, looks
# shifted for a few dozen lines, and the equal lines of a sorted file at any shift; a lost line shifts all that follow.
WINDOWS_AHEAD, LEAST_WINDOWS = 7, 4
LEAST_IMPROVEMENT = 0.3  # of the correlation

Lengths = Float32[np.ndarray, " pairs"]


@dataclass(frozen=True)
class Shift:
    """From pair `line` (counted from 1) on, source line i belongs to target line i + `shift`; it was `before`."""

    line: int
    before: int
    shift: int


def align(
    source_characters: Integer[np.ndarray, " pairs"], target_characters: Integer[np.ndarray, " pairs"]
) -> tuple[float, list[Shift]]:
    """Return the correlation of the lengths of the sides, and where the sides are shifted against each other."""
    source, target = (np.log1p(side).astype(np.float32) for side in (source_characters, target_characters))
    [whole] = _correlations(source, target, len(source))
    fits = np.array([_correlations(source, _move(target, shift)) for shift in _SHIFTS])
    shifts: list[Shift] = []
    current = 0
    for window in range(fits.shape[1] - LEAST_WINDOWS + 1):
        ahead = fits[:, window : window + WINDOWS_AHEAD]
        improvement = np.median(ahead - ahead[current], axis=1)
        best = int(improvement.argmax())
        if improvement[best] > LEAST_IMPROVEMENT:
            begin = max(shifts[-1].line if shifts else 0, (window - 1) * WINDOW_LINES)
            rows = slice(begin, (window + WINDOWS_AHEAD) * WINDOW_LINES)
            line = 1 + begin + _change(source, target, before=_SHIFTS[current], after=_SHIFTS[best], rows=rows)
            shifts.append(Shift(line=line, before=_SHIFTS[current], shift=_SHIFTS[best]))
            current = best
    return whole, shifts


def _change(source: Lengths, target: Lengths, *, before: int, after: int, rows: slice) -> int:
    """Return the index among the rows from which on the shift `after` fits better than `before`."""
    deviation = source[rows] - source.mean()
    gain = deviation * (_move(target, after)[rows] - _move(target, before)[rows])
    return len(gain) - 1 - int(np.cumsum(gain[::-1]).argmax())


def _move(lengths: Lengths, shift: int) -> Lengths:
    """Return the lengths `shift` lines further on; past the ends, the nearest line."""
    return lengths[np.clip(np.arange(len(lengths)) + shift, 0, len(lengths) - 1)]


def _correlations(source: Lengths, target: Lengths, window_lines: int = WINDOW_LINES) -> list[float]:
    """Return the correlation of the lengths in each window of the file."""
    starts = np.arange(0, len(source), window_lines)
    sizes = np.diff(np.append(starts, len(source)))
    means = [np.add.reduceat(side, starts, dtype=np.float64) / sizes for side in (source, target)]
    x, y = (side - np.repeat(mean, sizes) for side, mean in zip((source, target), means, strict=True))
    products = [np.add.reduceat(product, starts) for product in (x * y, x * x, y * y)]
    return (products[0] / np.sqrt(np.maximum(products[1] * products[2], 1e-12))).tolist()
