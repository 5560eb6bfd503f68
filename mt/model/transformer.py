"""Figure 1: the whole model. Its parts are assembled here and nowhere else."""

from collections.abc import Callable, Sequence
from functools import partial

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mt.model.attention import Attention, MultiHeadAttention, attention
from mt.model.embedding import TokenEmbedding
from mt.model.feed_forward import Activation, FeedForward
from mt.model.initialisation import Initialisation, initialise
from mt.model.masks import Layout, padded
from mt.model.positions import Positions, SinusoidalPositions
from mt.model.residual import PostNorm
from mt.model.stacks import DecoderLayer, EncoderLayer, LayerCache, Stack

# The tokens of each side whose embeddings are zero in training (`mt/training/consistency.py`); None: no token.
SourceCut = Bool[Tensor, "batch source"] | None
TargetCut = Bool[Tensor, "batch target"] | None
Cuts = tuple[SourceCut, TargetCut]


class Transformer(nn.Module):
    """The encoder-decoder of figure 1; `make_transformer` makes the paper's.

    Where source and target share a vocabulary, `source_embedding` and `target_embedding` are one module, and one
    matrix serves source, target and output (section 3.4). Dropout falls on embeddings plus positions (section 5.4).
    """

    def __init__(
        self,
        *,
        source_embedding: TokenEmbedding,
        target_embedding: TokenEmbedding,
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
        self.positions = positions
        self.dropout = dropout
        self.encoder = encoder
        self.decoder = decoder

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """Logits of the token after each target position; `target` is the decoder's input, beginning with BOS."""
        return self.target_embedding.logits(self.hidden(source, target))

    def hidden(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
        layout: Layout | None = None,
        cuts: Cuts = (None, None),
    ) -> Float[Tensor, "batch target d_model"]:
        """The decoder's output before the last linear transformation; without a `layout`, a row is a sentence."""
        layout = padded(source, target, pad=self.pad) if layout is None else layout
        return self.decode(target, self.encode(source, layout, cuts[0]), layout, cut=cuts[1])

    def encode(
        self, source: Int[Tensor, "batch source"], layout: Layout, cut: SourceCut = None
    ) -> Float[Tensor, "batch source d_model"]:
        """Left side of figure 1."""
        return self.encoder(self._embed(self.source_embedding(source), cut, layout.source_ids), layout)

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"] | None,
        layout: Layout,
        caches: Sequence[LayerCache] = (),
        cut: TargetCut = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Right side of figure 1: all target positions at once, or with `caches` those that are new."""
        x = self._embed(self.target_embedding(target), cut, layout.target_ids)
        return self.decoder(x, memory, layout, caches=caches)

    def _embed(
        self,
        x: Float[Tensor, "batch length d_model"],
        cut: Bool[Tensor, "batch length"] | None,
        ids: Int[Tensor, "#batch length"],
    ) -> Float[Tensor, "batch length d_model"]:
        x = x if cut is None else x.masked_fill(cut.unsqueeze(2), 0.0)
        return self.dropout(self.positions.embed(x, ids))


def make_transformer(
    *,
    vocab_size: int,
    num_layers: int,
    d_model: int,
    d_ff: int,
    num_heads: int,
    dropout: float,
    pad: int,
    source_vocab_size: int | None = None,
    initialisation: Initialisation = "glorot",
    activation: Activation = "relu",
    output_bias: bool = False,
    attention: Attention = attention,
    make_dropout: Callable[[float], nn.Module] = nn.Dropout,
) -> Transformer:
    """A new Transformer of the paper, its parts visible here; the last two arguments may be faster forms of the same.

    With separate vocabularies (`source_vocab_size` is not None) the source has an embedding matrix of its own and
    the other two stay tied.
    """
    multi_head_attention = partial(MultiHeadAttention, d_model=d_model, num_heads=num_heads, attention=attention)
    feed_forward = partial(FeedForward, d_model=d_model, d_ff=d_ff, activation=activation)

    def residual() -> PostNorm:
        return PostNorm(d_model=d_model, dropout=make_dropout(dropout))

    def encoder_layer() -> EncoderLayer:
        return EncoderLayer(self_attention=multi_head_attention(), feed_forward=feed_forward(), residual=residual)

    def decoder_layer() -> DecoderLayer:
        return DecoderLayer(
            self_attention=multi_head_attention(),
            cross_attention=multi_head_attention(),
            feed_forward=feed_forward(),
            residual=residual,
        )

    target_embedding = TokenEmbedding(vocab_size=vocab_size, d_model=d_model, output_bias=output_bias)
    source_embedding = target_embedding
    if source_vocab_size is not None:
        source_embedding = TokenEmbedding(vocab_size=source_vocab_size, d_model=d_model)
    model = Transformer(
        source_embedding=source_embedding,
        target_embedding=target_embedding,
        positions=SinusoidalPositions(d_model=d_model),
        dropout=make_dropout(dropout),
        encoder=Stack([encoder_layer() for _ in range(num_layers)]),
        decoder=Stack([decoder_layer() for _ in range(num_layers)]),
        pad=pad,
    )
    initialise(model, initialisation)
    return model
