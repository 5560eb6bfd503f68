"""Linear layers with prepacked weights: laid out once, as the processor's matrix kernels read them."""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from mt.fast.native.tiled_linear import ComputeType, TiledLinear, fits_tiles
from mt.model.feed_forward import Activation

Library = Literal["mkl", "onednn", "torch", "tiles"]

_COMPUTE_TYPES: dict[torch.dtype, tuple[ComputeType, ...]] = {
    torch.float32: ("int8x8", "fp32"),
    torch.bfloat16: ("bf16",),
}
_TYPICAL_ROWS = 128  # MKL lays the weights out for this number; it computes more and fewer in the same way
_PROBED_SHAPES = ((48, 32), (65, 64), (96, 128), (256, 512))
_PROBED_COUNTS = [2, 3, 5, 7, 8, 16, 20, 33]
_mkl_linear: Any = torch.ops.mkl._mkl_linear.default if torch.backends.mkl.is_available() else None
_onednn_linear: Any = torch.ops.mkldnn._linear_pointwise.default if torch.backends.mkldnn.is_available() else None

_SWITCHING = threading.Lock()
_settings_before: list[str] = []  # one for each thread inside `bf16_factors`; the first is to be restored


class PrepackedLinear:
    """x Wᵀ + b, alone or with the activation that follows it.

    On a CPU the first of these that is available computes it: `TiledLinear`, with the `compute_type` that keeps the
    layer's `precision` or another; MKL for fp32, which is faster than oneDNN for the rows of a single sentence; oneDNN.
    A library serves only if its rows do not depend on their number, which a probe decides once per process; if a single
    row is the one exception, two rows are computed instead. Elsewhere torch's own kernels are called.

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
        on_cpu, rounded = weight.device.type == "cpu", precision == torch.bfloat16
        widened = rounded and (self.out != torch.bfloat16 or (on_cpu and not _has_bf16()))
        self.precision = torch.float32 if widened else precision
        if on_cpu and library is None:
            library = _library(self.precision, rounded=rounded)
        self.library: Library = "tiles" if self.tiles else library or "torch"
        self.weight, self.bias = weight.to(self.precision), None if bias is None else bias.to(self.precision)
        self.shape: Float[Tensor, "out_features in_features"] | None = None
        if self.tiles is not None:
            self.weight = self.tiles.weight
        elif self.library == "mkl":
            self.weight = torch.ops.mkl._mkl_reorder_linear_weight(self.weight, _TYPICAL_ROWS)
            self.shape = weight.new_empty(1).expand(weight.shape)  # takes no memory: only its sizes are read
        elif self.library == "onednn":
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, None)
        self.doubled = self.library in {"mkl", "onednn"} and not _agree(self, rows=2, counts=[1])
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
        if self.library == "mkl":
            return _mkl_linear(x, self.weight, self.shape, self.bias, x.numel() // x.shape[-1])
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
def _library(precision: torch.dtype, *, rounded: bool) -> Library:
    """The first library of a CPU whose rows do not depend on their number.

    Where factors may be `rounded` to bf16 it is oneDNN, which does so on some processors (see `bf16_factors`).
    """
    libraries: list[Library] = []
    if precision == torch.float32 and not rounded and torch.backends.mkl.is_available():
        libraries.append("mkl")
    if precision in _COMPUTE_TYPES and torch.backends.mkldnn.is_available():
        libraries.append("onednn")
    for library in libraries:
        weights = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) for shape in _PROBED_SHAPES)
        layers = (PrepackedLinear(weight.to(precision), None, library=library) for weight in weights)
        if all(_agree(layer, rows=64, counts=_PROBED_COUNTS) for layer in layers):
            return library
    return "torch"


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


@contextlib.contextmanager
def bf16_factors() -> Iterator[None]:
    """Let oneDNN round the factors of fp32 products to bf16; sums and results stay fp32.

    This holds for the whole process, until the last thread has left.
    """
    matmul = getattr(torch.backends.mkldnn, "matmul")  # noqa: B009  made at run time, unknown to type checkers
    with _SWITCHING:
        _settings_before.append(matmul.fp32_precision)
        matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        with _SWITCHING:
            before = _settings_before.pop()
            if not _settings_before:
                matmul.fp32_precision = before
