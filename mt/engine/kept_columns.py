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
        self.keys_values: Float[Tensor, "layers 2 places heads columns rows d_k"] = torch.zeros(
            (num_layers, 2, places, num_heads, 4 * _COLUMNS, rows, d_k), **options
        )
        self.ancestors: Float[Tensor, "places rows columns rows"] = torch.full(
            (places, rows, 4 * _COLUMNS, rows), -math.inf, **options
        )
        self.own = torch.full((rows, rows), -math.inf, **options).fill_diagonal_(0.0)

    def open_column(self, places: int) -> tuple[Float[Tensor, "2 places heads rows d_k"], ...]:
        """Begin the next column of the first `places` places and return where each layer writes it.

        Every row is its own ancestor there.
        """
        if self.end == self.ancestors.shape[2]:
            self._make_room(places)
        self.ancestors[:places, :, self.end] = self.own
        self.end += 1
        return self.keys_values[:, :, :places, :, self.end - 1].unbind()

    def window(
        self, places: int
    ) -> tuple[tuple[Float[Tensor, "2 places heads memory d_k"], ...], Float[Tensor, "places 1 rows memory"]]:
        """For each layer the keys and values to attend to, and the mask that leaves each row its ancestors."""
        first = min(self.begins[:places]) // _COLUMNS * _COLUMNS
        end = min(-(-self.end // _COLUMNS) * _COLUMNS, self.ancestors.shape[2])
        cells = slice(first * self.rows, end * self.rows)
        attended = self.keys_values.flatten(4, 5)[:, :, :places, :, cells].unbind()
        return attended, self.ancestors.flatten(2)[:places, None, :, cells]

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
        columns = slice(min(self.begins), self.end)
        self.keys_values[:, :, to, :, columns] = self.keys_values[:, :, origin, :, columns]
        self.ancestors[to] = self.ancestors[origin]
        for new, old in zip(to, origin, strict=True):
            self.begins[new] = self.begins[old]

    def _make_room(self, places: int) -> None:
        """Leave out the columns that are past; where they are less than half, double the room as well."""
        first = min(self.begins[:places]) // _COLUMNS * _COLUMNS
        capacity = self.ancestors.shape[2]
        if first < capacity // 2:
            capacity *= 2
        self.keys_values = _with_room(self.keys_values, 4, first, self.end, capacity, fill=0.0)
        self.ancestors = _with_room(self.ancestors, 2, first, self.end, capacity, fill=-math.inf)
        self.begins = [max(0, begin - first) for begin in self.begins]
        self.end -= first


def _with_room(
    table: Float[Tensor, "*shape"], dimension: int, first: int, end: int, capacity: int, *, fill: float
) -> Float[Tensor, "*new_shape"]:
    """The part from `first` to `end` of a dimension, at the front of `capacity` cells; the same memory if it can be."""
    shape = [*table.shape]
    shape[dimension] = capacity
    kept = table.narrow(dimension, first, end - first)
    roomy = table.new_empty(shape) if capacity > table.shape[dimension] else table
    roomy.narrow(dimension, 0, end - first).copy_(kept if roomy is not table else kept.clone())
    roomy.narrow(dimension, end - first, capacity - end + first).fill_(fill)
    return roomy
