"""Keys and values of the source sentences in their slots, and the sentences that wait for a slot."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.prepared_layers import attend
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.engine.target_cache import round_up
from mt.fast.native.layers import cache_structure

_WIDTH = 16  # attended source positions are a multiple, as in AncestryCache


class CrossAttentionCache:
    """What the rows of each slot attend to; sentences come in the order of `source`, encoded `slots` at a time."""

    def __init__(self, model: PreparedModel, source: Int[Tensor, "sentences source"], *, slots: int) -> None:
        self.model = model
        self.source = source
        self.source_lengths: list[int] = (source != model.pad).sum(dim=1).tolist()
        self.lengths = [0] * slots
        self.next = 0  # the sentence that comes next
        width = round_up(source.shape[1], _WIDTH)
        shape = (len(model.decoder), 2, slots, model.num_heads, width, model.d_model // model.num_heads)
        self.keys_values = torch.empty(shape, dtype=model.precision, device=model.device)
        self.encoded: Float[Tensor, "layers 2 sentences heads source d_k"] = self.keys_values[:, :, :0]
        """Keys and values of sentences that wait, the next first."""
        self.mask: Float[Tensor, "slots 1 1 source"] | None = None
        """0 for the tokens of each sentence, minus infinity after its end; not for the kernel, which takes `counts`."""
        self.attended: tuple[Float[Tensor, "2 slots heads source d_k"], ...] = self.keys_values.unbind()
        """For each layer of the decoder its keys and values."""
        self.counts: Int[Tensor, " slots"] = torch.zeros(slots, dtype=torch.int32)
        """The tokens of the sentences."""
        self.structure = cache_structure(self.keys_values, self.counts)

    def admit(self, slots: list[int]) -> None:
        """Give these slots to the next sentences."""
        while slots:
            if not self.encoded.shape[2]:
                block = slice(self.next, self.next + len(self.lengths))
                self.encoded = self.model.encode(self.source[block, : max(self.source_lengths[block])])
            count = min(len(slots), self.encoded.shape[2])
            self._fill(slots[:count])
            slots = slots[count:]

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        self.keys_values[:, :, to] = self.keys_values[:, :, origin]
        for new, old in zip(to, origin, strict=True):
            self.lengths[new] = self.lengths[old]

    def narrow(self, slots: list[int], count: int) -> None:
        """Let the first `count` slots attend to no more positions than the sentences in `slots` have."""
        width = round_up(max(self.lengths[slot] for slot in slots), _WIDTH)
        self.attended = self.keys_values[:, :, :count, :, :width].unbind()
        self.counts.zero_()
        self.counts[slots] = torch.tensor([self.lengths[slot] for slot in slots], dtype=torch.int32)
        if self.model.indexed_attention is None:
            device = self.keys_values.device
            ends = torch.tensor(self.lengths[:count], device=device)[:, None, None, None]
            self.mask = self.keys_values.new_zeros(count, 1, 1, width)
            self.mask.masked_fill_(torch.arange(width, device=device) >= ends, -math.inf)

    def attend(self, layer: int, query: Float[Tensor, "slots rows d_model"]) -> Float[Tensor, "slots rows d_model"]:
        """Attention of the rows of each slot to its source."""
        key, value = self.attended[layer]
        if self.model.indexed_attention is not None:
            return self.model.indexed_attention(query, key, value, self.counts[: len(key)])
        assert self.mask is not None
        return attend(query.unflatten(-1, (self.model.num_heads, -1)).transpose(-3, -2), key, value, self.mask)

    def _fill(self, slots: list[int]) -> None:
        """Copy the next encoded sentences into these slots."""
        filled, self.encoded = self.encoded[:, :, : len(slots)], self.encoded[:, :, len(slots) :]
        length = filled.shape[-2]
        self.keys_values[:, :, slots, :, :length] = filled
        self.keys_values[:, :, slots, :, length:] = 0  # anything finite: what is masked is multiplied by zero
        for slot in slots:
            self.lengths[slot] = self.source_lengths[self.next]
            self.next += 1
