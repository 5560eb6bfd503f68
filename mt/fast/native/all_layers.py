"""All layers in one call, for processors with AMX: the structures of layers.c, filled once."""

import ctypes
from collections.abc import Sequence
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.native.library import Cache, DecoderLayer, EncoderLayer, kernels
from mt.fast.native.norm_of_sum import NormOfSum
from mt.fast.native.tiled_linear import TiledLinear

_STRUCTURES: dict[str, type[ctypes.Structure]] = {"encoder_layers": EncoderLayer, "decoder_layers": DecoderLayer}

LayerKernels = tuple[Sequence[TiledLinear | None], Sequence[NormOfSum | None]]
"""The kernels of a layer, each None where none is available.

The linear layers are those of the queries, keys and values; the output; in the decoder the query to the source and its
output; the two of the feed-forward network. The norms follow self-attention, in the decoder attention to the source,
and the network.
"""


class LayersInOneCall:
    """All encoder or decoder layers of figure 1. Make it with `of`, which returns None where a kernel is missing."""

    def __init__(self, name: str, layers: Sequence[LayerKernels], *, num_heads: int, d_k: int) -> None:
        self.kernels = layers  # own the memory that the structures point to
        self.function, self.num_heads, self.d_k = getattr(kernels(), name), num_heads, d_k
        structures = ([each.structure for each in (*linears, *norms) if each] for linears, norms in layers)
        self.layers = (_STRUCTURES[name] * len(layers))(*(_STRUCTURES[name](*each) for each in structures))

    @classmethod
    def of(
        cls,
        name: Literal["encoder_layers", "decoder_layers"],
        layers: Sequence[LayerKernels],
        *,
        num_heads: int,
        d_k: int,
    ) -> "LayersInOneCall | None":
        """The function `name` of layers.c for these layers."""
        complete = all(None not in (*linears, *norms) for linears, norms in layers)
        return cls(name, layers, num_heads=num_heads, d_k=d_k) if complete else None

    def __call__(self, x: Float[Tensor, "slots rows d_model"], *caches: Any) -> None:
        """Replace `x`, which is contiguous, by the output of the last layer. Raises MemoryError.

        `caches` are the function's arguments that say what is attended to.
        """
        slots, rows, _ = x.shape
        shape = (slots, rows, self.num_heads, self.d_k)
        is_bf16 = x.dtype == torch.bfloat16
        if not self.function(x.data_ptr(), is_bf16, self.layers, len(self.layers), *caches, *shape):
            raise MemoryError


def cache_structure(
    keys_values: Float[Tensor, "layers 2 slots heads entries d_k"], counts: Int[Tensor, " slots"]
) -> Cache:
    """The cache as layers.c reads it, and the number of entries of each slot; valid as long as the tensors are."""
    layer, value, *strides, _ = keys_values.stride()
    size = keys_values.element_size()
    return Cache(keys_values.data_ptr(), layer * size, value * size, *strides, counts.data_ptr())
