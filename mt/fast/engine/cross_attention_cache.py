"""Keys and values of the source sentences in their slots, and the sentences that wait for a slot."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.ancestry_cache import round_up
from mt.fast.engine.prepared_layers import attend
from mt.fast.engine.prepared_model import Memory, PreparedModel
from mt.fast.native.all_layers import cache_structure

_WIDTH = 16  # attended source positions are a multiple, as in AncestryCache


class CrossAttentionCache:
    """What the rows of each slot attend to; sentences come in the order of `source`, encoded `slots` at a time."""

    def __init__(self, model: PreparedModel, source: Int[Tensor, "sentences source"], *, slots: int) -> None:
        self.model = model
        self.source = source
        self.source_lengths: list[int] = (source != model.pad).sum(dim=1).tolist()
        self.lengths = [0] * slots
        self.encoded: Memory | None = None
        self.encoded_end = self.waiting = 0  # sentences: up to where they are encoded, and who comes next
        width = round_up(source.shape[1], _WIDTH)
        shape = (len(model.decoder), 2, slots, model.num_heads, width, model.d_model // model.num_heads)
        self.keys_values = torch.empty(shape, dtype=model.precision, device=model.device)
        self.masks = torch.zeros(slots, 1, 1, width, dtype=model.precision, device=model.device)
        self.mask: Float[Tensor, "slots 1 1 source"] = self.masks
        """0 for the tokens of each sentence, minus infinity after its end."""
        self.attended: tuple[Float[Tensor, "2 slots heads source d_k"], ...] = self.keys_values.unbind()
        """For each layer of the decoder its keys and values."""
        self.counts: Int[Tensor, " slots"] = torch.zeros(slots, dtype=torch.int32)
        """The tokens of the sentences."""
        self.structure = cache_structure(self.keys_values, self.counts)

    def admit(self, slots: list[int]) -> None:
        """Give these slots to the next sentences."""
        while slots:
            if self.waiting == self.encoded_end:
                self._encode()
            count = min(len(slots), self.encoded_end - self.waiting)
            self._fill(slots[:count])
            slots = slots[count:]

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other slots."""
        self.keys_values[:, :, to] = self.keys_values[:, :, origin]
        self.masks[to] = self.masks[origin]
        for new, old in zip(to, origin, strict=True):
            self.lengths[new] = self.lengths[old]

    def narrow(self, slots: list[int], count: int) -> None:
        """Let the first `count` slots attend to no more positions than the sentences in `slots` have."""
        width = round_up(max(self.lengths[slot] for slot in slots), _WIDTH)
        self.mask = self.masks[:count, :, :, :width]
        self.attended = self.keys_values[:, :, :count, :, :width].unbind()
        self.counts.zero_()
        self.counts[slots] = torch.tensor([self.lengths[slot] for slot in slots], dtype=torch.int32)

    def attend(self, layer: int, query: Float[Tensor, "slots rows d_model"]) -> Float[Tensor, "slots rows d_model"]:
        """Attention of the rows of each slot to its source."""
        key, value = self.attended[layer]
        if self.model.indexed_attention is not None:
            return self.model.indexed_attention(query, key, value, self.counts[: len(key)])
        return attend(query.unflatten(-1, (self.model.num_heads, -1)).transpose(-3, -2), key, value, self.mask)

    def _encode(self) -> None:
        """Encode as many sentences as there are slots."""
        block = slice(self.waiting, self.waiting + len(self.lengths))
        longest = max(self.source_lengths[block])
        self.encoded = self.model.encode(self.source[block, :longest])
        self.encoded_end = self.waiting + self.encoded.mask.shape[0]

    def _fill(self, slots: list[int]) -> None:
        """Copy the next encoded sentences into these slots."""
        assert self.encoded is not None
        first = self.encoded.mask.shape[0] - (self.encoded_end - self.waiting)
        block = slice(first, first + len(slots))
        length = self.encoded.mask.shape[-1]
        self.keys_values[:, :, slots, :, :length] = self.encoded.keys_values[:, :, block]
        self.keys_values[:, :, slots, :, length:] = 0  # anything finite: what is masked is multiplied by zero
        self.masks[slots] = -math.inf
        self.masks[slots, :, :, :length] = self.encoded.mask[block]
        for slot in slots:
            self.lengths[slot] = self.source_lengths[self.waiting]
            self.waiting += 1
