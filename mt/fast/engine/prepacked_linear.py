"""Linear layers with their weights laid out once, as the processor's matrix kernels want them."""

import functools
import platform
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from mt.fast.native.tiled_linear import Products, TiledLinear
from mt.model.feed_forward import Activation

Library = Literal["mkl", "onednn", "torch", "tiles"]


class PrepackedLinear:
    """x Wᵀ + b, alone or with what follows it: the residual sum or the activation.

    On a CPU the weights are reordered into the blocks of its library when the layer is made, which saves doing so in
    every call: MKL's for fp32 on Intel's processors, where it was the faster for the few rows of a single sentence,
    and oneDNN's for bf16 and on others, where MKL was the slower. Elsewhere torch's own kernels are called. What a row
    becomes does not depend on the number of rows (with MKL that holds for matrices of more than 64 x 64; below, a
    single row may differ in its last bit). Where `TiledLinear` can be had it comes first, with the `products` that keep
    the layer's `precision` or others, and results in a precision of their own, `out`.
    """

    def __init__(
        self,
        weight: Float[Tensor, "out_features in_features"],
        bias: Float[Tensor, " out_features"] | None,
        *,
        precision: torch.dtype | None = None,
        library: Library | None = None,
        products: Products | None = None,
        out: torch.dtype | None = None,
    ) -> None:
        precision = precision or weight.dtype
        products = products or _PRODUCTS.get(precision)
        self.tiles = None
        if library is None and products is not None:
            self.tiles = TiledLinear.of(weight, bias, products=products, out=out or precision)
        weight, bias = weight.to(precision), None if bias is None else bias.to(precision)
        self.library = "tiles" if self.tiles else library or _library(weight)
        self.bias = bias
        self.weight = weight if self.tiles is None else self.tiles.weight
        self.shape: Float[Tensor, "out_features in_features"] | None = None
        if self.library == "mkl":
            self.weight = torch.ops.mkl._mkl_reorder_linear_weight(weight, _TYPICAL_ROWS)
            self.shape = weight.new_empty(1).expand(weight.shape)  # takes no memory: only its sizes are read
        elif self.library == "onednn":
            self.weight = torch.ops.mkldnn._reorder_linear_weight(weight, None)

    def __call__(self, x: Float[Tensor, "*rows in_features"]) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias."""
        if self.tiles is not None:
            return self.tiles(x)
        if self.library == "mkl":
            return _mkl_linear(x, self.weight, self.shape, self.bias, x.numel() // x.shape[-1])
        if self.library == "onednn":
            return _onednn_linear(x, self.weight, self.bias, "none", [], "")
        return functional.linear(x, self.weight, self.bias)

    def activated(
        self, x: Float[Tensor, "*rows in_features"], activation: Activation
    ) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias, cut off below zero or times their sigmoid."""
        if self.tiles is not None and activation == "relu":
            return self.tiles(x, relu=True)
        if self.library == "onednn":
            return _onednn_linear(x, self.weight, self.bias, activation, [], "")
        wide = self(x)
        return wide.relu_() if activation == "relu" else functional.silu(wide, inplace=True)

    def add_to(
        self, residual: Float[Tensor, "*rows out_features"], x: Float[Tensor, "*rows in_features"]
    ) -> Float[Tensor, "*rows out_features"]:
        """The residual plus x Wᵀ + b."""
        if self.library == "onednn":
            return _onednn_linear_binary(x, residual, self.weight, self.bias, "add")
        return self(x).add_(residual)


_PRODUCTS: dict[torch.dtype, Products] = {torch.float32: "int8x8", torch.bfloat16: "bf16"}
_TYPICAL_ROWS = 128  # MKL lays the weights out for so many; more and fewer are computed alike
_mkl_linear: Any = torch.ops.mkl._mkl_linear.default if torch.backends.mkl.is_available() else None
_onednn_linear: Any = torch.ops.mkldnn._linear_pointwise.default if torch.backends.mkldnn.is_available() else None
_onednn_linear_binary: Any = torch.ops.mkldnn._linear_pointwise.binary if torch.backends.mkldnn.is_available() else None


def _library(weight: Tensor) -> Library:
    """Which library has a kernel for these weights here, if any."""
    if weight.device.type != "cpu" or weight.dtype not in (torch.float32, torch.bfloat16):
        return "torch"
    if weight.dtype == torch.float32 and torch.backends.mkl.is_available() and _on_intel():
        return "mkl"
    return "onednn" if torch.backends.mkldnn.is_available() else "torch"


@functools.cache
def _on_intel() -> bool:
    processors = Path("/proc/cpuinfo")
    if processors.exists():
        return "GenuineIntel" in processors.read_text(encoding="utf-8")
    return "Intel" in platform.processor()
