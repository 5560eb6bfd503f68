"""Sections 3.1 and 5.4: the residual connection around each sublayer."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))): the normalisation follows the sum, as in the paper."""

    def __init__(self, *, norm: nn.Module, dropout: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = dropout

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the sublayer to `x`, add and normalise."""
        return self.norm(x + self.dropout(sublayer(x)))


class PreNorm(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): the sum stays as it is, and a stack normalises it once at its end.

    So do Tensor2Tensor's later versions and GPT-2; Xiong et al. 2020 compare the two.
    """

    def __init__(self, *, norm: nn.Module, dropout: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = dropout

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch length d_model"]:
        """Normalise, apply the sublayer and add."""
        return x + self.dropout(sublayer(self.norm(x)))
