"""The cache of `AncestryCache` where there is a C compiler: a row attends to its ancestors alone, by a list of them."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.native.all_layers import CacheStructure
from mt.fast.native.indexed_attention import CellAttention

_STEPS = 32  # room at first, and so many more whenever it is full


class IndexedCache:
    """Keys and values of the target positions so far, for sentences that all begin together.

    Each step of a search writes a cell for every row, and a row's list names the cells of its prefix. Continuing
    another row's prefix is copying its list; keys and values stay where they were written, and nothing is computed
    with those that are nobody's.
    """

    def __init__(
        self, attention: CellAttention, *, num_layers: int, places: int, rows: int, precision: torch.dtype
    ) -> None:
        self.attention, self.rows = attention, rows
        self.end = self.steps = 0
        shape = (num_layers, 2, places, _STEPS * rows, attention.num_heads * attention.d_k)
        self.keys_values = torch.empty(shape, dtype=precision)
        self.cells: Int[Tensor, "places rows steps"] = self._own_cells(0).repeat(places, 1, 1)
        self.counts: Int[Tensor, " places"] = torch.zeros(places, dtype=torch.int32)
        self._lay_out()

    def open(self, places: int, *, idle: list[int], width: int) -> None:
        """Begin a cell for each of the first `width` rows of the first places; the other rows take the last of those.

        What `idle` places hold is lost.
        """
        if self.steps == self.cells.shape[2]:
            self._make_room()
        if width < self.rows:
            self.cells[:, width:, self.steps] = self.end + width - 1
        self.counts[:places] = self.steps + 1
        if idle:
            self.counts[idle] = 0
        self.end += self.rows
        self.steps += 1

    def attend(
        self, layer: int, projected: Float[Tensor, "places rows features"]
    ) -> Float[Tensor, "places rows d_model"]:
        """Keep each row's newest key and value, and attend to all of its prefix."""
        keys, values = self.of_layers[layer]
        return self.attention(projected, keys, values, self.counts, self.cells)

    def inherit(self, rows: Int[Tensor, " all_rows"]) -> None:
        """Let row i continue what row `rows[i]` was; both count through the places and stay in the same one."""
        lists = self.cells.numpy().reshape(-1, self.cells.shape[2])[: len(rows), : self.steps]
        lists[:] = lists[rows.numpy()]  # for a few rows in half the time that torch takes

    def empty(self, places: list[int]) -> None:
        """Leave the rows of these places no ancestors."""
        self.counts[places] = 0

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other places."""
        self.keys_values[:, :, to, : self.end] = self.keys_values[:, :, origin, : self.end]
        self.cells[to], self.counts[to] = self.cells[origin], self.counts[origin]

    def _make_room(self) -> None:
        layers, _, places, cells, d_model = self.keys_values.shape
        larger = self.keys_values.new_empty((layers, 2, places, cells + _STEPS * self.rows, d_model))
        larger[:, :, :, :cells] = self.keys_values
        self.keys_values = larger
        self.cells = torch.cat([self.cells, self._own_cells(cells).expand(places, -1, -1)], dim=2)
        self._lay_out()

    def _own_cells(self, begin: int) -> Int[Tensor, "1 rows steps"]:
        """What every row's list says of steps to come: the cells that the row will write itself."""
        steps, rows = (torch.arange(count, dtype=torch.int32) for count in (_STEPS, self.rows))
        return (begin + steps * self.rows + rows[:, None])[None]

    def _lay_out(self) -> None:
        """Keys and values as the kernels take them, together and for each layer."""
        in_heads = self.keys_values.unflatten(-1, (self.attention.num_heads, -1)).transpose(-3, -2)
        self.of_layers = [(layer[0], layer[1]) for layer in in_heads.unbind()]
        self.structure = CacheStructure.of(in_heads, self.counts)
