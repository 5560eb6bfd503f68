"""Keys and values of the target positions so far, kept where they were written however the search moves its rows.

Each step of a search writes one column: the key and the value of every row of every place. A row that continues
another row's prefix needs that row's keys, so decoders usually copy the whole cache at each step. Here nothing
moves. The rows of a place attend together to all columns of all its rows, and a table says which of them are a
row's ancestors; continuing another row is copying its line of the table, a few hundred bytes.
"""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

_COLUMNS = 8  # windows grow by so many columns, so that few different shapes reach the kernels


class KeptColumns:
    """The cache of all layers for `places` sentences of `rows` rows each."""

    def __init__(
        self, *, num_layers: int, places: int, rows: int, num_heads: int, d_k: int, precision: torch.dtype,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.rows = rows
        self.end = 0
        self.begins = [0] * places
        options: dict[str, Any] = {"dtype": precision, "device": device}
        shape = (2, places, num_heads, 4 * _COLUMNS, rows, d_k)
        self.keys_values = [torch.zeros(shape, **options) for _ in range(num_layers)]
        self.ancestors: Float[Tensor, "places rows columns rows"] = torch.full(
            (places, rows, 4 * _COLUMNS, rows), -math.inf, **options
        )
        self.own = torch.full((rows, rows), -math.inf, **options).fill_diagonal_(0.0)

    def open_column(self, places: int) -> None:
        """Begin the next column of the first `places` places: every row is its own ancestor there."""
        if self.end == self.ancestors.shape[2]:
            self._make_room(places)
        self.ancestors[:places, :, self.end] = self.own
        self.end += 1

    def store(self, layer: int, keys_values: Float[Tensor, "2 places heads rows d_k"]) -> None:
        """Write the newest column of a layer."""
        self.keys_values[layer][:, : keys_values.shape[1], :, self.end - 1] = keys_values

    def window(self, places: int) -> tuple[slice, Float[Tensor, "places 1 rows memory"]]:
        """Which cells of the cache to attend to, and the mask that leaves each row its ancestors."""
        first = min(self.begins[:places]) // _COLUMNS * _COLUMNS
        end = min(-(-self.end // _COLUMNS) * _COLUMNS, self.ancestors.shape[2])
        cells = slice(first * self.rows, end * self.rows)
        return cells, self.ancestors.flatten(2)[:places, None, :, cells]

    def attended(self, layer: int, places: int, cells: slice) -> Float[Tensor, "2 places heads memory d_k"]:
        """The keys and values in these cells."""
        return self.keys_values[layer].flatten(3, 4)[:, :places, :, cells]

    def inherit(self, rows: Int[Tensor, " all_rows"]) -> None:
        """Let row i continue what row `rows[i]` was; both count through the places and stay in the same one."""
        first = min(self.begins[: len(rows) // self.rows])
        used = self.ancestors.flatten(2).flatten(0, 1)[: len(rows), first * self.rows : self.end * self.rows]
        used.copy_(used.index_select(0, rows))

    def begin(self, places: list[int]) -> None:
        """Begin anew at these places."""
        self.ancestors[places] = -math.inf
        for place in places:
            self.begins[place] = self.end

    def longest(self, places: int) -> int:
        """The longest prefix at the first `places` places."""
        return self.end - min(self.begins[:places])

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other places."""
        for keys_values in self.keys_values:
            keys_values[:, to] = keys_values[:, origin]
        self.ancestors[to] = self.ancestors[origin]
        for new, old in zip(to, origin, strict=True):
            self.begins[new] = self.begins[old]

    def _make_room(self, places: int) -> None:
        """Leave out the columns that are past; where they are less than half, double the room as well."""
        first = min(self.begins[:places]) // _COLUMNS * _COLUMNS
        capacity = self.ancestors.shape[2]
        if first < capacity // 2:
            capacity *= 2
        self.keys_values = [_with_room(kept, 3, first, self.end, capacity, fill=0.0) for kept in self.keys_values]
        self.ancestors = _with_room(self.ancestors, 2, first, self.end, capacity, fill=-math.inf)
        self.begins = [max(0, begin - first) for begin in self.begins]
        self.end -= first


def _with_room(
    table: Float[Tensor, "*shape"], dimension: int, first: int, end: int, capacity: int, *, fill: float
) -> Float[Tensor, "*new_shape"]:
    """The part from `first` to `end` of a dimension, at the front of `capacity` cells."""
    shape = [*table.shape]
    shape[dimension] = capacity
    roomy = table.new_full(shape, fill)
    roomy.narrow(dimension, 0, end - first).copy_(table.narrow(dimension, first, end - first))
    return roomy
