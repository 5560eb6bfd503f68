"""Other scores than the scaled dot product of equation (1): Luong et al. 2015, and Bahdanau et al. 2015.

Each is an attention with the arguments of `mt.model.attention.attention`.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from mt.model.attention import Attention, softmax_of

_NUMBERS_AT_ONCE = 2**24  # in the sums q + k of an additive score: 64 MiB in fp32


class DotAttention(nn.Module):
    """Luong et al. 2015, *dot*: softmax(Q Kᵀ) V. `attention` computes equation (1), whose scale is undone."""

    def __init__(self, *, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def forward(
        self,
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads memory d_k"],
        value: Float[Tensor, "batch heads memory d_v"],
        mask: Bool[Tensor, "#batch #heads #query memory"] | None,
        bias: Float[Tensor, "#batch #heads #query memory"] | None = None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """As equation (1) without √d_k."""
        return self.attention(query * math.sqrt(query.shape[-1]), key, value, mask, bias)


class GeneralAttention(nn.Module):
    """Luong et al. 2015, *general*: softmax(Q W Kᵀ) V with a matrix W for each head."""

    def __init__(self, *, num_heads: int, d_k: int, attention: Attention) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_heads, d_k, d_k))
        self.attention = attention

    def forward(
        self,
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads memory d_k"],
        value: Float[Tensor, "batch heads memory d_v"],
        mask: Bool[Tensor, "#batch #heads #query memory"] | None,
        bias: Float[Tensor, "#batch #heads #query memory"] | None = None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """As equation (1) without √d_k, with Q W for Q."""
        return self.attention(query @ self.weight * math.sqrt(query.shape[-1]), key, value, mask, bias)


class AdditiveAttention(nn.Module):
    """Bahdanau et al. 2015: the score of a query q and a key k is vᵀ tanh(q + k), with a vector v for each head.

    Their matrices W_a and U_a are W^Q and W^K here. The sums q + k are formed for some queries at a time, and again
    for the gradient, so that memory grows with queries times keys only, as it does in equation (1).
    """

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_heads, d_k))

    def forward(
        self,
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads memory d_k"],
        value: Float[Tensor, "batch heads memory d_v"],
        mask: Bool[Tensor, "#batch #heads #query memory"] | None,
        bias: Float[Tensor, "#batch #heads #query memory"] | None = None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """The mean of the values with the softmax of these scores as weights."""
        scores = []
        for some in query.split(max(1, _NUMBERS_AT_ONCE // key.numel()), dim=2):
            if torch.is_grad_enabled():
                scores.append(checkpoint(self._scores, some, key, use_reentrant=False, preserve_rng_state=False))
            else:
                scores.append(self._scores(some, key))
        return softmax_of(torch.cat(scores, dim=2), mask, bias) @ value

    def _scores(
        self, query: Float[Tensor, "batch heads some d_k"], key: Float[Tensor, "batch heads memory d_k"]
    ) -> Float[Tensor, "batch heads some memory"]:
        sums = query.unsqueeze(3) + key.unsqueeze(2)
        return torch.einsum("bhqmk,hk->bhqm", sums.tanh(), self.weight)
