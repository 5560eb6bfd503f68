"""Section 3.3: position-wise feed-forward networks."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

Activation = Literal["relu", "swish"]


class FeedForward(nn.Module):
    """Equation (2): FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at every position alike.

    With `swish` (Ramachandran et al. 2017) instead of the paper's `relu`, max(0, z) is z · sigmoid(z): Marian's
    published models were trained so.
    """

    def __init__(self, *, d_model: int, d_ff: int, activation: Activation = "relu") -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """Widen to d_ff, cut off below zero (or smoothly so), narrow to d_model."""
        wide = self.inner(x)
        return self.outer(wide.relu() if self.activation == "relu" else functional.silu(wide))
