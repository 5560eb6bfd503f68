"""The layers of figure 1 with prepared weights, and attention for rows that share their keys."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mt.fast.engine.prepacked_linear import PrepackedLinear
from mt.fast.native.all_layers import LayerParts
from mt.fast.native.indexed_attention import CellAttention
from mt.fast.native.norm_of_sum import NormOfSum
from mt.fast.native.tiled_linear import Products, TiledLinear
from mt.model.attention import MultiHeadAttention
from mt.model.feed_forward import FeedForward
from mt.model.residual import PostNorm
from mt.model.stacks import DecoderLayer, EncoderLayer

FEW = 64  # positions, for which products of matrices are not yet worth while


def attend(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads memory d_k"],
    value: Float[Tensor, "batch heads memory d_k"],
    mask: Float[Tensor, "batch 1 #query memory"],
) -> Float[Tensor, "batch query d_model"]:
    """Equation (1) in every head, side by side; `mask` is 0 where it may be attended, else minus infinity."""
    heads = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return heads.transpose(1, 2).flatten(2)


class PreparedNorm:
    """LayerNorm of a residual sum; its gains and biases keep the model's precision."""

    def __init__(self, residual: nn.Module, *, precision: torch.dtype) -> None:
        assert isinstance(residual, PostNorm)
        norm = residual.norm
        self.shape, self.epsilon = norm.normalized_shape, norm.eps
        self.weight, self.bias = norm.weight.detach().clone(), norm.bias.detach().clone()
        self.of_sum = NormOfSum.of(self.weight, self.bias, self.epsilon, precision=precision)

    def __call__(
        self,
        residual: Float[Tensor, "batch length d_model"],
        linear: PrepackedLinear,
        x: Float[Tensor, "batch length inner"],
    ) -> Float[Tensor, "batch length d_model"]:
        """LayerNorm(residual + x Wᵀ + b)."""
        if self.of_sum is not None:
            return self.of_sum(residual, linear(x))
        return functional.layer_norm(linear.add_to(residual, x), self.shape, self.weight, self.bias, self.epsilon)


class PreparedFeedForward:
    """Equation (2) with its residual sum and norm."""

    def __init__(
        self, feed_forward: FeedForward, residual: nn.Module, *, precision: torch.dtype, products: Products | None
    ) -> None:
        self.inner = packed(feed_forward.inner, precision=precision, products=products)
        self.outer = packed(feed_forward.outer, precision=precision, products=products)
        self.norm = PreparedNorm(residual, precision=precision)
        self.activation = feed_forward.activation

    def __call__(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """LayerNorm(x + FFN(x))."""
        return self.norm(x, self.outer, self.inner.activated(x, self.activation))

    def parts(self) -> tuple[TiledLinear | None, TiledLinear | None, NormOfSum | None]:
        """The two products and the norm as kernels compute them, which know no activation but ReLU."""
        return self.inner.tiles if self.activation == "relu" else None, self.outer.tiles, self.norm.of_sum


class PreparedEncoderLayer:
    """One encoder layer."""

    def __init__(self, layer: EncoderLayer, *, precision: torch.dtype, products: Products | None) -> None:
        self.num_heads = layer.self_attention.num_heads
        self.projection = packed(layer.self_attention.projection, precision=precision, products=products)
        self.output = packed(layer.self_attention.output, precision=precision, products=products)
        self.norm = PreparedNorm(layer.self_attention_residual, precision=precision)
        self.feed_forward = PreparedFeedForward(
            layer.feed_forward, layer.feed_forward_residual, precision=precision, products=products
        )

    def __call__(
        self,
        x: Float[Tensor, "batch source d_model"],
        mask: Float[Tensor, "batch 1 1 source"],
        lengths: Int[Tensor, " batch"],
        cell_attention: CellAttention | None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Self-attention and feed-forward; the kernel, which takes `lengths` for the mask, is the faster for a few."""
        projected = self.projection(x)
        query, key, value = projected.unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        if cell_attention is not None and x.shape[1] <= FEW:
            attended = cell_attention(projected, key, value, lengths)
        else:
            attended = attend(query, key, value, mask)
        return self.feed_forward(self.norm(x, self.output, attended))

    def parts(self) -> LayerParts:
        """What kernels need to compute the layer in one call, as far as it can be had."""
        inner, outer, last = self.feed_forward.parts()
        return LayerParts([self.projection.tiles, self.output.tiles, inner, outer], [self.norm.of_sum, last])


class PreparedDecoderLayer:
    """One decoder layer, cut where the keys and values of the target and of the source come from a cache."""

    def __init__(self, layer: DecoderLayer, *, precision: torch.dtype, products: Products | None) -> None:
        attention = layer.cross_attention
        self.num_heads = attention.num_heads
        self.projection = packed(layer.self_attention.projection, precision=precision, products=products)
        self.output = packed(layer.self_attention.output, precision=precision, products=products)
        self.norm = PreparedNorm(layer.self_attention_residual, precision=precision)
        self.cross_query = packed(
            attention.projection, precision=precision, products=products, rows=slice(attention.d_model)
        )
        self.cross_output = packed(attention.output, precision=precision, products=products)
        self.cross_norm = PreparedNorm(layer.cross_attention_residual, precision=precision)
        self.feed_forward = PreparedFeedForward(
            layer.feed_forward, layer.feed_forward_residual, precision=precision, products=products
        )

    def parts(self) -> LayerParts:
        """What kernels need to compute the layer in one call, as far as it can be had."""
        linears = (self.projection, self.output, self.cross_query, self.cross_output)
        inner, outer, last = self.feed_forward.parts()
        return LayerParts(
            [*(linear.tiles for linear in linears), inner, outer], [self.norm.of_sum, self.cross_norm.of_sum, last]
        )


def cross_projection(
    layers: list[DecoderLayer], *, precision: torch.dtype, products: Products | None
) -> PrepackedLinear:
    """K W^K and V W^V of every decoder layer over the source, as one product."""
    attentions: list[MultiHeadAttention] = [layer.cross_attention for layer in layers]
    weights = [attention.projection.weight[attention.d_model :] for attention in attentions]
    biases = [attention.projection.bias[attention.d_model :] for attention in attentions]
    return PrepackedLinear(torch.cat(weights), torch.cat(biases), precision=precision, products=products)


def packed(
    linear: nn.Linear, *, precision: torch.dtype, products: Products | None, rows: slice = slice(None)
) -> PrepackedLinear:
    """A linear layer, or these rows of its matrix, in another precision."""
    weight, bias = (each.detach()[rows].clone() for each in (linear.weight, linear.bias))
    return PrepackedLinear(weight, bias, precision=precision, products=products)
