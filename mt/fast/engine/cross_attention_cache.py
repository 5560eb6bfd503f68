"""Keys and values of the source sentences at their places, and the sentences that wait for a place."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.prepared_layers import attend
from mt.fast.engine.prepared_model import Memory, PreparedModel
from mt.fast.native.all_layers import CacheStructure

_WIDTH = 16  # attended source positions are a multiple, as in AncestryCache


class CrossAttentionCache:
    """What the rows at each place attend to; sentences come in the order of `source`, encoded `places` at a time."""

    def __init__(self, model: PreparedModel, source: Int[Tensor, "sentences source"], *, places: int) -> None:
        self.model = model
        self.source = source
        self.source_lengths: list[int] = (source != model.pad).sum(dim=1).tolist()
        self.lengths = [0] * places
        self.encoded: Memory | None = None
        self.encoded_end = self.waiting = 0  # sentences: up to where they are encoded, and who comes next
        width = -(-source.shape[1] // _WIDTH) * _WIDTH
        shape = (len(model.decoder), 2, places, model.num_heads, width, model.d_model // model.num_heads)
        self.keys_values = torch.empty(shape, dtype=model.precision, device=model.device)
        self.masks = torch.zeros(places, 1, 1, width, dtype=model.precision, device=model.device)
        self.mask: Float[Tensor, "places 1 1 source"] = self.masks
        """0 for the tokens of each sentence, minus infinity beyond its end."""
        self.attended: tuple[Float[Tensor, "2 places heads source d_k"], ...] = self.keys_values.unbind()
        """For each layer of the decoder its keys and values."""
        self.counts: Int[Tensor, " places"] = torch.zeros(places, dtype=torch.int32)
        """The tokens of the sentences."""
        self.structure = CacheStructure.of(self.keys_values, self.counts)

    def admit(self, places: list[int]) -> None:
        """Give these places to the next sentences."""
        while places:
            if self.waiting == self.encoded_end:
                self._encode()
            count = min(len(places), self.encoded_end - self.waiting)
            self._place(places[:count])
            places = places[count:]

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other places."""
        self.keys_values[:, :, to] = self.keys_values[:, :, origin]
        self.masks[to] = self.masks[origin]
        for new, old in zip(to, origin, strict=True):
            self.lengths[new] = self.lengths[old]

    def narrow(self, places: list[int], count: int) -> None:
        """Let the first `count` places attend to no more positions than the sentences at `places` have."""
        width = -(-max(self.lengths[place] for place in places) // _WIDTH) * _WIDTH
        self.mask = self.masks[:count, :, :, :width]
        self.attended = self.keys_values[:, :, :count, :, :width].unbind()
        self.counts.zero_()
        self.counts[places] = torch.tensor([self.lengths[place] for place in places], dtype=torch.int32)

    def attend(self, layer: int, query: Float[Tensor, "places rows d_model"]) -> Float[Tensor, "places rows d_model"]:
        """What the rows of each place attend to in its source."""
        key, value = self.attended[layer]
        if self.model.cell_attention is not None:
            return self.model.cell_attention(query, key, value, self.counts[: len(key)])
        return attend(query.unflatten(-1, (self.model.num_heads, -1)).transpose(-3, -2), key, value, self.mask)

    def _encode(self) -> None:
        """Encode as many sentences as there are places."""
        block = slice(self.waiting, self.waiting + len(self.lengths))
        longest = max(self.source_lengths[block])
        self.encoded = self.model.encode(self.source[block, :longest])
        self.encoded_end = self.waiting + self.encoded.mask.shape[0]

    def _place(self, places: list[int]) -> None:
        assert self.encoded is not None
        first = self.encoded.mask.shape[0] - (self.encoded_end - self.waiting)
        block = slice(first, first + len(places))
        length = self.encoded.mask.shape[-1]
        self.keys_values[:, :, places, :, :length] = self.encoded.keys_values[:, :, block]
        self.keys_values[:, :, places, :, length:] = 0  # anything finite: what is masked is multiplied by zero
        self.masks[places] = -math.inf
        self.masks[places, :, :, :length] = self.encoded.mask[block]
        for place in places:
            self.lengths[place] = self.source_lengths[self.waiting]
            self.waiting += 1
