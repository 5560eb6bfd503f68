"""The encoder of figure 1 alone, as in BERT (Devlin et al. 2019): every token sees all of its row, in both directions.

A row holds one text or two, the first of which ends in EOS. What is asked of the model is a position: of a hidden
token, to predict it, or the first position, which represents the whole row.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mt.model.embedding import TokenEmbedding
from mt.model.masks import Layout, padded
from mt.model.positions import Positions
from mt.model.stacks import Stack


class EncoderOnly(nn.Module):
    """A stack of encoder layers under a head; `Architecture` makes it for `family=encoder`.

    It takes what `Transformer` takes, so that batches, loss and trainer are the same: the source is the row, and the
    target holds the positions asked for, where the decoder's input would be. `target_embedding` embeds all tokens, and
    is the output embedding too where they are tied. As in BERT the embeddings are normalised after tokens, segments
    (the first text of a row, the second) and positions are summed. `head` is BERT's transform before the softmax over
    the vocabulary, or its pooler before that over classes.
    """

    def __init__(
        self,
        *,
        target_embedding: TokenEmbedding,
        segment_embedding: TokenEmbedding,
        output_embedding: TokenEmbedding,
        positions: Positions,
        norm: nn.Module,
        dropout: nn.Module,
        encoder: Stack,
        head: nn.Module,
        pad: int,
        eos: int,
    ) -> None:
        super().__init__()
        self.pad = pad
        self.eos = eos
        self.target_embedding = target_embedding
        self.segment_embedding = segment_embedding
        self.output_embedding = output_embedding
        self.positions = positions
        self.norm = norm
        self.dropout = dropout
        self.encoder = encoder
        self.head = head

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target classes"]:
        """Logits of the classes, or of the tokens, at the positions `target` of each row."""
        return self.output_embedding.logits(self.hidden(source, target))

    def hidden(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
        layout: Layout | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """The head's output at the positions `target`, counted from the beginning of the row, of one text or packed."""
        layout = padded(source, target, pad=self.pad) if layout is None else layout
        states = self.encode(source, layout)
        return self.head(states.gather(1, target.unsqueeze(2).expand(-1, -1, states.shape[2])))

    def encode(self, source: Int[Tensor, "batch source"], layout: Layout) -> Float[Tensor, "batch source d_model"]:
        """The last layer's output at every position."""
        x = self.target_embedding(source, layout.source_cut)
        x = x + self.segment_embedding(self._segments(source, layout))
        x = self.norm(self.positions.embed(x, layout.source_position_ids))
        return self.encoder(self.dropout(x), layout.source_position_ids, layout.source_mask)

    def _segments(self, source: Int[Tensor, "batch source"], layout: Layout) -> Int[Tensor, "batch source"]:
        """0 up to the first EOS of a row, or of each row packed into one, 1 behind it."""
        ends = source == self.eos
        ended = ends.cumsum(dim=1) - ends.long()
        before = torch.where(layout.source_position_ids == 0, ended, 0).cummax(dim=1).values  # those of other rows
        return (ended - before).clamp(max=1)
