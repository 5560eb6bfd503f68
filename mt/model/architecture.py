"""What a model is made of: each option chooses a part here and nowhere else, and the defaults are the paper's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from mt.model.attention import Attention, MultiHeadAttention, attention
from mt.model.attention_positions import AlibiPositions, RelativePositions, RotaryPositions
from mt.model.decoder_only import AnyTransformer, DecoderOnly
from mt.model.embedding import TokenEmbedding
from mt.model.encoder_only import EncoderOnly
from mt.model.feed_forward import Activation, FeedForward, SwiGLU
from mt.model.initialisation import Initialisation, initialise
from mt.model.positions import LearnedPositions, Positions, SinusoidalPositions
from mt.model.residual import PostNorm, PreNorm
from mt.model.scores import AdditiveAttention, DotAttention, GeneralAttention
from mt.model.stacks import DecoderLayer, EncoderLayer, Stack
from mt.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The sizes and choices of a Transformer; `mt/config/schema.py` says what each of them means.

    With separate vocabularies (`source_vocab_size` is not None) the source has an embedding matrix of its own.
    An encoder alone predicts one of `num_classes`, or tokens where that is None; `eos` ends the first of two texts.
    `attention` and `make_dropout` may be faster forms of the same.
    """

    vocab_size: int
    pad: int
    num_layers: int
    d_model: int
    d_ff: int
    num_heads: int
    dropout: float
    family: Literal["encoder_decoder", "decoder", "encoder"] = "encoder_decoder"
    source_vocab_size: int | None = None
    num_classes: int | None = None
    eos: int = 3
    num_encoder_layers: int | None = None
    num_decoder_layers: int | None = None
    d_k: int | None = None
    d_v: int | None = None
    positions: Literal["sinusoidal", "learned", "relative", "rotary", "alibi", "none"] = "sinusoidal"
    max_positions: int = 2048
    max_relative_positions: int = 16
    norm: Literal["post", "pre"] = "post"
    norm_kind: Literal["layer", "rms"] = "layer"
    norm_epsilon: float = 1e-5
    activation: Activation | Literal["swiglu"] = "relu"
    score: Literal["scaled_dot", "dot", "general", "additive"] = "scaled_dot"
    tied_embeddings: Literal["all", "target", "none"] = "all"
    scale_embedding: bool = True
    output_bias: bool = False
    initialisation: Initialisation = "glorot"
    attention: Attention = attention
    make_dropout: Callable[[float], nn.Module] = nn.Dropout

    def transformer(self) -> AnyTransformer:
        """A new model with these parts."""
        if self.family == "encoder_decoder":
            model: AnyTransformer = self._encoder_decoder()
        else:
            model = self._decoder_only() if self.family == "decoder" else self._encoder_only()
        initialise(model, self.initialisation)
        return model

    def _encoder_decoder(self) -> Transformer:
        return Transformer(
            **self._around_the_stacks(),
            encoder=self._stack(self._encoder_layer, self.num_encoder_layers),
            decoder=self._stack(self._decoder_layer, self.num_decoder_layers),
        )

    def _decoder_only(self) -> DecoderOnly:
        return DecoderOnly(
            **self._around_the_stacks(), decoder=self._stack(self._encoder_layer, self.num_decoder_layers)
        )

    def _encoder_only(self) -> EncoderOnly:
        parts = self._around_the_stacks()
        del parts["source_embedding"]
        after = [nn.GELU(), self._norm()]
        if self.num_classes is not None:
            parts["output_embedding"], after = self._embedding(self.num_classes, output_bias=True), [nn.Tanh()]
        return EncoderOnly(
            **parts,
            segment_embedding=self._embedding(2),
            norm=self._norm(),
            encoder=self._stack(self._encoder_layer, self.num_encoder_layers),
            head=nn.Sequential(nn.Linear(self.d_model, self.d_model), *after),
            eos=self.eos,
        )

    def _around_the_stacks(self) -> dict[str, Any]:
        """Embeddings, positions and their dropout."""
        tied_output = self.tied_embeddings != "none" and self.num_classes is None
        target_embedding = self._embedding(self.vocab_size, output_bias=self.output_bias and tied_output)
        source_embedding = target_embedding
        if self.source_vocab_size is not None or self.tied_embeddings != "all":
            source_embedding = self._embedding(self.source_vocab_size or self.vocab_size)
        output_embedding = target_embedding
        if not tied_output:
            output_embedding = self._embedding(self.vocab_size, output_bias=self.output_bias)
        return {
            "source_embedding": source_embedding,
            "target_embedding": target_embedding,
            "output_embedding": output_embedding,
            "positions": self._embedding_positions(),
            "dropout": self.make_dropout(self.dropout),
            "pad": self.pad,
        }

    def _embedding(self, vocab_size: int, *, output_bias: bool = False) -> TokenEmbedding:
        return TokenEmbedding(
            vocab_size=vocab_size, d_model=self.d_model, output_bias=output_bias, scale=self.scale_embedding
        )

    def _stack(self, make_layer: Callable[[], nn.Module], num_layers: int | None) -> Stack:
        layers = [make_layer() for _ in range(self.num_layers if num_layers is None else num_layers)]
        return Stack(layers, norm=self._norm() if self.norm == "pre" else None)

    def _encoder_layer(self) -> EncoderLayer:
        return EncoderLayer(
            self_attention=self._multi_head_attention(self._attention_positions()),
            feed_forward=self._feed_forward(),
            make_residual=self._residual,
        )

    def _decoder_layer(self) -> DecoderLayer:
        return DecoderLayer(
            self_attention=self._multi_head_attention(self._attention_positions()),
            cross_attention=self._multi_head_attention(Positions()),
            feed_forward=self._feed_forward(),
            make_residual=self._residual,
        )

    def _embedding_positions(self) -> Positions:
        """What is added to the embeddings, of both sides."""
        if self.positions == "sinusoidal":
            return SinusoidalPositions(d_model=self.d_model)
        if self.positions == "learned":
            return LearnedPositions(d_model=self.d_model, max_positions=self.max_positions)
        return Positions()

    def _attention_positions(self) -> Positions:
        """What a self-attention knows of positions."""
        if self.positions == "relative":
            d_k, d_v = self._head_sizes()
            return RelativePositions(d_k=d_k, d_v=d_v, max_distance=self.max_relative_positions)
        if self.positions == "rotary":
            return RotaryPositions()
        if self.positions == "alibi":
            return AlibiPositions(num_heads=self.num_heads)
        return Positions()

    def _multi_head_attention(self, positions: Positions) -> MultiHeadAttention:
        return MultiHeadAttention(
            d_model=self.d_model,
            num_heads=self.num_heads,
            d_k=self.d_k,
            d_v=self.d_v,
            attention=self._attention(),
            positions=positions,
        )

    def _attention(self) -> Attention:
        """Equation (1), or the attention by another score."""
        d_k, _ = self._head_sizes()
        if self.score == "dot":
            return DotAttention(attention=self.attention)
        if self.score == "general":
            return GeneralAttention(num_heads=self.num_heads, d_k=d_k, attention=self.attention)
        if self.score == "additive":
            return AdditiveAttention(num_heads=self.num_heads, d_k=d_k)
        return self.attention

    def _head_sizes(self) -> tuple[int, int]:
        """d_k and d_v."""
        shared = self.d_model // self.num_heads
        return self.d_k or shared, self.d_v or shared

    def _feed_forward(self) -> nn.Module:
        if self.activation == "swiglu":
            return SwiGLU(d_model=self.d_model, d_ff=self.d_ff)
        return FeedForward(d_model=self.d_model, d_ff=self.d_ff, activation=self.activation)

    def _residual(self) -> nn.Module:
        make_residual = PreNorm if self.norm == "pre" else PostNorm
        return make_residual(norm=self._norm(), dropout=self.make_dropout(self.dropout))

    def _norm(self) -> nn.Module:
        """The paper gives no ε; the default is torch's and fairseq's. Tensor2Tensor, Marian and OpenNMT have 1e-6."""
        make_norm = nn.RMSNorm if self.norm_kind == "rms" else nn.LayerNorm
        return make_norm(self.d_model, eps=self.norm_epsilon)
