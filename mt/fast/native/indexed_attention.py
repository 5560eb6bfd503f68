"""Attention in C: rows that attend to indexed entries of a KV cache and to no others."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.native.library import kernels

_LANES = 16
_MAX_D_K = 256
_NAMES = {torch.float32: "attend_float", torch.bfloat16: "attend_bf16"}


class IndexedAttention:
    """Equation (1) in `num_heads` heads for the rows of many slots, each over its own few entries.

    Make it with `of`, which returns None without a kernel.
    """

    def __init__(self, function: Any, *, num_heads: int, d_k: int) -> None:
        self.function, self.num_heads, self.d_k = function, num_heads, d_k

    @classmethod
    def of(cls, *, num_heads: int, d_k: int, precision: torch.dtype, device: torch.device) -> "IndexedAttention | None":
        """The kernel for these shapes."""
        suitable = device.type == "cpu" and precision in _NAMES and d_k % _LANES == 0 and d_k <= _MAX_D_K
        library = kernels() if suitable else None
        return None if library is None else cls(getattr(library, _NAMES[precision]), num_heads=num_heads, d_k=d_k)

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
