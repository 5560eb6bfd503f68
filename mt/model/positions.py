"""Section 3.5: positional encoding, and the three points where a position scheme can act.

A scheme may act on the embeddings, on queries and keys, or on the scores. Position ids are always
explicit, so padded rows, packed rows and step-by-step decoding use the same code.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Positions(nn.Module):
    """A position scheme. This one does nothing: cross-attention uses it, as does a scheme that acts elsewhere."""

    def embed(
        self, x: Float[Tensor, "batch length d_model"], ids: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """The embeddings with their positions; ids are below the length of `x` or were reserved."""
        del ids
        return x

    def rotate(
        self, heads: Float[Tensor, "batch heads length d_k"], ids: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch heads length d_k"]:
        """Queries or keys with their positions."""
        del ids
        return heads

    def bias(
        self, query_ids: Int[Tensor, "#batch query"], memory_ids: Int[Tensor, "#batch memory"]
    ) -> Float[Tensor, "#batch #heads query memory"] | None:
        """What is added to the scores; None is nothing."""
        del query_ids, memory_ids
        return None

    def reserve(self, length: int) -> None:
        """Be ready for position ids below `length`."""


def positional_encoding(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) the cosine; pos counts from 0."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000.0 ** (even / d_model)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return table[:, :d_model].to(torch.get_default_dtype())


class SinusoidalPositions(Positions):
    """Section 3.5: adds the table of sines and cosines to the embeddings.

    The table is computed, not learned, and is not part of a checkpoint; it begins empty and grows with the sentences.
    """

    table: Tensor

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", torch.empty(0, d_model, device="cpu"), persistent=False)

    def embed(
        self, x: Float[Tensor, "batch length d_model"], ids: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Add the encodings of the position ids."""
        return x + self.encodings(x.shape[1])[ids]

    def reserve(self, length: int) -> None:
        """Enlarge the table where it is shorter than `length`."""
        self.encodings(length)

    def encodings(self, length: int) -> Float[Tensor, "longer d_model"]:
        """The table, of at least this length."""
        table = self.table  # other threads may replace it too
        if length > table.shape[0]:
            self.table = table = positional_encoding(max(512, 2 * length), table.shape[1]).to(table)
        return table
