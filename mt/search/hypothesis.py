"""What a search returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One finished output sequence of one sentence."""

    tokens: list[int]
    """The generated tokens without the end-of-sentence token."""
    score: float
    """`log_probability` divided by the length penalty; the larger, the better."""
    log_probability: float
    """Natural logarithm of the product of all token probabilities, end of sentence included."""

    @property
    def length(self) -> int:
        """|Y|, the number of generated tokens including the end of sentence."""
        return len(self.tokens) + 1
