"""Section 5.4: residual dropout."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

_of_thread = threading.local()  # `generator`: what a thread draws its masks from, else torch's own


class Dropout(nn.Module):
    """Zero each element with probability `p` while training and divide the others by 1 - `p`, as nn.Dropout does.

    On a CPU torch draws a 64-bit random number per element, which takes a quarter of a small model's step; here
    four elements share one, so that the probability is met to 1 / 65,536. Elsewhere torch's own kernel is used.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """The same values in evaluation; randomly thinned and scaled ones in training."""
        if not self.training or self.p == 0.0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.p)
        return _ThinOut.apply(x, self.p)


@contextlib.contextmanager
def own_masks(seed: int) -> Iterator[None]:
    """While inside, this thread draws its masks from the seed alone, not from what others draw."""
    _of_thread.generator = torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        del _of_thread.generator


class _ThinOut(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, dropout: float) -> Tensor:
        quarter = torch.empty((x.numel() + 3) // 4, dtype=torch.int64)
        quarter.random_(-(2**63), None, generator=getattr(_of_thread, "generator", None))
        threshold = min(round(dropout * 2**16), 2**16 - 1) - 2**15
        context.kept = (quarter.view(torch.int16)[: x.numel()] >= threshold).view(x.shape)
        context.scale = 1.0 / (1.0 - dropout)
        return torch.ops.aten.native_dropout_backward(x, context.kept, context.scale)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.ops.aten.native_dropout_backward(gradients[0], context.kept, context.scale), None
