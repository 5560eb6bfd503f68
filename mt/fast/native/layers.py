"""The parts of a layer in C, attention and norm; and all layers of the decoder in one call."""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.native.library import Cache, DecoderLayer, Norm, kernels
from mt.fast.native.tiled_linear import TiledLinear

_LANES = 16
_MAX_D_K = 256
_TYPES = {torch.float32: "float", torch.bfloat16: "bf16"}


def _kernel(name: str, width: int, precision: torch.dtype, device: torch.device) -> Any | None:
    """The function for vectors of `width` numbers of this type; None where there is none."""
    suitable = device.type == "cpu" and precision in _TYPES and width % _LANES == 0
    library = kernels() if suitable else None
    return None if library is None else getattr(library, f"{name}_{_TYPES[precision]}")


class NormOfSum:
    """LayerNorm(x + y) with fp32 gains and biases. Make it with `of`, which returns None without a kernel."""

    def __init__(self, function: Any, weight: Tensor, bias: Tensor, epsilon: float) -> None:
        self.function, self.weight, self.bias = function, weight, bias
        self.structure = Norm(weight.data_ptr(), bias.data_ptr(), epsilon)

    @classmethod
    def of(
        cls, weight: Float[Tensor, " d_model"], bias: Float[Tensor, " d_model"], epsilon: float, *, rows: torch.dtype
    ) -> "NormOfSum | None":
        """The kernel for `rows` of this type."""
        function = _kernel("norm_of_sum", len(weight), rows, weight.device)
        return None if function is None or weight.dtype != torch.float32 else cls(function, weight, bias, epsilon)

    def __call__(
        self, x: Float[Tensor, "*rows d_model"], y: Float[Tensor, "*rows d_model"]
    ) -> Float[Tensor, "*rows d_model"]:
        """Normalise the last dimension of the sum, in one pass over the rows; both are contiguous."""
        out, norm, d_model = torch.empty_like(x), self.structure, x.shape[-1]
        given = (x.data_ptr(), y.data_ptr(), norm.gain, norm.bias, norm.epsilon)
        self.function(*given, out.data_ptr(), x.numel() // d_model, d_model)
        return out


class IndexedAttention:
    """Equation (1) in `num_heads` heads for the rows of many slots, each over its own few entries of a KV cache.

    Make it with `of`, which returns None without a kernel.
    """

    def __init__(self, function: Any, *, num_heads: int, d_k: int) -> None:
        self.function, self.num_heads, self.d_k = function, num_heads, d_k

    @classmethod
    def of(cls, *, num_heads: int, d_k: int, precision: torch.dtype, device: torch.device) -> "IndexedAttention | None":
        """The kernel for these shapes."""
        function = _kernel("attend", d_k, precision, device)
        return None if function is None or d_k > _MAX_D_K else cls(function, num_heads=num_heads, d_k=d_k)

    def __call__(
        self,
        query: Float[Tensor, "slots rows features"],
        keys: Float[Tensor, "all_slots heads entries d_k"],
        values: Float[Tensor, "all_slots heads entries d_k"],
        counts: Int[Tensor, " all_slots"],
        indices: Int[Tensor, "all_slots all_rows steps"] | None = None,
    ) -> Float[Tensor, "slots rows d_model"]:
        """Attention of the rows of the first slots to the entries in `indices`, or to the first `counts` of each slot.

        With `indices`, `query` holds a row's query, key and value side by side, and its key and value are written to
        the last entry that is indexed for it.
        """
        slots, rows, features = query.shape
        out = query.new_empty(slots, rows, self.num_heads * self.d_k)
        where = (None, 0, 0) if indices is None else (indices.data_ptr(), indices.stride(0), indices.stride(1))
        cache = (keys.data_ptr(), values.data_ptr(), keys.stride(0), keys.stride(1), keys.stride(2))
        shape = (slots, rows, self.num_heads, self.d_k)
        newest = indices is not None
        self.function(query.data_ptr(), features, *cache, *where, counts.data_ptr(), newest, out.data_ptr(), *shape)
        return out


class DecoderInOneCall:
    """All decoder layers of figure 1, from the kernels of each in the order of the structures in layers.c."""

    def __init__(self, layers: Sequence[Sequence[TiledLinear | NormOfSum]], attention: IndexedAttention) -> None:
        self.kernels = layers  # own the memory that the structures point to
        self.num_heads, self.d_k = attention.num_heads, attention.d_k
        self.layers = (DecoderLayer * len(layers))(*(DecoderLayer(*(one.structure for one in each)) for each in layers))

    def __call__(
        self,
        x: Float[Tensor, "slots rows d_model"],
        target: Cache,
        indices: Int[Tensor, "all_slots all_rows steps"],
        source: Cache,
    ) -> None:
        """Replace `x`, which is contiguous, by the output of the last layer. Raises MemoryError.

        Each row attends to the entries of `target` that are indexed for it, and to its slot's entries of `source`.
        """
        slots, rows, _ = x.shape
        library: Any = kernels()
        layers = (x.data_ptr(), x.dtype == torch.bfloat16, self.layers, len(self.layers))
        own = (ctypes.byref(target), indices.data_ptr(), indices.stride(0), indices.stride(1))
        shape = (slots, rows, self.num_heads, self.d_k)
        if not library.decoder_layers(*layers, *own, ctypes.byref(source), *shape):
            raise MemoryError


def cache_structure(
    keys_values: Float[Tensor, "layers 2 slots heads entries d_k"], counts: Int[Tensor, " slots"]
) -> Cache:
    """The cache as layers.c reads it, and the number of entries of each slot; valid as long as the tensors are."""
    layer, value, *strides, _ = keys_values.stride()
    size = keys_values.element_size()
    return Cache(keys_values.data_ptr(), layer * size, value * size, *strides, counts.data_ptr())
