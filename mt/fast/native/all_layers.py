"""All layers in one call, for processors with AMX: the structures of kernels.h and layers.c, filled once."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.native.library import kernels
from mt.fast.native.norm_of_sum import NormOfSum
from mt.fast.native.tiled_linear import LinearStructure, TiledLinear

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_long


class _Norm(ctypes.Structure):
    _fields_ = (("gain", _POINTER), ("bias", _POINTER), ("epsilon", ctypes.c_double))


class _EncoderLayer(ctypes.Structure):
    _fields_ = (
        *((f"linear_{number}", LinearStructure) for number in range(4)),
        *((f"norm_{number}", _Norm) for number in range(2)),
    )


class _DecoderLayer(ctypes.Structure):
    _fields_ = (
        *((f"linear_{number}", LinearStructure) for number in range(6)),
        *((f"norm_{number}", _Norm) for number in range(3)),
    )


class CacheStructure(ctypes.Structure):
    """`struct cache` of layers.c, valid as long as the tensors are that it was made `of`."""

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

    The products are those of the queries, keys and values; the output; in the decoder the query to the source and its
    output; the two of the feed-forward network. The norms follow self-attention, in the decoder attention to the
    source, and the network.
    """

    linears: Sequence[TiledLinear | None]
    norms: Sequence[NormOfSum | None]

    @property
    def complete(self) -> bool:
        """Whether all can be had."""
        return None not in (*self.linears, *self.norms)


class _InOneCall:
    """Layers that lack nothing, for `_function` of layers.c, each a `_structure`."""

    _function: ClassVar[str]
    _structure: ClassVar[type[ctypes.Structure]]

    def __init__(self, layers: Sequence[LayerParts], *, num_heads: int, d_k: int) -> None:
        self.parts = layers  # their memory is what the structures point to
        self.num_heads, self.d_k = num_heads, d_k
        self.layers = (self._structure * len(layers))(*(_layer(parts, self._structure) for parts in layers))

    def _call(self, x: Float[Tensor, "places rows d_model"], *caches: Any) -> None:
        (places, rows, _), function = x.shape, getattr(kernels(), self._function)
        shape = (places, rows, self.num_heads, self.d_k)
        if not function(x.data_ptr(), x.dtype == torch.bfloat16, self.layers, len(self.layers), *caches, *shape):
            raise MemoryError


class EncoderInOneCall(_InOneCall):
    """All encoder layers of figure 1. Each layer must be `complete`."""

    _function, _structure = "encoder_layers", _EncoderLayer

    def __call__(self, x: Float[Tensor, "sentences source d_model"], lengths: Int[Tensor, " sentences"]) -> None:
        """Put in place of `x`, which is contiguous, what the last layer makes of it. Raises MemoryError."""
        self._call(x, lengths.data_ptr())


class DecoderInOneCall(_InOneCall):
    """All decoder layers of figure 1 for the newest token of each row. Each layer must be `complete`."""

    _function, _structure = "decoder_layers", _DecoderLayer

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
        lists = (cells.data_ptr(), cells.stride(0), cells.stride(1))
        self._call(x, ctypes.byref(target), *lists, ctypes.byref(source))


def _layer(parts: LayerParts, structure: type[ctypes.Structure]) -> ctypes.Structure:
    linears, norms = [], []
    for linear in parts.linears:
        assert linear is not None
        linears.append(linear.structure)
    for norm in parts.norms:
        assert norm is not None
        norms.append(_Norm(norm.weight.data_ptr(), norm.bias.data_ptr(), norm.epsilon))
    return structure(*linears, *norms)
