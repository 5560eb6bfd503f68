"""Linear layers with prepacked weights: laid out once, as the processor's matrix kernels read them."""

import functools
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from mt.fast.native.tiled_linear import ComputeType, TiledLinear, fits_tiles
from mt.model.feed_forward import Activation

Library = Literal["onednn", "torch", "tiles"]

_COMPUTE_TYPES: dict[torch.dtype, tuple[ComputeType, ...]] = {
    torch.float32: ("int8x8", "fp32"),
    torch.bfloat16: ("bf16",),
}
_PROBED_SHAPES = ((48, 32), (65, 64), (96, 128), (256, 512))
_PROBED_COUNTS = [2, 3, 5, 7, 8, 16, 20, 33]
_onednn_linear: Any = torch.ops.mkldnn._linear_pointwise.default if torch.backends.mkldnn.is_available() else None


class PrepackedLinear:
    """x Wᵀ + b, alone or with the activation that follows it.

    On a CPU `TiledLinear` computes it where it is available, with the `compute_type` that keeps the layer's `precision`
    or another; else oneDNN, if its rows do not depend on their number, which a probe decides once per process; if a
    single row is the one exception, two rows are computed instead. Elsewhere torch's own kernels are called.

    Results are of the type `out`, by default the layer's `precision`. Where torch has no bf16 kernel with such results,
    the weights of a bf16 layer are fp32.
    """

    def __init__(
        self,
        weight: Float[Tensor, "out_features in_features"],
        bias: Float[Tensor, " out_features"] | None,
        *,
        precision: torch.dtype | None = None,
        library: Library | None = None,
        compute_type: ComputeType | None = None,
        out: torch.dtype | None = None,
    ) -> None:
        precision = precision or weight.dtype
        self.out = out or precision
        compute_types = (compute_type,) if compute_type else _COMPUTE_TYPES.get(precision, ())
        self.in_features, self.tiles = weight.shape[1], None
        for each in compute_types if library is None else ():
            if fits_tiles(weight, compute_type=each, out=self.out):
                self.tiles = TiledLinear(weight, bias, compute_type=each, out=self.out)
        on_cpu = weight.device.type == "cpu"
        widened = precision == torch.bfloat16 and (self.out != torch.bfloat16 or (on_cpu and not _has_bf16()))
        self.precision = torch.float32 if widened else precision
        if on_cpu and library is None and self.tiles is None:  # asking takes time, and memory of oneDNN
            library = _library(self.precision)
        self.library: Library = "tiles" if self.tiles else library or "torch"
        self.weight, self.bias = weight.to(self.precision), None if bias is None else bias.to(self.precision)
        if self.tiles is not None:
            self.weight = self.tiles.weight
        elif self.library == "onednn":
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, None)
        self.doubled = self.library == "onednn" and not _agree(self, rows=2, counts=[1])
        self.special = self.doubled or widened or self.precision != self.out

    def __call__(self, x: Float[Tensor, "*rows in_features"]) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias."""
        if self.tiles is not None:
            return self.tiles(x)
        return self._special(x) if self.special else self.product(x)

    def activated(
        self, x: Float[Tensor, "*rows in_features"], activation: Activation
    ) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias, cut off below zero or times their sigmoid."""
        if self.tiles is not None and activation == "relu":
            return self.tiles(x, relu=True)
        wide = self(x)
        return wide.relu_() if activation == "relu" else functional.silu(wide, inplace=True)

    def product(self, x: Float[Tensor, "*rows in_features"]) -> Float[Tensor, "*rows out_features"]:
        """The library's result for rows in its own precision."""
        if self.library == "onednn":
            return _onednn_linear(x, self.weight, self.bias, "none", [], "")
        return functional.linear(x, self.weight, self.bias)

    def _special(self, x: Tensor) -> Tensor:
        """With a single row computed as two, and converted to the library's precision and back."""
        rows = x.reshape(-1, x.shape[-1]).to(self.precision)
        y = self.product(rows.repeat(2, 1) if self.doubled and len(rows) == 1 else rows)
        return y[: len(rows)].to(self.out).view(*x.shape[:-1], y.shape[-1])


@functools.cache
def _has_bf16() -> bool:
    """Whether oneDNN takes bf16 weights on this processor."""
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@functools.cache
def _library(precision: torch.dtype) -> Library:
    """oneDNN where it takes the type and its rows do not depend on their number, else torch."""
    if precision not in _COMPUTE_TYPES or not torch.backends.mkldnn.is_available():
        return "torch"
    weights = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) for shape in _PROBED_SHAPES)
    layers = (PrepackedLinear(weight.to(precision), None, library="onednn") for weight in weights)
    return "onednn" if all(_agree(layer, rows=64, counts=_PROBED_COUNTS) for layer in layers) else "torch"


def _agree(layer: PrepackedLinear, *, rows: int, counts: list[int]) -> bool:
    """Whether the first rows of several become the same alone; in one thread, in which searches compute."""
    x = torch.randn(rows, layer.in_features, generator=torch.Generator().manual_seed(1)).to(layer.precision)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        together = layer.product(x)
        return all(torch.equal(layer.product(x[:count]), together[:count]) for count in counts)
    finally:
        torch.set_num_threads(threads)
