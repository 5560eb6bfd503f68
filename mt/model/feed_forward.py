"""Section 3.3: position-wise feed-forward networks."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

Activation = Literal["relu", "gelu", "gelu_tanh", "swish", "squared_relu"]


def squared_relu(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """max(0, x)²."""
    return x.relu().square()


_FUNCTIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "swish": functional.silu,
    "squared_relu": squared_relu,
}


class FeedForward(nn.Module):
    """Equation (2): FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at every position alike.

    Instead of max(0, z), the paper's `relu`: `swish` is z · sigmoid(z) (Ramachandran et al. 2017; Marian's published
    models), `gelu` z · Φ(z) and `gelu_tanh` its approximation by tanh (Hendrycks and Gimpel 2016; GPT-2),
    `squared_relu` max(0, z)² (So et al. 2021).
    """

    def __init__(self, *, d_model: int, d_ff: int, activation: Activation = "relu") -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """Widen to d_ff, cut off below zero (or smoothly so), narrow to d_model."""
        return self.outer(_FUNCTIONS[self.activation](self.inner(x)))


class SwiGLU(nn.Module):
    """Shazeer 2020: (swish(x W_1 + b_1) ⊙ (x V + c)) W_2 + b_2.

    With three matrices instead of two, d_ff at two thirds keeps the number of parameters. Shazeer has no biases; here
    all linear layers have them.
    """

    def __init__(self, *, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.gate = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """Widen to d_ff twice, multiply, narrow to d_model."""
        return self.outer(functional.silu(self.inner(x)) * self.gate(x))
