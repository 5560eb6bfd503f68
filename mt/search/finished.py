"""The best finished hypotheses of every sentence of a search, their scores, and whether live ones can join them."""

import bisect
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from mt.errors import DivergedError

LengthPenaltyForm = Literal["gnmt", "power"]


@functools.lru_cache
def length_penalties(*, form: LengthPenaltyForm, alpha: float, longest: int) -> list[float]:
    """Return the penalty at index |Y|, EOS counted, for every |Y| from 1 to `longest` (index 0 holds an unused 1).

    "gnmt" is ((5 + |Y|) / 6)^α, equation 14 of Wu et al. 2016, which the paper's section 6.1 takes with α = 0.6.
    "power" is |Y|^α, the penalty of fairseq, Marian and Hugging Face. A negative α favours short hypotheses.
    """
    lengths = range(1, longest + 1)
    bases = {"gnmt": [(5 + length) / 6 for length in lengths], "power": [float(length) for length in lengths]}
    return [1.0, *(base**alpha for base in bases[form])]


@dataclass(frozen=True)
class Hypothesis:
    """One finished output sequence of one sentence."""

    tokens: list[int]
    """The generated tokens without the end-of-sentence token."""
    score: float
    """The log-probability of the tokens and the end of sentence, divided by the length penalty."""


class FinishedHypotheses:
    """Up to `num_kept` finished hypotheses of each sentence, best first.

    Of equal scores the hypothesis that finished earlier ranks higher, then the one offered first. `max_lengths` holds
    each sentence's longest |Y|. With `most_ended`, a sentence stops being improvable once that number of hypotheses
    with a finite score was offered.
    """

    def __init__(
        self,
        *,
        max_lengths: Int[np.ndarray, " sentences"],
        num_kept: int,
        length_penalty: float,
        length_penalty_form: LengthPenaltyForm,
        most_ended: int | None = None,
    ) -> None:
        penalties = length_penalties(form=length_penalty_form, alpha=length_penalty, longest=int(max_lengths.max()))
        self._penalties = np.array(penalties)
        self._max_lengths = max_lengths
        self._num_kept = num_kept
        self._kept: list[list[Hypothesis]] = [[] for _ in max_lengths]
        self._to_beat = np.full(len(max_lengths), -np.inf)
        self._ended = np.zeros(len(max_lengths), dtype=np.int64)
        self._most_ended = most_ended

    def add(self, *, sentence: int, log_probability: np.floating, tokens: Sequence[int]) -> None:
        """Offer a hypothesis, its tokens without EOS; one that scores minus infinity or not a number is never kept."""
        self._ended[sentence] += bool(log_probability > -np.inf)
        score = log_probability / self._penalties[len(tokens) + 1].astype(log_probability.dtype)
        if not score > self._to_beat[sentence]:
            return
        kept = self._kept[sentence]
        bisect.insort_right(kept, Hypothesis(list(tokens), float(score)), key=lambda one: -one.score)
        del kept[self._num_kept :]
        if len(kept) == self._num_kept:
            self._to_beat[sentence] = kept[-1].score

    def improvable(
        self, *, sentences: Int[np.ndarray, " some"], log_probabilities: Float[np.ndarray, " some"], length: int
    ) -> Bool[np.ndarray, " some"]:
        """Return whether live prefixes of this length with these log-probabilities may still change what is kept.

        A log-probability only falls, and the penalty rises or falls steadily with |Y|. So no output that begins with
        the prefix scores above the better of its log-probability at the next |Y| and at the longest.
        """
        if not np.count_nonzero(self._ended):
            return log_probabilities > -np.inf
        limits, penalties = self._max_lengths[sentences], self._penalties.astype(log_probabilities.dtype)
        soon = log_probabilities / penalties[np.minimum(length + 1, limits)]
        late = log_probabilities / penalties[limits]
        improvable: Bool[np.ndarray, " some"] = np.maximum(soon, late) > self._to_beat[sentences]
        return improvable if self._most_ended is None else improvable & (self._ended[sentences] < self._most_ended)

    def to_lists(self) -> list[list[Hypothesis]]:
        """Return each sentence's hypotheses, best first.

        Raises DivergedError if a sentence has none: every permitted output scored minus infinity or not a number.
        """
        for sentence, hypotheses in enumerate(self._kept):
            if not hypotheses:
                raise DivergedError(
                    f"no output of sentence {sentence} of the batch has a finite score: the model's weights are"
                    " damaged, its training diverged, or the constraints exclude every output"
                )
        return self._kept
