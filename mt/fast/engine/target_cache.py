"""A KV cache of the target that is not reordered: backpointers record the ancestors of each hypothesis.

Each step of a search writes one entry for every row: the row's key and value in every layer. A row that continues
another row's prefix needs that row's entries, so decoders usually copy the whole cache at each step. Here nothing
is copied. The rows of a slot attend together to all entries of all its rows, and a table says which of them are a row's
ancestors; continuing another row copies its line of the table, a few hundred bytes. Rows of a beam soon have most of
their ancestors in common, so from time to time the entries that are nobody's ancestors are removed.
"""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from mt.fast.engine.prepared_layers import attend
from mt.fast.native.layers import IndexedAttention, cache_structure

_STEPS = 4  # are written to an AncestryCache before entries are removed
_RESERVED_STEPS = 32  # an IndexedCache has memory for this number of steps at a time
_WIDTH = 16  # attended entries are a multiple: kernels take as long for 24 as for 32, and few different shapes occur


class AncestryCache:
    """The cache of all layers for `slots` sentences of `rows` rows each."""

    def __init__(
        self,
        *,
        num_layers: int,
        slots: int,
        rows: int,
        num_heads: int,
        d_model: int,
        precision: torch.dtype,
        device: torch.device,
    ) -> None:
        self.rows, self.num_heads = rows, num_heads
        self.end = 0
        self.next_compaction = _STEPS * rows
        entries = round_up(self.next_compaction, _WIDTH)
        options: dict[str, Any] = {"dtype": precision, "device": device}
        self.keys_values: Float[Tensor, "layers 2 slots entries d_model"] = torch.zeros(
            (num_layers, 2, slots, entries, d_model), **options
        )
        self.ancestors: Float[Tensor, "slots rows entries"] = torch.full((slots, rows, entries), -math.inf, **options)
        self.own = torch.full((rows, rows), -math.inf, **options).fill_diagonal_(0.0)

    def open(self, slots: int, *, idle: list[int], width: int) -> None:
        """Begin an entry for each row of the first slots; the same for all rows where only `width` = 1 is computed.

        Every row is its own ancestor there. The contents of the slots after these, and of `idle` ones, may be lost.
        """
        if self.end >= self.next_compaction:
            self.empty([*idle, *range(slots, len(self.ancestors))])
            self._compact()
        newest, attended = slice(self.end, self.end + self.rows), round_up(self.end + self.rows, _WIDTH)
        self.ancestors[:slots, :, newest] = self.own
        self.end += self.rows
        self.newest = self.keys_values[:, :, :slots, newest].unbind()
        in_heads = self.keys_values[:, :, :slots, :attended].unflatten(-1, (self.num_heads, -1))
        self.attended = in_heads.transpose(-3, -2).unbind()
        self.mask = self.ancestors[:slots, None, :width, :attended]

    def attend(
        self, layer: int, projected: Float[Tensor, "slots rows features"]
    ) -> Float[Tensor, "slots rows d_model"]:
        """Write each row's newest key and value, and attend to all of its prefix."""
        query, *key_value = projected.chunk(3, dim=-1)
        for entry, computed in zip(self.newest[layer], key_value, strict=True):
            entry.copy_(computed)
        query = query.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)
        keys, values = self.attended[layer]
        return attend(query, keys, values, self.mask)

    def inherit(self, rows: Int[Tensor, " all_rows"]) -> None:
        """Let row i continue the prefix of row `rows[i]`; both count through the slots and are in the same one."""
        lines = self.ancestors.flatten(0, 1)[: len(rows), : self.end]
        lines.copy_(lines.index_select(0, rows))

    def empty(self, slots: list[int]) -> None:
        """Remove all ancestors of the rows of these slots."""
        self.ancestors[slots] = -math.inf

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        self.keys_values[:, :, to, : self.end] = self.keys_values[:, :, origin, : self.end]
        self.ancestors[to] = self.ancestors[origin]

    def _compact(self) -> None:
        """Move the entries that are somebody's ancestors to the front, in their order, and reserve memory for new ones.

        That memory holds finite numbers, which is enough for what is masked.
        """
        slots, lines = len(self.ancestors), self.ancestors[:, :, : self.end]
        living = (lines == 0).any(dim=1)
        order = living.to(torch.uint8).argsort(dim=1, descending=True, stable=True)
        self.end = int(living.sum(dim=1).max())
        self.next_compaction = self.end + _STEPS * self.rows
        capacity = round_up(self.next_compaction, _WIDTH)
        order = functional.pad(order[:, :capacity], (0, max(0, capacity - order.shape[1])))
        entries = order + torch.arange(slots, device=order.device)[:, None] * self.ancestors.shape[2]
        moved = self.keys_values.flatten(2, 3).flatten(0, 1).index_select(1, entries.flatten())
        self.keys_values = moved.view(*self.keys_values.shape[:2], slots, capacity, moved.shape[-1])
        self.ancestors = lines.gather(2, order[:, None].expand(-1, self.rows, -1))
        self.ancestors[:, :, self.end :] = -math.inf


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
        shape = (num_layers, 2, slots, _RESERVED_STEPS * rows, attention.num_heads * attention.d_k)
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
        larger = self.keys_values.new_empty((layers, 2, slots, entries + _RESERVED_STEPS * self.rows, d_model))
        larger[:, :, :, :entries] = self.keys_values
        self.keys_values = larger
        self.indices = torch.cat([self.indices, self._own_indices(entries).expand(slots, -1, -1)], dim=2)
        self._lay_out()

    def _own_indices(self, begin: int) -> Int[Tensor, "1 rows steps"]:
        """What every row's indices are for steps to come: the entries that the row will write itself."""
        steps, rows = (torch.arange(count, dtype=torch.int32) for count in (_RESERVED_STEPS, self.rows))
        return (begin + steps * self.rows + rows[:, None])[None]

    def _lay_out(self) -> None:
        """Keys and values as the kernels take them, together and for each layer."""
        in_heads = self.keys_values.unflatten(-1, (self.attention.num_heads, -1)).transpose(-3, -2)
        self.of_layers = [(layer[0], layer[1]) for layer in in_heads.unbind()]
        self.structure = cache_structure(in_heads, self.counts)


def round_up(count: int, multiple: int) -> int:
    """The next multiple."""
    return -(-count // multiple) * multiple
