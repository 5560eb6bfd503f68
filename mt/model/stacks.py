"""Section 3.1: the encoder and decoder stacks."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from mt.fast.dropout import Dropout
from mt.model.attention import MultiHeadAttention
from mt.model.feed_forward import Activation, FeedForward


class AddAndNorm(nn.Module):
    """Sections 3.1 and 5.4: LayerNorm(x + Dropout(Sublayer(x))), the normalisation after the sum.

    The paper gives no ε for LayerNorm; torch's 1e-5 is kept (so do Marian and OpenNMT).
    """

    def __init__(self, *, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Add the sublayer's output to its input and normalise."""
        return self.norm(x + self.dropout(sublayer))


class EncoderLayer(nn.Module):
    """Left half of figure 1: self-attention, then the feed-forward network."""

    def __init__(
        self, *, d_model: int, d_ff: int, num_heads: int, dropout: float, activation: Activation = "relu"
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads)
        self.self_attention_norm = AddAndNorm(d_model=d_model, dropout=dropout)
        self.feed_forward = FeedForward(d_model=d_model, d_ff=d_ff, activation=activation)
        self.feed_forward_norm = AddAndNorm(d_model=d_model, dropout=dropout)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], mask: Bool[Tensor, "batch #source source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """One encoder layer."""
        x = self.self_attention_norm(x, self.self_attention(x, x, mask))
        return self.feed_forward_norm(x, self.feed_forward(x))


class DecoderLayer(nn.Module):
    """Right half of figure 1: masked self-attention, attention over the encoder's output, feed-forward."""

    def __init__(
        self, *, d_model: int, d_ff: int, num_heads: int, dropout: float, activation: Activation = "relu"
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads)
        self.self_attention_norm = AddAndNorm(d_model=d_model, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads)
        self.cross_attention_norm = AddAndNorm(d_model=d_model, dropout=dropout)
        self.feed_forward = FeedForward(d_model=d_model, d_ff=d_ff, activation=activation)
        self.feed_forward_norm = AddAndNorm(d_model=d_model, dropout=dropout)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "batch #target target"],
        memory_mask: Bool[Tensor, "batch #target source"],
    ) -> Float[Tensor, "batch target d_model"]:
        """One decoder layer."""
        x = self.self_attention_norm(x, self.self_attention(x, x, mask))
        x = self.cross_attention_norm(x, self.cross_attention(x, memory, memory_mask))
        return self.feed_forward_norm(x, self.feed_forward(x))
