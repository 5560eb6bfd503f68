"""Linear layers with their weights laid out once, as the processor's matrix kernels want them."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from mt.model.feed_forward import Activation


class PackedLinear:
    """x Wᵀ + b, alone or with what follows it in the same pass over memory: the residual sum or the activation.

    On a CPU that oneDNN serves, the weights are reordered into its blocks when the layer is made, which saves doing
    so in every call; elsewhere torch's own kernels are called one after the other. The arithmetic is the same.
    """

    def __init__(
        self, weight: Float[Tensor, "out_features in_features"], bias: Float[Tensor, " out_features"] | None
    ) -> None:
        self.packed = _packs(weight)
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight, None) if self.packed else weight
        self.bias = bias

    def __call__(self, x: Float[Tensor, "*rows in_features"]) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias."""
        if self.packed:
            return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return functional.linear(x, self.weight, self.bias)

    def activated(
        self, x: Float[Tensor, "*rows in_features"], activation: Activation
    ) -> Float[Tensor, "*rows out_features"]:
        """The product and the bias, cut off below zero or times their sigmoid."""
        if self.packed:
            return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, activation, [], "")
        wide = functional.linear(x, self.weight, self.bias)
        return wide.relu_() if activation == "relu" else functional.silu(wide)

    def add_to(
        self, residual: Float[Tensor, "*rows out_features"], x: Float[Tensor, "*rows in_features"]
    ) -> Float[Tensor, "*rows out_features"]:
        """The residual plus x Wᵀ + b."""
        if self.packed:
            return torch.ops.mkldnn._linear_pointwise.binary(x, residual, self.weight, self.bias, "add")
        return functional.linear(x, self.weight, self.bias).add_(residual)


def _packs(weight: Tensor) -> bool:
    """Whether oneDNN has a kernel for these weights here."""
    on_cpu = weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
    return on_cpu and weight.dtype in (torch.float32, torch.bfloat16)
