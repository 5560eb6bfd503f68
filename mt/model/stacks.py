"""Section 3.1: the encoder and decoder stacks. Layers receive their parts and only wire them together."""

from collections.abc import Callable, Sequence
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mt.model.attention import KeyValueCache, MultiHeadAttention
from mt.model.masks import Layout

Residual = Callable[[], nn.Module]  # makes a module that is called with x and a sublayer
LayerCache = tuple[KeyValueCache, KeyValueCache]  # of a decoder layer's self-attention and of its cross-attention


class EncoderLayer(nn.Module):
    """Left half of figure 1: self-attention, then the feed-forward network. With a causal mask it is a layer of GPT."""

    def __init__(self, *, self_attention: MultiHeadAttention, feed_forward: nn.Module, make_residual: Residual) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_attention_residual = make_residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = make_residual()

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        position_ids: Int[Tensor, "#batch length"],
        mask: Bool[Tensor, "batch #length all"],
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """One layer; with a `cache`, `x` holds the newest positions only."""
        x = self.self_attention_residual(
            x, lambda x: self.self_attention(x, x, mask, position_ids, position_ids, cache=cache)
        )
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Right half of figure 1: masked self-attention, attention over the encoder's output, feed-forward."""

    def __init__(
        self,
        *,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        make_residual: Residual,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_attention_residual = make_residual()
        self.cross_attention = cross_attention
        self.cross_attention_residual = make_residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = make_residual()

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"] | None,
        layout: Layout,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """One decoder layer; with a `cache`, `x` holds the newest positions only, and `memory` comes once."""
        own, of_source = cache or (None, None)
        position_ids, source_position_ids = layout.target_position_ids, layout.source_position_ids
        x = self.self_attention_residual(
            x, lambda x: self.self_attention(x, x, layout.target_mask, position_ids, position_ids, cache=own)
        )
        x = self.cross_attention_residual(
            x,
            lambda x: self.cross_attention(
                x, memory, layout.memory_mask, position_ids, source_position_ids, cache=of_source
            ),
        )
        return self.feed_forward_residual(x, self.feed_forward)


class Stack(nn.Module):
    """N layers, one after the other, and after pre-norm layers a normalisation."""

    layers: Any  # nn.ModuleList of layers of one class

    def __init__(self, layers: Sequence[nn.Module], *, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        *inputs: Tensor | Layout | None,
        caches: Sequence[LayerCache | KeyValueCache] = (),
    ) -> Float[Tensor, "batch length d_model"]:
        """Pass `x` through the layers, all of which get the same `inputs`, and each its own cache."""
        for number, layer in enumerate(self.layers):
            x = layer(x, *inputs, cache=caches[number] if caches else None)
        return x if self.norm is None else self.norm(x)
