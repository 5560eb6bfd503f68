"""The decoder of figure 1 alone, as in GPT (Radford et al. 2018): one stack reads the source, then the target.

Translation is then continuation: source, its EOS as the separator, BOS and the target, each token seeing those before
it. A language model is the same with an empty source. Only the target has a loss.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mt.model.attention import KeyValueCache
from mt.model.embedding import TokenEmbedding
from mt.model.encoder_only import EncoderOnly
from mt.model.masks import Layout, joined, padded
from mt.model.positions import Positions
from mt.model.stacks import Stack
from mt.model.transformer import Transformer


class DecoderOnly(nn.Module):
    """Encoder layers under a causal mask, over source and target in one row; made for `family=decoder`.

    It takes what `Transformer` takes, so that batches, packing, loss and search are the same. The two sides may have
    embeddings of their own, and tied ones are one module.
    """

    def __init__(
        self,
        *,
        source_embedding: TokenEmbedding,
        target_embedding: TokenEmbedding,
        output_embedding: TokenEmbedding,
        positions: Positions,
        dropout: nn.Module,
        decoder: Stack,
        pad: int,
    ) -> None:
        super().__init__()
        self.pad = pad
        self.target_embedding = target_embedding
        self.source_embedding = source_embedding
        self.output_embedding = output_embedding
        self.positions = positions
        self.dropout = dropout
        self.decoder = decoder

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """Logits of the token after each target position; `target` begins with BOS."""
        return self.output_embedding.logits(self.hidden(source, target))

    def hidden(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
        layout: Layout | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """The last layer's output at the target's positions; without a `layout`, a row is a sentence."""
        layout = padded(source, target, pad=self.pad) if layout is None else layout
        sides = [self.source_embedding(source, layout.source_cut), self.target_embedding(target, layout.target_cut)]
        return self.read(torch.cat(sides, dim=1), *joined(layout))[:, source.shape[1] :]

    def read(
        self,
        x: Float[Tensor, "batch length d_model"],
        position_ids: Int[Tensor, "#batch length"],
        mask: Bool[Tensor, "batch #length all"],
        caches: Sequence[KeyValueCache] = (),
    ) -> Float[Tensor, "batch length d_model"]:
        """Embeddings with their positions through all layers; with `caches`, those of the newest tokens."""
        return self.decoder(self.dropout(self.positions.embed(x, position_ids)), position_ids, mask, caches=caches)


AnyTransformer = Transformer | DecoderOnly | EncoderOnly
