"""What an option may hold: bounds, units and marks for the fields of `mt/config.py`."""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Literal


@dataclass(frozen=True)
class Bounds:
    """The numbers an option may hold: low ≤ value ≤ high, without the ends named `open`."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False

    def hold(self, value: float) -> bool:
        """Whether the value lies inside; NaN never does."""
        above = self.low < value or (value == self.low and not self.open_low)
        below = value < self.high or (value == self.high and not self.open_high)
        return above and below

    def __str__(self) -> str:
        low = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        high = f"{'below' if self.open_high else 'at most'} {self.high:g}"
        return low if self.high == inf else f"{low} and {high}"


class FilePath:
    """Marks a file of the user's; it is kept as an absolute path, so that a run folder works from anywhere."""


class Verbatim:
    """Marks text that the command line takes as it is typed, whatever Hydra's grammar would make of it."""


Count = Annotated[int, Bounds(1, inf)]
CountOrZero = Annotated[int, Bounds(0, inf)]
Size = Annotated[int, Bounds(1, 1_000_000)]  # of a model or a search: beyond, no machine answers
Tokens = Annotated[int, Bounds(1, 1_000_000_000)]  # in a batch, padding counted
Fraction = Annotated[float, Bounds(0, 1, open_high=True)]
Positive = Annotated[float, Bounds(0, inf, open_low=True, open_high=True)]

File = Annotated[str, FilePath()]
Sentence = Annotated[str, Verbatim()]
Auto = Literal["auto"]
Ours = Literal["ours", "ours_padded", "ours_tiles", "ours_compiled"]  # ours: padded on a CPU, tiles compiled on a GPU
Contestant = Literal[Ours, "torch", "torch_compiled", "marian", "marian_compiled"]
DecodingContestant = Literal[
    "ours_fp32", "ours_bf16", "ours_int8", "huggingface", "ctranslate2_float32", "ctranslate2_int8"
]
Device = Literal["auto", "cpu", "cuda", "mps"]
