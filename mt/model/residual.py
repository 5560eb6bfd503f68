"""Sections 3.1 and 5.4: the residual connection around each sublayer."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))): the normalisation follows the sum, as in the paper.

    The paper gives no ε for LayerNorm; torch's 1e-5 is kept (so do Marian and OpenNMT).
    """

    def __init__(self, *, d_model: int, dropout: nn.Module) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = dropout

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the sublayer to `x`, add and normalise."""
        return self.norm(x + self.dropout(sublayer(x)))
