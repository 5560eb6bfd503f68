"""Position schemes that act inside self-attention, of the encoder and of the decoder; cross-attention has none.

All of them depend on differences of position ids alone.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mt.model.attention import attention_weights
from mt.model.positions import Positions


class RotaryPositions(Positions):
    """Su et al. 2021: turns pairs of features of queries and keys by an angle proportional to the position id.

    A score then depends on the distance of its two positions. Pairs are (i, i + d_k / 2), as in Llama.
    """

    def rotate(
        self, heads: Float[Tensor, "batch heads length d_k"], position_ids: Int[Tensor, "#batch length"]
    ) -> Float[Tensor, "batch heads length d_k"]:
        """Queries or keys with their positions; angles are at least in fp32. d_k is even."""
        wide = torch.promote_types(heads.dtype, torch.float32)
        half = heads.shape[-1] // 2
        frequency = 10000.0 ** (-torch.arange(half, device=heads.device, dtype=wide) / half)
        angle = position_ids[:, None, :, None] * frequency
        cos, sin = angle.cos().to(heads), angle.sin().to(heads)
        first, second = heads.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class AlibiPositions(Positions):
    """Press et al. 2022, "attention with linear biases": each head lowers a score by slope · distance.

    The distance has no sign, so that the encoder's heads look to both sides alike; the decoder's mask hides one side.
    """

    def __init__(self, *, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads

    def bias(
        self, query_position_ids: Int[Tensor, "#batch query"], memory_position_ids: Int[Tensor, "#batch memory"]
    ) -> Float[Tensor, "#batch heads query memory"]:
        """What is added to the scores: 0 at a token itself, less the further away."""
        distance = (query_position_ids.unsqueeze(2) - memory_position_ids.unsqueeze(1)).abs()
        return -alibi_slopes(self.num_heads, distance.device)[:, None, None] * distance.unsqueeze(1)


def alibi_slopes(num_heads: int, device: torch.device | None = None) -> Float[Tensor, " heads"]:
    """2^(-8i/h) for i = 1 … h where h is a power of two; else those of the next lower one, and every other of twice it.

    So does the authors' code.
    """
    lower = 2 ** int(math.log2(num_heads))
    head = torch.arange(1, num_heads + 1, device=device)
    exponent = torch.where(head <= lower, 8 * head / lower, 4 * (2 * (head - lower) - 1) / lower)
    return torch.exp2(-exponent)


class RelativePositions(Positions):
    """Shaw et al. 2018: a learned vector for each distance, clipped, is added to the keys, another to the values.

    Their equations (3) and (4), with the vectors of a layer shared by its heads. The score of equation (1) takes the
    product of query and vector once per distance, not per pair of positions; no tensor is as large as keys times
    queries.
    """

    def __init__(self, *, d_k: int, d_v: int, max_distance: int) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.weights: Callable[..., Tensor] = attention_weights
        self.keys = nn.Parameter(torch.empty(2 * max_distance + 1, d_k))
        self.values = nn.Parameter(torch.empty(2 * max_distance + 1, d_v))

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
        """What each query gathers; instead of `attention`, `weights` is called."""
        del attention
        distance = memory_position_ids.unsqueeze(1) - query_position_ids.unsqueeze(2)
        clipped = distance.clamp(-self.max_distance, self.max_distance) + self.max_distance
        of_pairs = clipped.unsqueeze(1).expand(*query.shape[:3], key.shape[2])
        of_keys = query @ self.keys.T / math.sqrt(query.shape[-1])
        weights = self.weights(query, key, mask, of_keys.gather(-1, of_pairs))
        of_distances = weights.new_zeros(*query.shape[:3], len(self.values)).scatter_add(-1, of_pairs, weights)
        return weights @ value + of_distances @ self.values
