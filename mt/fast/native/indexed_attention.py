"""Attention in C: rows that attend to listed cells of a cache and to no others."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.native.library import kernels

_LANES = 16
_WIDEST = 256  # numbers of a head
_NAMES = {torch.float32: "attend_float", torch.bfloat16: "attend_bf16"}


class CellAttention:
    """Equation (1) in `num_heads` heads for the rows of many places, each over its own few cells.

    Make it with `of`, which tells whether it can be had.
    """

    def __init__(self, function: Any, *, num_heads: int, d_k: int) -> None:
        self.function, self.num_heads, self.d_k = function, num_heads, d_k

    @classmethod
    def of(cls, *, num_heads: int, d_k: int, precision: torch.dtype, device: torch.device) -> "CellAttention | None":
        """The kernel for these shapes, None where there is none."""
        suitable = device.type == "cpu" and precision in _NAMES and d_k % _LANES == 0 and d_k <= _WIDEST
        found = kernels() if suitable else None
        return None if found is None else cls(getattr(found, _NAMES[precision]), num_heads=num_heads, d_k=d_k)

    def __call__(
        self,
        query: Float[Tensor, "places rows features"],
        keys: Float[Tensor, "all_places heads cells d_k"],
        values: Float[Tensor, "all_places heads cells d_k"],
        counts: Int[Tensor, " all_places"],
        cells: Int[Tensor, "all_places all_rows steps"] | None = None,
    ) -> Float[Tensor, "places rows d_model"]:
        """What the rows of the first places attend to: the cells listed for them, or the first `counts` of each place.

        With `cells`, `query` holds a row's query, key and value side by side, and its own key and value become those of
        the last cell listed for it.
        """
        (places, rows, features), d_model = query.shape, self.num_heads * self.d_k
        out = query.new_empty(places, rows, d_model)
        listed, *strides = (None, 0, 0) if cells is None else (cells.data_ptr(), cells.stride(0), cells.stride(1))
        self.function(
            query.data_ptr(),
            features,
            keys.data_ptr(),
            values.data_ptr(),
            keys.stride(0),
            keys.stride(1),
            keys.stride(2),
            listed,
            *strides,
            counts.data_ptr(),
            cells is not None,
            out.data_ptr(),
            places,
            rows,
            self.num_heads,
            self.d_k,
        )
        return out
