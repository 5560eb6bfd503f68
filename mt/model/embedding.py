"""Sections 3.4 and 3.5: embeddings and positional encoding."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mt.fast.dropout import Dropout


def positional_encoding(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) the cosine; pos counts from 0."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000.0 ** (even / d_model)
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : d_model // 2]
    return table.to(torch.get_default_dtype())


class TokenEmbedding(nn.Module):
    """Section 3.4: a vector per token, times √d_model going in; the same matrix turns vectors into logits.

    The paper gives the logits no bias; `output_bias` adds one per token, as models trained with Marian have.
    The matrix starts as N(0, d_model^-½), so that scaled embeddings have unit variance beside the
    positions and the first logits do too (Tensor2Tensor does so; the paper is silent).
    """

    def __init__(self, *, vocab_size: int, d_model: int, output_bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.bias = nn.Parameter(torch.empty(vocab_size)) if output_bias else None

    def forward(self, tokens: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """Look the tokens up and scale them."""
        return functional.embedding(tokens, self.weight) * math.sqrt(self.weight.shape[1])

    def logits(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows vocabulary"]:
        """The pre-softmax linear transformation; it has no scale."""
        return functional.linear(x, self.weight, self.bias)

    def as_product(
        self, x: Float[Tensor, "rows d_model"]
    ) -> tuple[Float[Tensor, "rows features"], Float[Tensor, "vocabulary features"]]:
        """Two matrices whose product x Wᵀ is the logits: a bias becomes one more feature, which is 1 in every row."""
        if self.bias is None:
            return x, self.weight
        return functional.pad(x, (0, 1), value=1.0), torch.cat([self.weight, self.bias.unsqueeze(1)], dim=1)

    def reset_parameters(self) -> None:
        """Normal with standard deviation d_model^-½; a bias of zero."""
        nn.init.normal_(self.weight, std=self.weight.shape[1] ** -0.5)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class PositionalEncoding(nn.Module):
    """Section 3.5: adds the position table, then dropout on the sum (section 5.4).

    The table is computed, not learned, and is no part of a checkpoint; it grows when a longer sentence comes.
    """

    table: Tensor

    def __init__(self, *, d_model: int, dropout: float, length: int = 512) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.register_buffer("table", positional_encoding(length, d_model), persistent=False)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        *,
        start: int = 0,
        places: Int[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Add the encodings of positions start, start + 1, …, or of those given as `places`, below the length."""
        end = start + x.shape[1]
        if end > self.table.shape[0]:
            self.table = positional_encoding(2 * end, x.shape[2]).to(self.table)
        return self.dropout(x + (self.table[start:end] if places is None else self.table[places]))
