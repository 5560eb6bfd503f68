"""Length penalties by name: a hypothesis Y scores log P(Y) / penalty(|Y|), |Y| counting its EOS."""

from typing import Literal

LengthPenaltyForm = Literal["gnmt", "power"]


def length_penalties(*, form: LengthPenaltyForm, alpha: float, longest: int) -> list[float]:
    """Return the penalty at index |Y| for every |Y| from 1 to `longest` (index 0 holds an unused 1).

    "gnmt" is ((5 + |Y|) / 6)^α, equation 14 of Wu et al. 2016, which the paper's section 6.1 takes with α = 0.6.
    "power" is |Y|^α, the penalty of fairseq, Marian and Hugging Face. A negative α favours short hypotheses.
    """
    lengths = range(1, longest + 1)
    bases = {"gnmt": [(5 + length) / 6 for length in lengths], "power": [float(length) for length in lengths]}
    return [1.0, *(base**alpha for base in bases[form])]
