"""Length penalties by name: a hypothesis Y scores log P(Y) / penalty(|Y|), |Y| counting its EOS."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

LengthPenaltyForm = Literal["gnmt", "power"]


def length_penalties(
    *, form: LengthPenaltyForm, alpha: float, longest: int, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, " lengths"]:
    """Return the penalty at index |Y| for every |Y| from 1 to `longest` (index 0 holds 1, unused).

    "gnmt" is ((5 + |Y|) / 6)^α, equation 14 of Wu et al. 2016, which the paper's section 6.1
    takes with α = 0.6. "power" is |Y|^α, the penalty of fairseq, Marian and Hugging Face.
    A negative α favours short hypotheses.
    """
    if form == "gnmt":
        bases = [(5 + length) / 6 for length in range(1, longest + 1)]
    elif form == "power":
        bases = [float(length) for length in range(1, longest + 1)]
    else:
        raise ValueError(f"length penalty form {form!r}: expected 'gnmt' or 'power'")
    return torch.tensor([1.0] + [base**alpha for base in bases], dtype=dtype, device=device)
