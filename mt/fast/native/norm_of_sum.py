"""LayerNorm of a residual sum in C, in one pass over the rows."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mt.fast.native.library import Norm, kernels

_LANES = 16
_NAMES = {torch.float32: "norm_of_sum_float", torch.bfloat16: "norm_of_sum_bf16"}


class NormOfSum:
    """LayerNorm(x + y) with fp32 gains and biases. Make it with `of`, which returns None without a kernel."""

    def __init__(self, function: Any, weight: Tensor, bias: Tensor, epsilon: float) -> None:
        self.function, self.weight, self.bias, self.epsilon = function, weight, bias, epsilon
        self.structure = Norm(weight.data_ptr(), bias.data_ptr(), epsilon)

    @classmethod
    def of(
        cls, weight: Float[Tensor, " d_model"], bias: Float[Tensor, " d_model"], epsilon: float, *, rows: torch.dtype
    ) -> "NormOfSum | None":
        """The kernel for `rows` of this type."""
        suitable = weight.device.type == "cpu" and weight.dtype == torch.float32 and len(weight) % _LANES == 0
        library = kernels() if suitable and rows in _NAMES else None
        return None if library is None else cls(getattr(library, _NAMES[rows]), weight, bias, epsilon)

    def __call__(
        self, x: Float[Tensor, "*rows d_model"], y: Float[Tensor, "*rows d_model"]
    ) -> Float[Tensor, "*rows d_model"]:
        """Normalise the last dimension of the sum; both are contiguous."""
        out, d_model = torch.empty_like(x), x.shape[-1]
        weight, bias = self.weight.data_ptr(), self.bias.data_ptr()
        rows = x.numel() // d_model
        self.function(x.data_ptr(), y.data_ptr(), weight, bias, self.epsilon, out.data_ptr(), rows, d_model)
        return out
