"""Matrix products in C, for processors with AMX: factors in tiles of the processor."""

import ctypes
from typing import Any, Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from mt.native.library import kernels

Products = Literal["bf16", "bf16x3", "bf16x6", "int8"]

_TILE = 16  # columns of a tile
_LINE_BYTES = 64  # of a row of a tile, for each column four of them
_COLUMNS = 32  # are computed at once
_PARTS: dict[Products, int] = {"bf16": 1, "bf16x3": 2, "bf16x6": 3, "int8": 1}  # bf16 numbers in place of one
_PRECISIONS = (torch.float32, torch.bfloat16)


class LinearStructure(ctypes.Structure):
    """`struct linear` of kernels.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weight", "scales", "bias")),
        *((name, ctypes.c_long) for name in ("inner", "columns", "parts")),
    )


class TiledLinear:
    """x Wᵀ + b, with weights laid out as tiles once. Make it with `of`, which tells whether it can be had.

    `bf16` rounds weights and x to it. `bf16x3` takes the sum of two bf16 numbers for each of either and adds up the
    three products that matter; `bf16x6` takes three numbers, 24 bits as in fp32, and adds up six products, with errors
    like those of MKL's fp32. `int8` rounds to 127 steps on either side of 0, up to the largest weight of an output
    feature and the largest number in a row of x.
    """

    def __init__(
        self,
        weight: Float[Tensor, "out_features in_features"],
        bias: Float[Tensor, " out_features"] | None,
        *,
        products: Products,
        out: torch.dtype,
    ) -> None:
        self.out_features, self.in_features = weight.shape
        self.out = out
        self.scales = None
        self.bias = None if bias is None else bias.float().contiguous()
        parts = _PARTS[products]
        if products == "int8":
            self.scales = weight.float().abs().amax(dim=1).clamp(min=1e-30) / 127
            self.weight = _in_tiles((weight.float() / self.scales[:, None]).round().to(torch.int8)[None])
        else:
            self.weight = _in_tiles(_parts(weight.float(), parts))
        pointers = (None if each is None else each.data_ptr() for each in (self.weight, self.scales, self.bias))
        self.structure = LinearStructure(*pointers, self.in_features, self.out_features, parts)

    @classmethod
    def of(
        cls,
        weight: Float[Tensor, "out_features in_features"],
        bias: Float[Tensor, " out_features"] | None,
        *,
        products: Products,
        out: torch.dtype,
    ) -> "TiledLinear | None":
        """The layer with results in the precision `out`, None where it cannot be had."""
        suitable = weight.device.type == "cpu" and weight.dtype in _PRECISIONS and out in _PRECISIONS
        depth = _LINE_BYTES if products == "int8" else _LINE_BYTES // 2
        if not suitable or weight.shape[0] % _COLUMNS or weight.shape[1] % depth or not has_tiles():
            return None
        return cls(weight, bias, products=products, out=out)

    def __call__(
        self, x: Float[Tensor, "*rows in_features"], *, relu: bool = False
    ) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias, with `relu` cut off below zero. Raises MemoryError."""
        x = x.contiguous()
        y = x.new_empty((*x.shape[:-1], self.out_features), dtype=self.out)
        found: Any = kernels()
        done = found.linear_in_tiles(
            x.data_ptr(),
            x.dtype == torch.bfloat16,
            x.numel() // self.in_features,
            ctypes.byref(self.structure),
            relu,
            y.data_ptr(),
            self.out == torch.bfloat16,
        )
        if not done:
            raise MemoryError
        return y


def has_tiles() -> bool:
    """Whether this processor has AMX and the system lets us use it."""
    found = kernels()
    return found is not None and bool(found.tiles_permitted())


def _parts(
    weight: Float[Tensor, "out_features in_features"], count: int
) -> Float[Tensor, "parts out_features in_features"]:
    """So many bf16 numbers in place of each, every one the nearest to what those before it leave."""
    parts = []
    for _ in range(count):
        parts.append(weight.to(torch.bfloat16))
        weight = weight - parts[-1].float()
    return torch.stack(parts)


def _in_tiles(
    weight: Shaped[Tensor, "parts out_features in_features"],
) -> Shaped[Tensor, "columns depths parts lines in_tile four"]:
    """In place of each column of a tile, four bytes after four: two bf16 numbers, or four int8 ones."""
    parts, out_features, in_features = weight.shape
    depth, group = _LINE_BYTES // weight.element_size(), 4 // weight.element_size()
    lines = weight.view(parts, out_features // _TILE, _TILE, in_features // depth, depth // group, group)
    return lines.permute(1, 3, 0, 4, 2, 5).contiguous()
