"""The cache of `AncestryCache` where there is a C compiler: a row attends to its ancestors alone, by their indices."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.native.all_layers import cache_structure
from mt.fast.native.indexed_attention import IndexedAttention

_STEPS = 32  # memory is reserved for this number of steps at a time


class IndexedCache:
    """Keys and values of the target positions so far, for sentences that all begin together.

    Each step of a search writes one entry for every row, and a row's `indices` are those of the entries of its prefix.
    Continuing another row's prefix copies its indices; keys and values are not copied, and entries that are nobody's
    ancestors cost no computation.
    """

    def __init__(
        self, attention: IndexedAttention, *, num_layers: int, slots: int, rows: int, precision: torch.dtype
    ) -> None:
        self.attention, self.rows = attention, rows
        self.end = self.steps = 0
        shape = (num_layers, 2, slots, _STEPS * rows, attention.num_heads * attention.d_k)
        self.keys_values = torch.empty(shape, dtype=precision)
        self.indices: Int[Tensor, "slots rows steps"] = self._own_indices(0).repeat(slots, 1, 1)
        self.counts: Int[Tensor, " slots"] = torch.zeros(slots, dtype=torch.int32)
        self._lay_out()

    def open(self, slots: int, *, idle: list[int], width: int) -> None:
        """Begin an entry for each of the first `width` rows of the first slots; the other rows take the last of those.

        The contents of `idle` slots are lost.
        """
        if self.steps == self.indices.shape[2]:
            self._enlarge()
        if width < self.rows:
            self.indices[:, width:, self.steps] = self.end + width - 1
        self.counts[:slots] = self.steps + 1
        if idle:
            self.counts[idle] = 0
        self.end += self.rows
        self.steps += 1

    def attend(
        self, layer: int, projected: Float[Tensor, "slots rows features"]
    ) -> Float[Tensor, "slots rows d_model"]:
        """Write each row's newest key and value, and attend to all of its prefix."""
        return self.attention(projected, *self.of_layers[layer], self.counts, self.indices)

    def inherit(self, rows: Int[Tensor, " all_rows"]) -> None:
        """Let row i continue the prefix of row `rows[i]`; both count through the slots and are in the same one."""
        lines = self.indices.numpy().reshape(-1, self.indices.shape[2])[: len(rows), : self.steps]
        lines[:] = lines[rows.numpy()]  # for a few rows in half the time that torch takes

    def empty(self, slots: list[int]) -> None:
        """Remove all ancestors of the rows of these slots."""
        self.counts[slots] = 0

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        self.keys_values[:, :, to, : self.end] = self.keys_values[:, :, origin, : self.end]
        self.indices[to], self.counts[to] = self.indices[origin], self.counts[origin]

    def _enlarge(self) -> None:
        layers, _, slots, entries, d_model = self.keys_values.shape
        larger = self.keys_values.new_empty((layers, 2, slots, entries + _STEPS * self.rows, d_model))
        larger[:, :, :, :entries] = self.keys_values
        self.keys_values = larger
        self.indices = torch.cat([self.indices, self._own_indices(entries).expand(slots, -1, -1)], dim=2)
        self._lay_out()

    def _own_indices(self, begin: int) -> Int[Tensor, "1 rows steps"]:
        """What every row's indices are for steps to come: the entries that the row will write itself."""
        steps, rows = (torch.arange(count, dtype=torch.int32) for count in (_STEPS, self.rows))
        return (begin + steps * self.rows + rows[:, None])[None]

    def _lay_out(self) -> None:
        """Keys and values as the kernels take them, together and for each layer."""
        in_heads = self.keys_values.unflatten(-1, (self.attention.num_heads, -1)).transpose(-3, -2)
        self.of_layers = [(layer[0], layer[1]) for layer in in_heads.unbind()]
        self.structure = cache_structure(in_heads, self.counts)
