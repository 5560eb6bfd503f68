"""The layers of figure 1 with prepacked weights, and attention for rows that share their keys."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mt.fast.engine.prepacked_linear import PrepackedLinear
from mt.fast.native.layers import IndexedAttention, LayerKernels, NormOfSum
from mt.fast.native.tiled_linear import ComputeType, TiledLinear
from mt.model.feed_forward import FeedForward
from mt.model.residual import PostNorm
from mt.model.stacks import DecoderLayer, EncoderLayer

FEW = 64  # positions, for which matrix products are not yet faster than the kernel


def attend(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads memory d_k"],
    value: Float[Tensor, "batch heads memory d_k"],
    mask: Float[Tensor, "batch 1 #query memory"],
) -> Float[Tensor, "batch query d_model"]:
    """Equation (1) in every head, side by side; `mask` is 0 where it may be attended, else minus infinity."""
    heads = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return heads.transpose(1, 2).flatten(2)


class Prepacking:
    """How a model's layers are prepared: in which precision, and with which products (see `PrepackedLinear`)."""

    def __init__(self, precision: torch.dtype, compute_type: ComputeType | None) -> None:
        self.precision, self.compute_type = precision, compute_type

    def __call__(self, *linears: nn.Linear, rows: slice = slice(None)) -> PrepackedLinear:
        """A linear layer, or several as one, or these rows of their matrices."""
        weight, bias = (
            torch.cat([each.detach()[rows] for each in parameters])
            for parameters in zip(*((linear.weight, linear.bias) for linear in linears), strict=True)
        )
        return PrepackedLinear(weight, bias, precision=self.precision, compute_type=self.compute_type)


class PreparedNorm:
    """LayerNorm of a residual sum: by a kernel with fp32 gains, else by torch with gains in the model's precision."""

    def __init__(self, residual: nn.Module, prepack: Prepacking) -> None:
        assert isinstance(residual, PostNorm)
        norm = residual.norm
        self.shape, self.epsilon = norm.normalized_shape, norm.eps
        weight, bias = norm.weight.detach().clone(), norm.bias.detach().clone()
        self.of_sum = NormOfSum.of(weight, bias, self.epsilon, rows=prepack.precision)
        self.weight, self.bias = weight.to(prepack.precision), bias.to(prepack.precision)  # CUDA takes no other type

    def __call__(
        self, residual: Float[Tensor, "batch length d_model"], y: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """LayerNorm(residual + y), which may overwrite `y`."""
        if self.of_sum is not None:
            return self.of_sum(residual, y)
        return functional.layer_norm(y.add_(residual), self.shape, self.weight, self.bias, self.epsilon)


class PreparedFeedForward:
    """Equation (2) with its residual sum and norm."""

    def __init__(self, feed_forward: FeedForward, residual: nn.Module, prepack: Prepacking) -> None:
        self.inner, self.outer = prepack(feed_forward.inner), prepack(feed_forward.outer)
        self.norm = PreparedNorm(residual, prepack)
        self.activation = feed_forward.activation

    def __call__(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """LayerNorm(x + FFN(x))."""
        return self.norm(x, self.outer(self.inner.activated(x, self.activation)))

    def kernels(self) -> tuple[TiledLinear | None, TiledLinear | None, NormOfSum | None]:
        """Those of the two products and the norm; they have no activation but ReLU."""
        return self.inner.tiles if self.activation == "relu" else None, self.outer.tiles, self.norm.of_sum


class PreparedEncoderLayer:
    """One encoder layer."""

    def __init__(self, layer: EncoderLayer, prepack: Prepacking) -> None:
        self.num_heads = layer.self_attention.num_heads
        self.projection = prepack(layer.self_attention.projection)
        self.output = prepack(layer.self_attention.output)
        self.norm = PreparedNorm(layer.self_attention_residual, prepack)
        self.feed_forward = PreparedFeedForward(layer.feed_forward, layer.feed_forward_residual, prepack)

    def __call__(
        self,
        x: Float[Tensor, "batch source d_model"],
        mask: Float[Tensor, "batch 1 1 source"],
        lengths: Int[Tensor, " batch"],
        indexed_attention: IndexedAttention | None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Self-attention and feed-forward; the kernel, which takes `lengths` for the mask, is faster for a few."""
        projected = self.projection(x)
        query, key, value = projected.unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        if indexed_attention is not None and x.shape[1] <= FEW:
            attended = indexed_attention(projected, key, value, lengths)
        else:
            attended = attend(query, key, value, mask)
        return self.feed_forward(self.norm(x, self.output(attended)))

    def kernels(self) -> LayerKernels:
        """Those of the layer's parts, from which it can be computed in one call."""
        inner, outer, last = self.feed_forward.kernels()
        return self.projection.tiles, self.output.tiles, inner, outer, self.norm.of_sum, last


class PreparedDecoderLayer:
    """One decoder layer, cut where the keys and values of the target and of the source come from a cache."""

    def __init__(self, layer: DecoderLayer, prepack: Prepacking) -> None:
        attention = layer.cross_attention
        self.projection = prepack(layer.self_attention.projection)
        self.output = prepack(layer.self_attention.output)
        self.norm = PreparedNorm(layer.self_attention_residual, prepack)
        self.cross_query = prepack(attention.projection, rows=slice(attention.d_model))
        self.cross_output = prepack(attention.output)
        self.cross_norm = PreparedNorm(layer.cross_attention_residual, prepack)
        self.feed_forward = PreparedFeedForward(layer.feed_forward, layer.feed_forward_residual, prepack)

    def kernels(self) -> LayerKernels:
        """Those of the layer's parts, from which it can be computed in one call."""
        linears = (self.projection, self.output, self.cross_query, self.cross_output)
        inner, outer, last = self.feed_forward.kernels()
        return *(linear.tiles for linear in linears), inner, outer, self.norm.of_sum, self.cross_norm.of_sum, last
