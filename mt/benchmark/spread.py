"""What repeated measurements say: the median, and how far they lie apart."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """The median of several measurements with their least and greatest."""

    median: float
    low: float
    high: float

    def text(self, digits: int = 0) -> str:
        """Such as `4,380 (4,310–4,420)`."""
        return f"{self.median:,.{digits}f} ({self.low:,.{digits}f}–{self.high:,.{digits}f})"


def spread(values: Sequence[float]) -> Spread:
    """Median and range. Raises ValueError without values."""
    if not values:
        raise ValueError("nothing was measured")
    return Spread(statistics.median(values), min(values), max(values))


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Ours over theirs, round by round: what disturbed a whole round disturbs its ratio least."""
    return spread([mine / other for mine, other in zip(ours, theirs, strict=True)])
