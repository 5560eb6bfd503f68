"""Section 3.2: attention."""

import math

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from mt.fast.fused_attention import fused_attention


def scaled_dot_product_attention(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads memory d_k"],
    value: Float[Tensor, "batch heads memory d_k"],
    mask: Bool[Tensor, "#batch #heads #query memory"],
) -> tuple[Float[Tensor, "batch heads query d_k"], Float[Tensor, "batch heads query memory"]]:
    """Equation (1), softmax(Q Kᵀ / √d_k) V, written out; returns the output and the weights.

    Training uses `fused_attention`, which computes the same output faster and keeps no weights; this form
    serves to read, to draw pictures and to check.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: Concat(head_1, …, head_h) W^O with head_i = Attention(Q W^Q_i, K W^K_i, V W^V_i).

    The heads' matrices W^Q, W^K and W^V lie below each other in `projection`, so that self-attention
    is one matrix product. Raises ValueError when the heads do not divide d_model.
    """

    def __init__(self, *, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}")
        self.d_model = d_model
        self.num_heads = num_heads
        self.projection = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch memory d_model"],
        mask: Bool[Tensor, "batch #query memory"],
    ) -> Float[Tensor, "batch query d_model"]:
        """Let each query position gather from the memory positions that its mask allows."""
        if query is memory:
            heads = [self._split(part) for part in self.projection(query).chunk(3, dim=-1)]
        else:
            heads = [self.project_query(query), *self.project_memory(memory)]
        return self.attend(*heads, mask=mask.unsqueeze(1))

    def project_query(self, query: Float[Tensor, "batch query d_model"]) -> Float[Tensor, "batch heads query d_k"]:
        """Q W^Q, one slice per head."""
        weight, bias = self.projection.weight, self.projection.bias
        return self._split(functional.linear(query, weight[: self.d_model], bias[: self.d_model]))

    def project_memory(
        self, memory: Float[Tensor, "batch memory d_model"]
    ) -> tuple[Float[Tensor, "batch heads memory d_k"], Float[Tensor, "batch heads memory d_k"]]:
        """K W^K and V W^V, one slice per head: what a decoder may keep instead of computing it again."""
        weight, bias = self.projection.weight, self.projection.bias
        key, value = functional.linear(memory, weight[self.d_model :], bias[self.d_model :]).chunk(2, dim=-1)
        return self._split(key), self._split(value)

    def attend(
        self,
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads memory d_k"],
        value: Float[Tensor, "batch heads memory d_k"],
        *,
        mask: Bool[Tensor, "#batch 1 #query memory"] | None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Equation (1) in every head by the fastest kernel, then W^O; no mask means all may be attended."""
        heads = fused_attention(query, key, value, mask)
        return self.output(heads.transpose(1, 2).flatten(2))

    def weights(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch memory d_model"],
        mask: Bool[Tensor, "batch #query memory"],
    ) -> Float[Tensor, "batch heads query memory"]:
        """How much each query position takes from each memory position, per head; each row sums to 1."""
        key, value = self.project_memory(memory)
        return scaled_dot_product_attention(self.project_query(query), key, value, mask.unsqueeze(1))[1]

    def reset_parameters(self) -> None:
        """Glorot-uniform for each of the four matrices on its own, zero biases."""
        for matrix in (*self.projection.weight.chunk(3), self.output.weight):
            nn.init.xavier_uniform_(matrix)
        nn.init.zeros_(self.projection.bias)
        nn.init.zeros_(self.output.bias)

    def _split(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch heads length d_k"]:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
