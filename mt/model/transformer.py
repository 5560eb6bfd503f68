"""Figure 1: the whole model."""

import functools
from typing import Any, Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mt.model.attention import MultiHeadAttention
from mt.model.embedding import PositionalEncoding, TokenEmbedding
from mt.model.feed_forward import Activation, FeedForward
from mt.model.masks import padding_mask, target_mask
from mt.model.stacks import DecoderLayer, EncoderLayer

Initialisation = Literal["glorot", "fan_in"]


class Transformer(nn.Module):
    """The encoder-decoder of figure 1.

    One embedding matrix serves source, target and output (section 3.4). With separate vocabularies
    (`source_vocab_size` differs from None) the source has a matrix of its own and the other two stay tied.
    """

    def __init__(
        self,
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
    ) -> None:
        super().__init__()
        self.pad = pad
        self.target_embedding = TokenEmbedding(vocab_size=vocab_size, d_model=d_model, output_bias=output_bias)
        if source_vocab_size is None:
            self.source_embedding = self.target_embedding
        else:
            self.source_embedding = TokenEmbedding(vocab_size=source_vocab_size, d_model=d_model)
        self.positions = PositionalEncoding(d_model=d_model, dropout=dropout)
        sizes: dict[str, Any] = {"d_model": d_model, "d_ff": d_ff, "num_heads": num_heads, "dropout": dropout}
        encoder = functools.partial(EncoderLayer, **sizes, activation=activation)
        decoder = functools.partial(DecoderLayer, **sizes, activation=activation)
        self.encoder = nn.ModuleList(encoder() for _ in range(num_layers))
        self.decoder = nn.ModuleList(decoder() for _ in range(num_layers))
        self.reset_parameters(initialisation)

    def reset_parameters(self, initialisation: Initialisation) -> None:
        """Draw new parameters: embeddings N(0, d_model^-½); the matrices of the layers by `initialisation`.

        `glorot` is Glorot-uniform with zero biases, as in Tensor2Tensor. `fan_in` is torch's own for nn.Linear, all
        values uniform within ±1/√fan_in: smaller, so that the residual paths rule at first, which lets narrow
        post-norm models learn much sooner (docs/failed_experiments.md has the comparison). The paper is silent.
        """
        kinds = (TokenEmbedding, MultiHeadAttention, FeedForward)
        for module in self.modules():
            if isinstance(module, (*kinds, nn.Linear) if initialisation == "fan_in" else kinds):
                module.reset_parameters()

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """Logits of the token after each target position; `target` is the decoder's input, beginning with BOS."""
        return self.target_embedding.logits(self.hidden(source, target))

    def hidden(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target d_model"]:
        """The decoder's output before the last linear transformation."""
        source_mask = padding_mask(source, pad=self.pad)
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, target_mask(target, pad=self.pad), source_mask)

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        mask: Bool[Tensor, "batch #source source"],
        *,
        places: Int[Tensor, "batch source"] | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Left side of figure 1; `places` are the positions of tokens in rows that hold several sentences."""
        x = self.positions(self.source_embedding(source), places=places)
        for layer in self.encoder_layers():
            x = layer(x, mask)
        return x

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "batch #target target"],
        memory_mask: Bool[Tensor, "batch #target source"],
        *,
        places: Int[Tensor, "batch target"] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Right side of figure 1, all target positions at once; `places` as in `encode`."""
        x = self.positions(self.target_embedding(target), places=places)
        for layer in self.decoder_layers():
            x = layer(x, memory, mask, memory_mask)
        return x

    def encoder_layers(self) -> list[EncoderLayer]:
        """The N layers of the encoder, bottom first."""
        return [layer for layer in self.encoder if isinstance(layer, EncoderLayer)]

    def decoder_layers(self) -> list[DecoderLayer]:
        """The N layers of the decoder, bottom first."""
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]
