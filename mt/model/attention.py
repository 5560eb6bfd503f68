"""Section 3.2: attention, and the KV cache, with which a decoder computes each key and value once."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mt.model.positions import Positions

Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None, Tensor | None], Tensor]
Entries = tuple[Float[Tensor, "rows heads all d_k"], Float[Tensor, "rows heads all d_v"], Int[Tensor, "rows all"]]


def attention_weights(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads memory d_k"],
    mask: Bool[Tensor, "#batch #heads #query memory"] | None,
    bias: Float[Tensor, "#batch #heads #query memory"] | None = None,
) -> Float[Tensor, "batch heads query memory"]:
    """The softmax of equation (1): each row sums to 1. No mask means that all may be attended."""
    return softmax_of(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), mask, bias)


def softmax_of(
    scores: Float[Tensor, "batch heads query memory"],
    mask: Bool[Tensor, "#batch #heads #query memory"] | None,
    bias: Float[Tensor, "#batch #heads #query memory"] | None = None,
) -> Float[Tensor, "batch heads query memory"]:
    """The weights that scores give, with a bias added, where the mask allows it."""
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


def attention(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads memory d_k"],
    value: Float[Tensor, "batch heads memory d_v"],
    mask: Bool[Tensor, "#batch #heads #query memory"] | None,
    bias: Float[Tensor, "#batch #heads #query memory"] | None = None,
) -> Float[Tensor, "batch heads query d_v"]:
    """Equation (1): Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V."""
    return attention_weights(query, key, mask, bias) @ value


class KeyValueCache:
    """The keys, values and position ids of one attention so far. This is the plain form: it grows by copying."""

    def __init__(self) -> None:
        self.entries: Entries | None = None

    def append(
        self,
        key: Float[Tensor, "rows heads new d_k"],
        value: Float[Tensor, "rows heads new d_v"],
        position_ids: Int[Tensor, "#rows new"],
    ) -> Entries:
        """Add entries and return all of them."""
        position_ids = position_ids.expand(len(key), -1)
        if self.entries is not None:
            keys, values, all_position_ids = self.entries
            key, value, position_ids = (
                torch.cat([keys, key], 2),
                torch.cat([values, value], 2),
                torch.cat([all_position_ids, position_ids], 1),
            )
        self.entries = key, value, position_ids
        return self.entries

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i what row `rows[i]` was, once there are entries."""
        assert self.entries is not None
        keys, values, position_ids = self.entries
        self.entries = keys.index_select(0, rows), values.index_select(0, rows), position_ids.index_select(0, rows)


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: Concat(head_1, …, head_h) W^O with head_i = Attention(Q W^Q_i, K W^K_i, V W^V_i).

    The heads' matrices W^Q, W^K and W^V are stacked in `projection`, so that self-attention is one matrix product.
    `attention` computes equation (1), the same faster, or another score; `positions` may act on queries, keys, scores
    or values. d_k and d_v are d_model / h unless they are given. Raises ValueError when h does not divide d_model then.
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        attention: Attention = attention,
        positions: Positions | None = None,
    ) -> None:
        super().__init__()
        if d_model % num_heads and None in (d_k, d_v):
            raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}")
        d_k, d_v = d_k or d_model // num_heads, d_v or d_model // num_heads
        self.d_model = d_model
        self.num_heads = num_heads
        self.widths = [num_heads * d_k, num_heads * d_k, num_heads * d_v]  # of Q, K and V, all heads together
        self.attention = attention
        self.positions = positions or Positions()
        self.projection = nn.Linear(d_model, sum(self.widths))
        self.output = nn.Linear(num_heads * d_v, d_model)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch memory d_model"] | None,
        mask: Bool[Tensor, "batch #query all_memory"] | None,
        query_position_ids: Int[Tensor, "#batch query"],
        memory_position_ids: Int[Tensor, "#batch memory"],
        *,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Let each query position gather from the memory positions that its mask allows.

        With a `cache`, the keys and values of `memory` are appended to it and all its entries are attended to; without
        memory, those that it already has.
        """
        if memory is None:
            assert cache is not None
            assert cache.entries is not None
            [queries], (keys, values, memory_position_ids) = self._project(query, None), cache.entries
        else:
            queries, keys, values = self._project(query, memory)
            keys = self.positions.rotate(keys, memory_position_ids)
            if cache is not None:
                keys, values, memory_position_ids = cache.append(keys, values, memory_position_ids)
        queries = self.positions.rotate(queries, query_position_ids)
        mask = None if mask is None else mask.unsqueeze(1)
        position_ids = {"query_position_ids": query_position_ids, "memory_position_ids": memory_position_ids}
        heads = self.positions.attend(self.attention, queries, keys, values, mask, **position_ids)
        return self.output(heads.transpose(1, 2).flatten(2))

    def _project(
        self, query: Float[Tensor, "batch query d_model"], memory: Float[Tensor, "batch memory d_model"] | None
    ) -> list[Float[Tensor, "batch heads _ _"]]:
        """Q W^Q, and of a memory K W^K and V W^V, one slice per head."""
        if query is memory:  # self-attention: one product
            projected = [*self.projection(query).split(self.widths, dim=-1)]
        else:
            weight, bias, width = self.projection.weight, self.projection.bias, self.widths[0]
            projected = [functional.linear(query, weight[:width], bias[:width])]
            if memory is not None:
                projected += functional.linear(memory, weight[width:], bias[width:]).split(self.widths[1:], dim=-1)
        return [x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in projected]
