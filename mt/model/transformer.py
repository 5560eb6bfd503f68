"""Figure 1: the whole model. Its parts are assembled in `mt/model/architecture.py`."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from mt.model.embedding import TokenEmbedding
from mt.model.masks import Layout, padded
from mt.model.positions import Positions
from mt.model.stacks import LayerCache, Stack


class Transformer(nn.Module):
    """The encoder-decoder of figure 1; `Architecture` makes the paper's and its variants.

    Tied embeddings are one module: in the paper's model `source_embedding`, `target_embedding` and `output_embedding`
    are, so that one matrix serves source, target and output (section 3.4). Dropout falls on embeddings plus positions
    (section 5.4).
    """

    def __init__(
        self,
        *,
        source_embedding: TokenEmbedding,
        target_embedding: TokenEmbedding,
        output_embedding: TokenEmbedding,
        positions: Positions,
        dropout: nn.Module,
        encoder: Stack,
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
        self.encoder = encoder
        self.decoder = decoder

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """Logits of the token after each target position; `target` is the decoder's input, beginning with BOS."""
        return self.output_embedding.logits(self.hidden(source, target))

    def hidden(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
        layout: Layout | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """The decoder's output before the last linear transformation; without a `layout`, a row is a sentence."""
        layout = padded(source, target, pad=self.pad) if layout is None else layout
        return self.decode(target, self.encode(source, layout), layout)

    def encode(self, source: Int[Tensor, "batch source"], layout: Layout) -> Float[Tensor, "batch source d_model"]:
        """Left side of figure 1."""
        x = self.positions.embed(self.source_embedding(source, layout.source_cut), layout.source_position_ids)
        return self.encoder(self.dropout(x), layout.source_position_ids, layout.source_mask)

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"] | None,
        layout: Layout,
        caches: Sequence[LayerCache] = (),
    ) -> Float[Tensor, "batch target d_model"]:
        """Right side of figure 1: all target positions at once, or with `caches` those that are new."""
        x = self.positions.embed(self.target_embedding(target, layout.target_cut), layout.target_position_ids)
        return self.decoder(self.dropout(x), memory, layout, caches=caches)
