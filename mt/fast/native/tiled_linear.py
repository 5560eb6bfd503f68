"""Matrix products in C, for processors with AMX: factors in tiles of the processor."""

import ctypes
from typing import Any, Literal

import torch
from jaxtyping import Float, Int, Int8, Shaped
from torch import Tensor

from mt.fast.native.library import kernels

Products = Literal["bf16", "int8", "int8x8"]

_TILE = 16  # columns of a tile
_LINE_BYTES = 64  # of a row of a tile, for each column four of them
_COLUMNS = 32  # are computed at once
_DIGITS: dict[Products, int] = {"bf16": 0, "int8": 1, "int8x8": 3}  # of int8 in place of a number
_MOST = 8_355_000  # the largest such number: MOST of digits.c
_PRECISIONS = (torch.float32, torch.bfloat16)


class LinearStructure(ctypes.Structure):
    """`struct linear` of kernels.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weight", "scales", "bias")),
        *((name, ctypes.c_long) for name in ("inner", "columns", "digits")),
    )


class TiledLinear:
    """x Wᵀ + b, with weights laid out as tiles once. Make it with `of`, which tells whether it can be had.

    `bf16` rounds weights and x to it. `int8` rounds to 127 steps on either side of 0, up to the largest weight of an
    output feature and the largest number in a row of x. `int8x8` rounds to some 2^23 such steps, each number in three
    digits of eight bits, and adds up eight products of digits, with errors like those of fp32.
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
        digits = _DIGITS[products]
        if digits:
            most = 127 if digits == 1 else _MOST
            self.scales = weight.float().abs().amax(dim=1).clamp(min=1e-30) / most
            whole = (weight.float() / self.scales[:, None]).round_().to(torch.int32)
            self.weight = _in_tiles(_digits(whole, digits))
        else:
            self.weight = _in_tiles(weight.to(torch.bfloat16)[None])
        pointers = (None if each is None else each.data_ptr() for each in (self.weight, self.scales, self.bias))
        self.structure = LinearStructure(*pointers, self.in_features, self.out_features, digits)

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
        depth = _LINE_BYTES if _DIGITS[products] else _LINE_BYTES // 2
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


def _digits(
    whole: Int[Tensor, "out_features in_features"], count: int
) -> Int8[Tensor, "digits out_features in_features"]:
    """Whole numbers as so many digits from -128 to 127 each, the greatest first."""
    digits = []
    for _ in range(count):
        digits.append(whole.to(torch.int8))  # the lowest eight bits, of which one is the sign's
        whole = (whole - digits[-1]) >> 8
    return torch.stack(digits[::-1])


def _in_tiles(
    weight: Shaped[Tensor, "digits out_features in_features"],
) -> Shaped[Tensor, "columns depths digits lines in_tile four"]:
    """In place of each column of a tile, four bytes after four: two bf16 numbers, or four int8 ones."""
    digits, out_features, in_features = weight.shape
    depth, group = _LINE_BYTES // weight.element_size(), 4 // weight.element_size()
    lines = weight.view(digits, out_features // _TILE, _TILE, in_features // depth, depth // group, group)
    return lines.permute(1, 3, 0, 4, 2, 5).contiguous()
