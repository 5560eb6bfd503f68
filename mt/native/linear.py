"""Matrix products in C, for processors with AMX: bf16 factors in tiles of the processor, sums in fp32."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mt.native.library import kernels

_TILE, _DEPTH = 16, 32  # columns of a tile, and places of a column in it
_PRECISIONS = (torch.float32, torch.bfloat16)


class TiledLinear:
    """x Wᵀ + b, with weights laid out as tiles once. Make it with `of`, which tells whether it can be had.

    bf16 weights are multiplied with x rounded to bf16. fp32 weights are split, as x is, into two bf16 numbers each, and
    three products added up: errors of about 2e-5 of the largest factor, where fp32 leaves 3e-6.
    """

    def __init__(
        self,
        weight: Float[Tensor, "out_features in_features"],
        bias: Float[Tensor, " out_features"] | None,
        *,
        out: torch.dtype,
    ) -> None:
        high = weight.to(torch.bfloat16)
        self.shape, self.out = weight.shape, out
        self.weight = _in_tiles(high)
        self.rest = None if weight.dtype == torch.bfloat16 else _in_tiles((weight - high.float()).to(torch.bfloat16))
        self.bias = None if bias is None else bias.float()

    @classmethod
    def of(
        cls,
        weight: Float[Tensor, "out_features in_features"],
        bias: Float[Tensor, " out_features"] | None,
        *,
        out: torch.dtype,
    ) -> "TiledLinear | None":
        """The layer with results in the precision `out`, None where it cannot be had."""
        suitable = weight.device.type == "cpu" and weight.dtype in _PRECISIONS and out in _PRECISIONS
        if not suitable or any(size % _DEPTH for size in weight.shape) or not has_tiles():
            return None
        return cls(weight, bias, out=out)

    def __call__(
        self, x: Float[Tensor, "*rows in_features"], *, relu: bool = False
    ) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias, with `relu` cut off below zero. Raises MemoryError."""
        out_features, in_features = self.shape
        x = x.contiguous()
        y = x.new_empty((*x.shape[:-1], out_features), dtype=self.out)
        found: Any = kernels()
        done = found.linear_in_tiles(
            x.data_ptr(),
            x.dtype == torch.bfloat16,
            x.numel() // in_features,
            in_features,
            self.weight.data_ptr(),
            None if self.rest is None else self.rest.data_ptr(),
            None if self.bias is None else self.bias.data_ptr(),
            relu,
            y.data_ptr(),
            self.out == torch.bfloat16,
            out_features,
        )
        if not done:
            raise MemoryError
        return y


def has_tiles() -> bool:
    """Whether this processor has AMX and the system lets us use it."""
    found = kernels()
    return found is not None and bool(found.tiles_permitted())


def _in_tiles(weight: Float[Tensor, "out_features in_features"]) -> Float[Tensor, "columns depths pairs in_tile two"]:
    out_features, in_features = weight.shape
    pairs = weight.view(out_features // _TILE, _TILE, in_features // _DEPTH, _DEPTH // 2, 2)
    return pairs.permute(0, 2, 3, 1, 4).contiguous()
