"""The KV caches of a search: the keys and values of the source, and of the target, which are not reordered."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from mt.fast.engine.prepared_model import WIDTH, PreparedModel, attend
from mt.fast.native.layers import IndexedAttention, cache_structure

_STEPS = {"cpu": 4}  # are written to an AncestryCache before entries are removed, for which others wait for the device
_STEPS_ELSEWHERE = 16
_RESERVED_STEPS = 32  # an IndexedCache has memory for this number of steps at a time


class AncestryCache:
    """Keys and values of the target positions so far, on a GPU and without a C compiler.

    Each step of a search writes one entry for every row: the row's key and value in every layer. A row that continues
    another row's prefix needs that row's entries, so decoders usually copy the whole cache at each step. Here nothing
    is copied. The rows of a slot attend together to all entries of all its rows, and a table says which of them are a
    row's ancestors; continuing another row copies its line of the table, a few hundred bytes. Rows of a beam soon have
    most of their ancestors in common, so from time to time the entries that are nobody's ancestors are removed.
    """

    def __init__(self, model: PreparedModel, *, slots: int, rows: int) -> None:
        self.rows, self.num_heads = rows, model.num_heads
        self.end = 0
        self.written = _STEPS.get(model.device.type, _STEPS_ELSEWHERE) * rows  # entries between two compactions
        self.next_compaction = self.written
        entries = round_up(self.next_compaction, WIDTH)
        options: dict[str, Any] = {"dtype": model.precision, "device": model.device}
        self.keys_values: Float[Tensor, "layers 2 slots entries d_model"] = torch.zeros(
            (len(model.decoder), 2, slots, entries, model.d_model), **options
        )
        self.ancestors: Float[Tensor, "slots rows entries"] = torch.full((slots, rows, entries), -math.inf, **options)
        self.own = torch.full((rows, rows), -math.inf, **options).fill_diagonal_(0.0)

    def open(self, slots: int, *, idle: list[int], width: int) -> None:
        """Begin an entry for each row of the first slots; the same for all rows where only `width` = 1 is computed.

        Every row is its own ancestor there. The contents of the slots after these, and of `idle` ones, may be lost.
        """
        if self.end >= self.next_compaction:
            unused = on_device([*idle, *range(slots, len(self.ancestors))], self.ancestors.device)
            self.ancestors.index_fill_(0, unused, -math.inf)
            self._compact()
        newest, attended = slice(self.end, self.end + self.rows), round_up(self.end + self.rows, WIDTH)
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
        lines.copy_(lines.index_select(0, on_device(rows, lines.device)))

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        new, old = (on_device(slots, self.ancestors.device) for slots in (to, origin))
        self.keys_values[:, :, new, : self.end] = self.keys_values[:, :, old, : self.end]
        self.ancestors[new] = self.ancestors[old]

    def _compact(self) -> None:
        """Move the entries that are somebody's ancestors to the front, in their order, and reserve memory for new ones.

        That memory holds finite numbers, which is enough for what is masked.
        """
        slots, lines = len(self.ancestors), self.ancestors[:, :, : self.end]
        living = (lines == 0).any(dim=1)
        order = living.to(torch.uint8).argsort(dim=1, descending=True, stable=True)
        self.end = int(living.sum(dim=1).max())
        self.next_compaction = self.end + self.written
        capacity = round_up(self.next_compaction, WIDTH)
        order = functional.pad(order[:, :capacity], (0, max(0, capacity - order.shape[1])))
        entries = order + torch.arange(slots, device=order.device)[:, None] * self.ancestors.shape[2]
        moved = self.keys_values.flatten(2, 3).flatten(0, 1).index_select(1, entries.flatten())
        self.keys_values = moved.view(*self.keys_values.shape[:2], slots, capacity, moved.shape[-1])
        self.ancestors = lines.gather(2, order[:, None].expand(-1, self.rows, -1))
        self.ancestors[:, :, self.end :] = -math.inf


class IndexedCache:
    """The same on a CPU where there is a C compiler.

    A row's `indices` are those of the entries of its prefix, and it attends to these alone. Continuing another row's
    prefix copies its indices; entries that are nobody's ancestors cost no computation.
    """

    def __init__(self, model: PreparedModel, attention: IndexedAttention, *, slots: int, rows: int) -> None:
        self.attention, self.rows = attention, rows
        self.end = self.steps = 0
        shape = (len(model.decoder), 2, slots, _RESERVED_STEPS * rows, model.d_model)
        self.keys_values = torch.empty(shape, dtype=model.precision)
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


class CrossAttentionCache:
    """What the rows of each slot attend to: the keys and values of its sentence in every layer of the decoder."""

    def __init__(self, model: PreparedModel, source: Int[Tensor, "slots source"]) -> None:
        self.model = model
        self.lengths: list[int] = (source != model.pad).sum(dim=1).tolist()
        self.keys_values = model.encode(source.to(model.device, non_blocking=True)).contiguous()
        self.mask: Float[Tensor, "slots 1 1 source"] | None = None
        """0 for the tokens of each sentence, minus infinity after its end; not for the kernel, which takes `counts`."""
        self.attended: tuple[Float[Tensor, "2 slots heads source d_k"], ...] = self.keys_values.unbind()
        """For each layer of the decoder its keys and values."""
        self.counts: Int[Tensor, " slots"] = torch.zeros(len(source), dtype=torch.int32)
        """The tokens of the sentences."""
        self.structure = cache_structure(self.keys_values, self.counts)

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        filled, emptied = (on_device(slots, self.model.device) for slots in (to, origin))
        self.keys_values[:, :, filled] = self.keys_values[:, :, emptied]
        for new, old in zip(to, origin, strict=True):
            self.lengths[new] = self.lengths[old]

    def narrow(self, slots: list[int], count: int) -> None:
        """Let the first `count` slots attend to no more positions than the sentences in `slots` have."""
        width = round_up(max(self.lengths[slot] for slot in slots), WIDTH)
        self.attended = self.keys_values[:, :, :count, :, :width].unbind()
        self.counts.zero_()
        self.counts[slots] = torch.tensor([self.lengths[slot] for slot in slots], dtype=torch.int32)
        if self.model.indexed_attention is None:
            device = self.keys_values.device
            ends = on_device(self.lengths[:count], device)[:, None, None, None]
            self.mask = self.keys_values.new_zeros(count, 1, 1, width)
            self.mask.masked_fill_(torch.arange(width, device=device) >= ends, -math.inf)

    def attend(self, layer: int, query: Float[Tensor, "slots rows d_model"]) -> Float[Tensor, "slots rows d_model"]:
        """Attention of the rows of each slot to its source."""
        key, value = self.attended[layer]
        if self.model.indexed_attention is not None:
            return self.model.indexed_attention(query, key, value, self.counts[: len(key)])
        assert self.mask is not None
        return attend(query.unflatten(-1, (self.model.num_heads, -1)).transpose(-3, -2), key, value, self.mask)


def on_device(numbers: list[int] | Int[Tensor, " count"], device: torch.device) -> Int[Tensor, " count"]:
    """These few numbers of the host on the device; a GPU takes them with its commands, and nobody waits."""
    return torch.as_tensor(numbers, dtype=torch.int64).to(device, non_blocking=True)


def round_up(count: int, multiple: int) -> int:
    """The next multiple."""
    return -(-count // multiple) * multiple
