"""The KV caches of a search: the keys and values of the source, and of the target, which are not reordered."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.prepared_model import WIDTH, PreparedModel, attend
from mt.fast.native.layers import cache_structure

_RESERVED_STEPS = 16  # there is memory for a multiple of this number of steps


class SelfAttentionCache:
    """Keys and values of the target positions so far.

    Each step of a search writes one entry for every row: the row's key and value in every layer. A row that continues
    another row's prefix needs that row's entries, so decoders usually copy the whole cache at each step. Here nothing
    is copied. A row's `indices` are those of the entries of its prefix; continuing another row copies its indices, a
    few hundred bytes. With a kernel a row attends to these entries alone, else to those of all rows of its slot, of
    which a mask leaves its own.
    """

    def __init__(self, model: PreparedModel, *, slots: int, rows: int, expected_steps: int) -> None:
        self.model, self.attention, self.slots, self.rows = model, model.indexed_attention, slots, rows
        self.steps = 0
        shape = (len(model.decoder), 2, slots, 0, model.d_model)
        self.keys_values = torch.empty(shape, dtype=model.precision, device=model.device)
        self.indices: Int[Tensor, "slots rows steps"] = torch.empty(
            (slots, rows, 0), dtype=torch.int32, device=model.device
        )
        self.counts: Int[Tensor, " slots"] = torch.zeros(slots, dtype=torch.int32)
        """The entries of each row of a slot; for the kernel."""
        self._enlarge(slots, steps=round_up(expected_steps, _RESERVED_STEPS))

    def open(self, slots: int, *, width: int) -> None:
        """Begin an entry for each of the first `width` rows of the first slots; the other rows take the last of those.

        The contents of the slots after these are lost.
        """
        if self.steps == self.indices.shape[2]:
            self._enlarge(slots, steps=_RESERVED_STEPS)
        first = self.steps * self.rows
        if width < self.rows:
            self.indices[:, width:, self.steps] = first + width - 1
        self.steps += 1
        if self.attention is not None:
            self.counts.numpy()[:slots] = self.steps
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
        if self.indices.is_cpu:  # for a few rows numpy takes half the time
            numbers = self.indices.numpy().reshape(-1, self.indices.shape[2])[: len(rows), : self.steps]
            numbers[:] = numbers[rows.numpy()]
        else:
            lines = self.indices.flatten(0, 1)[: len(rows), : self.steps]
            lines.copy_(lines.index_select(0, on_device(rows, lines.device)))

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        new, old = (on_device(slots, self.indices.device) for slots in (to, origin))
        end = self.steps * self.rows
        self.keys_values[:, :, new, :end] = self.keys_values[:, :, old, :end]
        self.indices[new] = self.indices[old]

    def _enlarge(self, slots: int, *, steps: int) -> None:
        """Make room for `steps` more of the first slots; a row's indices there are those of the entries it will write.

        Without a kernel the room is filled with zeros, because what the mask excludes must be finite.
        """
        old, added = self.keys_values, steps * self.rows
        layers, two, _, entries, d_model = old.shape
        own = torch.arange(entries, entries + added, dtype=torch.int32, device=old.device)
        own = own.view(steps, self.rows).T.expand(slots, -1, -1)
        self.indices = torch.cat([self.indices[:slots], own], dim=2)
        self.counts = self.counts[:slots]
        make = old.new_zeros if self.attention is None else old.new_empty
        self.keys_values = make(layers, two, slots, entries + added, d_model)
        self.keys_values[:, :, :, :entries] = old[:, :, :slots]
        in_heads = self.keys_values.unflatten(-1, (self.model.num_heads, -1)).transpose(-3, -2)
        self.of_layers = [(layer[0], layer[1]) for layer in in_heads.unbind()]
        self.structure = cache_structure(in_heads, self.counts)


class CrossAttentionCache:
    """What the rows of each slot attend to: the keys and values of its sentence in every layer of the decoder."""

    def __init__(self, model: PreparedModel, source: Int[Tensor, "slots source"]) -> None:
        self.model = model
        self.lengths: list[int] = (source != model.pad).sum(dim=1).tolist()
        self.keys_values = model.encode(source.to(model.device, non_blocking=True)).contiguous()
        self.counts: Int[Tensor, " slots"] = torch.zeros(len(source), dtype=torch.int32)
        """The tokens of the sentences; for the kernel."""
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
        if self.model.indexed_attention is None:  # 0 for the tokens of each sentence, minus infinity after its end
            device = self.keys_values.device
            ends = on_device(self.lengths[:count], device)[:, None, None, None]
            self.mask = self.keys_values.new_zeros(count, 1, 1, width)
            self.mask.masked_fill_(torch.arange(width, device=device) >= ends, -math.inf)

    def attend(self, layer: int, query: Float[Tensor, "slots rows d_model"]) -> Float[Tensor, "slots rows d_model"]:
        """Attention of the rows of each slot to its source."""
        key, value = self.attended[layer]
        if self.model.indexed_attention is not None:
            return self.model.indexed_attention(query, key, value, self.counts[: len(key)])
        return attend(query.unflatten(-1, (self.model.num_heads, -1)).transpose(-3, -2), key, value, self.mask)


def on_device(numbers: list[int] | Int[Tensor, " count"], device: torch.device) -> Int[Tensor, " count"]:
    """These few numbers of the host on the device; a GPU takes them with its commands, and nobody waits."""
    return torch.as_tensor(numbers, dtype=torch.int64).to(device, non_blocking=True)


def round_up(count: int, multiple: int) -> int:
    """The next multiple."""
    return -(-count // multiple) * multiple
