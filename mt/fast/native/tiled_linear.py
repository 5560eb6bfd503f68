"""Matrix products in C with prepacked weights, in tiles that processors with AMX multiply whole."""

import ctypes
import functools
from typing import Any, Literal

import torch
from jaxtyping import Float, Int, Int8, Shaped
from torch import Tensor

from mt.fast.native.library import Linear, kernels

ComputeType = Literal["fp32", "bf16", "int8", "int8x8"]

_TILE = 16  # columns of a tile
_LINE_BYTES = 64  # of a row of a tile, for each column four of them
COLUMNS = 32  # are computed at once
# int8 limbs of a number; 0: none, -1: none, of four bytes
_LIMBS: dict[ComputeType, int] = {"fp32": -1, "bf16": 0, "int8": 1, "int8x8": 3}
_LARGEST = {1: 127, 3: 8_355_000}  # whole number in 1 or 3 limbs; the latter is LARGEST of limbs.c
_PRECISIONS = (torch.float32, torch.bfloat16)
_MOST_UNEVEN = 256  # times is an input feature's largest weight that of another: up to 10 in trained models


class TiledLinear:
    """x Wᵀ + b, with weights laid out as tiles once. Make it where `fits_tiles`.

    `bf16` rounds weights and x to it. `int8` rounds to 127 steps on either side of 0, up to the largest weight of an
    output feature and the largest number in a row of x; with AVX2, which adds up products in pairs, to 127 up to the
    largest sum of two neighbouring weights. `int8x8` rounds to some 2^23 such steps, each number in three
    int8 limbs, and adds up eight products of limbs: exact to the row's largest number. It is there with AMX only, and
    `fp32` without.
    """

    def __init__(
        self,
        weight: Float[Tensor, "out_features in_features"],
        bias: Float[Tensor, " out_features"] | None,
        *,
        compute_type: ComputeType,
        out: torch.dtype,
    ) -> None:
        self.out_features, self.in_features = weight.shape
        self.out = out
        self.scales = self.sums = None
        self.bias = None if bias is None else bias.float().contiguous()
        limbs = _LIMBS[compute_type]
        if limbs > 0:
            sizes = weight.float().abs()
            if limbs == 1 and _pairs_are_added():
                sizes = sizes.unflatten(1, (-1, 2)).sum(dim=2)  # after rounding at most 128: times 255, 16 bits
            self.scales = sizes.amax(dim=1).clamp(min=1e-30) / _LARGEST[limbs]
            whole = (weight.float() / self.scales[:, None]).round_().to(torch.int32)
            self.weight = _in_tiles(_limbs(whole, limbs))
            self.sums = whole.sum(dim=1, dtype=torch.int32)
        else:
            self.weight = _in_tiles(weight.to(torch.bfloat16 if compute_type == "bf16" else torch.float32)[None])
        arrays = (self.weight, self.scales, self.bias, self.sums)
        pointers = (None if each is None else each.data_ptr() for each in arrays)
        self.structure = Linear(*pointers, self.in_features, self.out_features, limbs)

    def __call__(
        self, x: Float[Tensor, "*rows in_features"], *, relu: bool = False
    ) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias, with `relu` cut off below zero. Raises MemoryError."""
        x = x.contiguous()
        y = torch.empty((*x.shape[:-1], self.out_features), dtype=self.out)
        library: Any = kernels()
        given, made = (x.data_ptr(), x.dtype == torch.bfloat16), (y.data_ptr(), self.out == torch.bfloat16)
        rows = x.numel() // self.in_features
        if not library.linear_in_tiles(*given, rows, ctypes.byref(self.structure), relu, *made):
            raise MemoryError
        return y


def fits_tiles(
    weight: Float[Tensor, "out_features in_features"], *, compute_type: ComputeType, out: torch.dtype
) -> bool:
    """Whether kernels for this processor take these weights, with results in the precision `out`.

    Weights that may belong to outliers in x do not fit `int8x8`, which would round them away.
    """
    suitable = weight.device.type == "cpu" and weight.dtype in _PRECISIONS and out in _PRECISIONS
    depth = _LINE_BYTES // {"fp32": 4, "bf16": 2}.get(compute_type, 1)
    if not suitable or weight.shape[0] % COLUMNS or weight.shape[1] % depth or compute_type not in compute_types():
        return False
    largest = weight.abs().amax(dim=0)  # of each input feature
    return compute_type != "int8x8" or not largest.min() * _MOST_UNEVEN < largest.max()


def _pairs_are_added() -> bool:
    """Whether int8 products are added up two by two in 16 bits, which may not overflow: with AVX2."""
    library = kernels()
    return library is not None and not library.tiles_permitted() and bool(library.types_multiplied() & 8)


@functools.cache
def compute_types() -> tuple[ComputeType, ...]:
    """What kernels there are for this processor; none without a C compiler."""
    library = kernels()
    if library is None:
        return ()
    if library.tiles_permitted():
        return "bf16", "int8", "int8x8"
    names: tuple[ComputeType, ...] = ("fp32", "bf16", "int8")
    return tuple(name for bit, name in enumerate(names) if library.types_multiplied() & 1 << bit)


def _limbs(
    whole: Int[Tensor, "out_features in_features"], count: int
) -> Int8[Tensor, "limbs out_features in_features"]:
    """Whole numbers as `count` limbs from -128 to 127 each, the greatest first."""
    limbs = []
    for _ in range(count):
        limbs.append(whole.to(torch.int8))  # the lowest eight bits, of which one is the sign's
        whole = (whole - limbs[-1]) >> 8
    return torch.stack(limbs[::-1])


def _in_tiles(
    weight: Shaped[Tensor, "limbs out_features in_features"],
) -> Shaped[Tensor, "columns depths limbs lines in_tile four"]:
    """The weights as tiles: each column of a tile holds four bytes a line, two bf16 numbers or four int8 ones."""
    limbs, out_features, in_features = weight.shape
    depth, group = _LINE_BYTES // weight.element_size(), 4 // weight.element_size()
    lines = weight.view(limbs, out_features // _TILE, _TILE, in_features // depth, depth // group, group)
    return lines.permute(1, 3, 0, 4, 2, 5).contiguous()
