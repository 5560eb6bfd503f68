"""What the type of an option says besides its class: bounds, and how its value is taken."""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Bounds:
    """The numbers an option may hold: low ≤ value ≤ high, without the ends named `open`."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False

    def hold(self, value: float) -> bool:
        """Whether the value is inside; NaN never is."""
        above = self.low < value or (value == self.low and not self.open_low)
        below = value < self.high or (value == self.high and not self.open_high)
        return above and below

    def __str__(self) -> str:
        low = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        high = f"{'below' if self.open_high else 'at most'} {self.high:g}"
        return low if self.high == inf else f"{low} and {high}"


class FilePath:
    """Marks a file of the user; it becomes an absolute path, so that a run folder works from anywhere."""


class Verbatim:
    """Marks text that the command line takes as it is typed, without Hydra's grammar."""
