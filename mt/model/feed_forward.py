"""Section 3.3: position-wise feed-forward networks."""

from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    """Equation (2): FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at every position alike."""

    def __init__(self, *, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """Widen to d_ff, cut off below zero, narrow to d_model."""
        return self.outer(self.inner(x).relu())

    def reset_parameters(self) -> None:
        """Glorot-uniform matrices, zero biases."""
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
