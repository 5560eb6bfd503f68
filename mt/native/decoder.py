"""The decoder's layers in one call, for processors with AMX: the structures of kernels.h and decoder.c, filled once."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.native.library import kernels
from mt.native.linear import LinearStructure, TiledLinear
from mt.native.norm import NormOfSum

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_long


class _Norm(ctypes.Structure):
    _fields_ = (("gain", _POINTER), ("bias", _POINTER), ("epsilon", ctypes.c_double))


class _Layer(ctypes.Structure):
    _fields_ = (
        *((f"linear_{number}", LinearStructure) for number in range(6)),
        *((f"norm_{number}", _Norm) for number in range(3)),
    )


class CacheStructure(ctypes.Structure):
    """`struct cache` of decoder.c, valid as long as the tensors are that it was made `of`."""

    _fields_ = (
        ("start", _POINTER),
        ("of_layer", _NUMBER),
        ("to_values", _NUMBER),
        ("of_place", _NUMBER),
        ("of_head", _NUMBER),
        ("of_cell", _NUMBER),
        ("counts", _POINTER),
    )

    @classmethod
    def of(
        cls, keys_values: Float[Tensor, "layers 2 places heads cells d_k"], counts: Int[Tensor, " places"]
    ) -> "CacheStructure":
        """What the rows of every place attend to in all layers, and how many cells of it each place has."""
        layer, values, *strides, _ = keys_values.stride()
        size = keys_values.element_size()
        return cls(keys_values.data_ptr(), layer * size, values * size, *strides, counts.data_ptr())


@dataclass(frozen=True)
class LayerParts:
    """What a layer is made of, each None where it cannot be had.

    The products are those of the queries, keys and values; the output; the query to the source and its output; the two
    of the feed-forward network. The norms follow self-attention, attention to the source and the network.
    """

    linears: Sequence[TiledLinear | None]
    norms: Sequence[NormOfSum | None]


class LayersInOneCall:
    """All decoder layers of figure 1 for the newest token of each row. Make it with `of`."""

    def __init__(self, layers: Sequence[LayerParts], *, num_heads: int, d_k: int) -> None:
        self.parts = layers  # their memory is what the structures point to
        self.num_heads, self.d_k = num_heads, d_k
        self.layers = (_Layer * len(layers))(*(_layer(parts) for parts in layers))

    @classmethod
    def of(cls, layers: Sequence[LayerParts], *, num_heads: int, d_k: int) -> "LayersInOneCall | None":
        """The call for these layers, None where a part of them is missing."""
        if any(part is None for layer in layers for part in (*layer.linears, *layer.norms)):
            return None
        return cls(layers, num_heads=num_heads, d_k=d_k)

    def __call__(
        self,
        x: Float[Tensor, "places rows d_model"],
        target: CacheStructure,
        cells: Int[Tensor, "all_places all_rows steps"],
        source: CacheStructure,
    ) -> None:
        """Put in place of `x`, which is contiguous, what the last layer makes of it; `CellAttention` says the rest.

        Raises MemoryError.
        """
        found: Any = kernels()
        (places, rows, _), bf16 = x.shape, x.dtype == torch.bfloat16
        done = found.decoder_layers(
            x.data_ptr(),
            bf16,
            self.layers,
            len(self.layers),
            ctypes.byref(target),
            cells.data_ptr(),
            cells.stride(0),
            cells.stride(1),
            ctypes.byref(source),
            places,
            rows,
            self.num_heads,
            self.d_k,
        )
        if not done:
            raise MemoryError


def _layer(parts: LayerParts) -> _Layer:
    linears, norms = [], []
    for linear in parts.linears:
        assert linear is not None
        linears.append(linear.structure)
    for norm in parts.norms:
        assert norm is not None
        norms.append(_Norm(norm.weight.data_ptr(), norm.bias.data_ptr(), norm.epsilon))
    return _Layer(*linears, *norms)
