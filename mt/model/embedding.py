"""Section 3.4: embeddings and the pre-softmax linear transformation."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional


class TokenEmbedding(nn.Module):
    """Section 3.4: a vector per token, times √d_model going in; the same matrix turns vectors into logits.

    The paper gives the logits no bias; `output_bias` adds one per token, as models trained with Marian have. Without
    `scale` vectors go in as they are, as in GPT-2 and BERT.
    """

    def __init__(self, *, vocab_size: int, d_model: int, output_bias: bool = False, scale: bool = True) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model) if scale else 1.0
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.bias = nn.Parameter(torch.empty(vocab_size)) if output_bias else None

    def forward(
        self, tokens: Int[Tensor, "batch length"], cut: Bool[Tensor, "batch length"] | None = None
    ) -> Float[Tensor, "batch length d_model"]:
        """Look the tokens up and scale them; those of `cut` have zero (training/consistency.py)."""
        x = functional.embedding(tokens, self.weight) * self.scale
        return x if cut is None else x.masked_fill(cut.unsqueeze(2), 0.0)

    def logits(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows vocabulary"]:
        """The pre-softmax linear transformation; it has no scale."""
        return functional.linear(x, self.weight, self.bias)
