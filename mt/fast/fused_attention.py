"""Equation (1) by the fastest kernel for the device and the type; the same result as the formula in attention.py."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional


def fused_attention(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads memory d_k"],
    value: Float[Tensor, "batch heads memory d_v"],
    mask: Bool[Tensor, "#batch #heads #query memory"] | None,
    bias: Float[Tensor, "#batch #heads #query memory"] | None = None,
) -> Float[Tensor, "batch heads query d_v"]:
    """softmax(Q Kᵀ / √d_k) V; no mask means that all may be attended.

    Torch's kernel, except for bf16 on a CPU: there it blocks for long sequences and takes about seven times the
    time of two batched products and a softmax on sentences of 15 to 30 tokens. On a GPU masks exclude flash attention,
    and `choose_device` cuDNN's: the memory-efficient kernel runs. FlexAttention would not gain: its blocks are 128 by
    128, a packed row is one, so a block mask removes nothing, and for base the products of queries, keys and values are
    4 % of the arithmetic.
    """
    by_products = query.device.type == "cpu" and query.dtype == torch.bfloat16
    if mask is not None and (bias is not None or by_products):  # adding is faster than filling in, forward and backward
        bias, mask = torch.where(mask, query.new_zeros(()) if bias is None else bias, -math.inf), None
    if by_products:
        with torch.autocast("cpu", enabled=False):
            scores = (query * (1 / math.sqrt(query.shape[-1]))) @ key.transpose(-2, -1)
            return (scores if bias is None else scores + bias).softmax(dim=-1) @ value
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask if bias is None else bias)
