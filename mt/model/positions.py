"""Section 3.5: positional encoding, and the points where a position scheme can act.

A scheme may act on the embeddings, on queries and keys, on the scores, or on the whole of an attention. Position ids
are always explicit, so padded rows, packed rows and step-by-step decoding use the same code. Schemes that act inside
self-attention are in `mt/model/attention_positions.py`.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mt.errors import UserError


class Positions(nn.Module):
    """A position scheme. This one does nothing: cross-attention uses it, as does a scheme that acts elsewhere."""

    def embed(
        self, x: Float[Tensor, "batch length d_model"], position_ids: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """The embeddings with their positions, whose ids are below the length of `x` or were reserved."""
        del position_ids
        return x

    def rotate(
        self, heads: Float[Tensor, "batch heads length d_k"], position_ids: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch heads length d_k"]:
        """Queries or keys with their positions."""
        del position_ids
        return heads

    def bias(
        self, query_position_ids: Int[Tensor, "#batch query"], memory_position_ids: Int[Tensor, "#batch memory"]
    ) -> Float[Tensor, "#batch #heads query memory"] | None:
        """What is added to the scores; None is nothing."""
        del query_position_ids, memory_position_ids
        return None

    def attend(
        self,
        attention: Callable[..., Tensor],
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads memory d_k"],
        value: Float[Tensor, "batch heads memory d_v"],
        mask: Bool[Tensor, "#batch 1 #query memory"] | None,
        *,
        query_position_ids: Int[Tensor, "#batch query"],
        memory_position_ids: Int[Tensor, "#batch memory"],
    ) -> Float[Tensor, "batch heads query d_v"]:
        """What each query gathers from the memory by `attention`."""
        bias = self.bias(query_position_ids, memory_position_ids)
        return attention(query, key, value, mask, None if bias is None else bias.to(query))

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
        self, x: Float[Tensor, "batch length d_model"], position_ids: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Add the encodings of the position ids."""
        return x + self.encodings(x.shape[1])[position_ids]

    def reserve(self, length: int) -> None:
        """Enlarge the table where it is shorter than `length`."""
        self.encodings(length)

    def encodings(self, length: int) -> Float[Tensor, "longer d_model"]:
        """The table, of at least this length."""
        table = self.table  # other threads may replace it too
        if length > table.shape[0]:
            self.table = table = positional_encoding(max(512, 2 * length), table.shape[1]).to(table)
        return table


class LearnedPositions(Positions):
    """Table 3, row E: adds a learned vector for each position, below `max_positions`, to the embeddings.

    One table serves source and target. Raises UserError for a longer sentence.
    """

    def __init__(self, *, d_model: int, max_positions: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_positions, d_model))

    def embed(
        self, x: Float[Tensor, "batch length d_model"], position_ids: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Add the vectors of the position ids."""
        if x.shape[1] > len(self.weight):  # a longer row may be a packed one, of sentences that are not too long
            self.reserve(int(position_ids.max()) + 1)
        return x + nn.functional.embedding(position_ids, self.weight)

    def reserve(self, length: int) -> None:
        """Raise UserError for a `length` that the table does not have."""
        if length > len(self.weight):
            raise UserError(
                f"model.max_positions: a sentence of {length:,} tokens is longer than the {len(self.weight):,} learned "
                "positions of the model; split it, or train with a larger number"
            )
