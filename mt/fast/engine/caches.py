"""The KV caches of a search: the keys and values of the source, and of the target, which are not reordered."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.prepared_model import WIDTH, PreparedModel, attend
from mt.fast.native.layers import cache_structure

_RESERVED_STEPS = 32  # there is memory for this number of steps at a time


class SelfAttentionCache:
    """Keys and values of the target positions so far.

    Each step of a search writes one entry for every row: the row's key and value in every layer. A row that continues
    another row's prefix needs that row's entries, so decoders usually copy the whole cache at each step. Here nothing
    is copied. A row's `indices` are those of the entries of its prefix; continuing another row copies its indices, a
    few hundred bytes. With a kernel a row attends to these entries alone, else to those of all rows of its slot, of
    which a mask leaves its own.
    """

    def __init__(self, model: PreparedModel, *, slots: int, rows: int) -> None:
        self.model, self.attention, self.slots, self.rows = model, model.indexed_attention, slots, rows
        self.steps = 0
        self.keys_values = self._memory(_RESERVED_STEPS * rows)
        self.indices: Int[Tensor, "slots rows steps"] = self._own_indices(0).repeat(slots, 1, 1)
        self.counts: Int[Tensor, " slots"] = torch.zeros(slots, dtype=torch.int32)
        """The entries of each row of a slot; for the kernel."""
        self._lay_out()

    def open(self, slots: int, *, width: int) -> None:
        """Begin an entry for each of the first `width` rows of the first slots; the other rows take the last of those.

        The contents of the slots after these are lost.
        """
        if self.steps == self.indices.shape[2]:
            self._enlarge()
        first = self.steps * self.rows
        if width < self.rows:
            self.indices[:, width:, self.steps] = first + width - 1
        self.steps += 1
        if self.attention is not None:
            self.counts[:slots] = self.steps
            return
        attended = round_up(first + self.rows, WIDTH)
        own = self.indices[:slots, :width, : self.steps]
        self.newest = self.keys_values[:, :, :slots, first : first + width].unbind()
        self.attended = [(keys[:slots, :, :attended], values[:slots, :, :attended]) for keys, values in self.of_layers]
        mask = self.keys_values.new_full((slots, width, attended), -math.inf)
        self.mask = mask.scatter_(2, own.to(torch.int64), 0.0)[:, None]

    def attend(
        self, layer: int, projected: Float[Tensor, "slots rows features"]
    ) -> Float[Tensor, "slots rows d_model"]:
        """Write each row's newest key and value, and attend to all of its prefix."""
        if self.attention is not None:
            return self.attention(projected, *self.of_layers[layer], self.counts, self.indices)
        query, *key_value = projected.chunk(3, dim=-1)
        for entry, computed in zip(self.newest[layer], key_value, strict=True):
            entry.copy_(computed)
        query = query.unflatten(-1, (self.model.num_heads, -1)).transpose(-3, -2)
        return attend(query, *self.attended[layer], self.mask)

    def inherit(self, rows: Int[Tensor, " all_rows"]) -> None:
        """Let row i continue the prefix of row `rows[i]`; both count through the slots and are in the same one."""
        lines = self.indices.flatten(0, 1)[: len(rows), : self.steps]
        if lines.is_cpu:
            lines.numpy()[:] = lines.numpy()[rows.numpy()]  # for a few rows in half the time that torch takes
        else:
            lines.copy_(lines.index_select(0, on_device(rows, lines.device)))

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        new, old = (on_device(slots, self.indices.device) for slots in (to, origin))
        end = self.steps * self.rows
        self.keys_values[:, :, new, :end] = self.keys_values[:, :, old, :end]
        self.indices[new] = self.indices[old]

    def _memory(self, entries: int) -> Float[Tensor, "layers 2 slots entries d_model"]:
        """Memory for this number of entries in a slot; zeros for the mask, as what it excludes must be finite."""
        shape = (len(self.model.decoder), 2, self.slots, entries, self.model.d_model)
        make = torch.zeros if self.attention is None else torch.empty
        return make(shape, dtype=self.model.precision, device=self.model.device)

    def _enlarge(self) -> None:
        entries = self.keys_values.shape[3]
        larger = self._memory(entries + _RESERVED_STEPS * self.rows)
        larger[:, :, :, :entries] = self.keys_values
        self.keys_values = larger
        self.indices = torch.cat([self.indices, self._own_indices(entries).expand(self.slots, -1, -1)], dim=2)
        self._lay_out()

    def _own_indices(self, begin: int) -> Int[Tensor, "1 rows steps"]:
        """What every row's indices are for steps to come: the entries that the row will write itself."""
        entries = torch.arange(begin, begin + _RESERVED_STEPS * self.rows, dtype=torch.int32, device=self.model.device)
        return entries.view(1, _RESERVED_STEPS, self.rows).transpose(1, 2)

    def _lay_out(self) -> None:
        """Keys and values in heads, for each layer and all together."""
        in_heads = self.keys_values.unflatten(-1, (self.model.num_heads, -1)).transpose(-3, -2)
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
        self.counts: Int[Tensor, " slots"] = torch.zeros(len(source), dtype=torch.int32)
        """The tokens of the sentences."""
        self.structure = cache_structure(self.keys_values, self.counts)
        self.narrow(len(source))

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        filled, emptied = (on_device(slots, self.model.device) for slots in (to, origin))
        self.keys_values[:, :, filled] = self.keys_values[:, :, emptied]
        for new, old in zip(to, origin, strict=True):
            self.lengths[new] = self.lengths[old]

    def narrow(self, count: int) -> None:
        """Let the first `count` slots attend to no more positions than their sentences have."""
        width = round_up(max(self.lengths[:count]), WIDTH)
        self.attended = self.keys_values[:, :, :count, :, :width].unbind()
        self.counts[:count] = torch.tensor(self.lengths[:count], dtype=torch.int32)
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
