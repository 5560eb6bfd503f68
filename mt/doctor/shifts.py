"""Where the two sides of a corpus are misaligned: after a lost line, long sentences no longer have long translations.

Gale and Church (1993) align sentences by their lengths; here the lengths show by how many lines the sides are
shifted, as the most likely path through the file of the shifts -`MAX_SHIFT` to `MAX_SHIFT`.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Integer

MAX_SHIFT = 10
BLOCK_LINES = 32
WINDOW_LINES = 512
LEAST_LINES = 200
# A change of shift must pay this many nats. A line of captions pays one and a half, so that some twenty lines
# show a shift; by chance, a corpus of a million lines shows one once in a hundred thousand corpora.
CHANGE_COST = 25.0
_OUTLIER_SIGMAS = 3.0
_SHIFTS = sorted(range(-MAX_SHIFT, MAX_SHIFT + 1), key=abs)  # no shift first: it wins a tie
# Where lines are sorted by length, all shifts fit alike; the right one correlates better line by line.
LEAST_IMPROVEMENT = 0.2

Lengths = Float32[np.ndarray, " pairs"]


@dataclass(frozen=True)
class Shift:
    """From pair `line` (counted from 1) on, source line i belongs to target line i + `shift`; it was `before`."""

    line: int
    before: int
    shift: int


@dataclass(frozen=True)
class Alignment:
    """What the lengths show; `correlations` has one entry for each `WINDOW_LINES` pairs, as they are in the file."""

    correlation: float
    correlations: list[float]
    shifts: list[Shift]


def align(
    source_characters: Integer[np.ndarray, " pairs"], target_characters: Integer[np.ndarray, " pairs"]
) -> Alignment:
    """Return how well the lengths of the sides go together, and where the sides are shifted against each other."""
    source = np.log1p(source_characters).astype(np.float32)
    target = np.log1p(target_characters).astype(np.float32)
    [whole] = _correlations(source, target, len(source))
    unshifted = _correlations(source, target)
    if len(source) < LEAST_LINES:
        return Alignment(whole, unshifted, [])
    return Alignment(whole, unshifted, _shifts(source, target))


def _shifts(source: Lengths, target: Lengths) -> list[Shift]:
    gain_of = _Gain(source, target)
    blocks = np.arange(0, len(source), BLOCK_LINES)
    gains = [np.add.reduceat(gain_of(shift), blocks) for shift in _SHIFTS]
    no_shift = len(gains)  # a state of its own for lines that fit at no shift
    path = _best_path(np.stack([*gains, np.zeros_like(gains[0])], axis=1))
    found: list[Shift] = []
    current = 0
    for block in (np.flatnonzero(np.diff(path, prepend=0))).tolist():
        after = path[block]
        if after in (current, no_shift):
            continue
        before = _SHIFTS[current]
        first = max(found[-1].line if found else 0, (block - 2) * BLOCK_LINES, 0)
        last = min(len(source), (block + 2) * BLOCK_LINES)
        better = (gain_of(_SHIFTS[after])[first:last] - gain_of(before)[first:last])[::-1]
        found.append(Shift(line=last - int(np.argmax(np.cumsum(better))), before=before, shift=_SHIFTS[after]))
        current = after
    return _convincing(found, source, target)


def _convincing(changes: list[Shift], source: Lengths, target: Lengths) -> list[Shift]:
    """Return the changes that last, and after which the lengths go together better all along than without them.

    A table of dates whose lines are long and short in turn, or the equal lines of a sorted file, look shifted for a
    few dozen lines; a lost line shifts all that follow.
    """
    convincing: list[Shift] = []
    current = 0
    for index, change in enumerate(changes):
        end = changes[index + 1].line - 1 if index + 1 < len(changes) else len(source)
        if change.shift == current or (end - change.line < LEAST_LINES and end < len(source)):
            continue
        rows = slice(change.line - 1, end)
        before, after = (
            np.mean(_correlations(source[rows], _move(target, by)[rows])) for by in (current, change.shift)
        )
        if after > before + LEAST_IMPROVEMENT:
            convincing.append(Shift(line=change.line, before=current, shift=change.shift))
            current = change.shift
    return convincing


class _Gain:
    """How much likelier a target's length is for its source than for any sentence, in nats per pair."""

    def __init__(self, source: Lengths, target: Lengths) -> None:
        self.source, self.target = source, target
        slope, offset, self.spread = _fit(source, target)
        self.expected = offset + slope * source
        self.mean, self.deviation = float(target.mean()), max(float(target.std()), 1e-3)

    def __call__(self, shift: int) -> Lengths:
        moved = _move(self.target, shift)
        residual = np.clip((moved - self.expected) / self.spread, -_OUTLIER_SIGMAS, _OUTLIER_SIGMAS)
        alone = np.clip((moved - self.mean) / self.deviation, -_OUTLIER_SIGMAS, _OUTLIER_SIGMAS)
        return (np.log(self.deviation / self.spread) + (alone**2 - residual**2) / 2).astype(np.float32)


def _fit(source: Lengths, target: Lengths) -> tuple[float, float, float]:
    """Return slope, offset and spread of target over source lengths, from each window at the shift that suits it."""
    tables = np.array([_correlations(source, _move(target, shift)) for shift in _SHIFTS])
    suited = np.repeat(np.array(_SHIFTS)[tables.argmax(axis=0)], WINDOW_LINES)[: len(source)]
    moved = _move(target, suited)
    slope = max(0.0, float(np.cov(source, moved)[0, 1] / max(float(source.var()), 1e-6)))
    residual = moved - slope * source
    offset = float(np.median(residual))
    low, high = np.quantile(residual, (0.16, 0.84))
    return slope, offset, max(float(high - low) / 2, 0.02)


def _move(lengths: Lengths, shift: int | Integer[np.ndarray, " pairs"]) -> Lengths:
    """Return the lengths `shift` lines further on; past the ends, the nearest line."""
    return lengths[np.clip(np.arange(len(lengths)) + shift, 0, len(lengths) - 1)]


def _best_path(gains: Float32[np.ndarray, "blocks shifts"]) -> Integer[np.ndarray, " blocks"]:
    """Viterbi: the shift of every block, with `CHANGE_COST` for each change and for not beginning unshifted."""
    blocks, num_shifts = gains.shape
    came_from = np.empty((blocks, num_shifts), dtype=np.int16)
    stay = np.arange(num_shifts)
    score = np.where(stay == 0, 0.0, -CHANGE_COST)
    for block in range(blocks):
        leader = int(score.argmax())
        moving = score[leader] - CHANGE_COST > score
        came_from[block] = np.where(moving, leader, stay)
        score = np.where(moving, score[leader] - CHANGE_COST, score) + gains[block]
    path = np.empty(blocks, dtype=np.int64)
    state = int(score.argmax())
    for block in range(blocks - 1, -1, -1):
        path[block] = state
        state = int(came_from[block, state])
    return path


def _correlations(source: Lengths, target: Lengths, window_lines: int = WINDOW_LINES) -> list[float]:
    """Return the correlation of the lengths in each window of the file."""
    starts = np.arange(0, len(source), window_lines)
    sizes = np.diff(np.append(starts, len(source)))
    means = [np.add.reduceat(side, starts, dtype=np.float64) / sizes for side in (source, target)]
    x, y = (side - np.repeat(mean, sizes) for side, mean in zip((source, target), means, strict=True))
    products = [np.add.reduceat(product, starts) for product in (x * y, x * x, y * y)]
    return (products[0] / np.sqrt(np.maximum(products[1] * products[2], 1e-12))).tolist()
