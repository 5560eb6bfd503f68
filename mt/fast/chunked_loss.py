"""The output projection and the label-smoothed loss together, without ever storing all logits.

For base the logits of 25,000 tokens would be 3.7 GB in fp32, and reading and writing them costs more time than the
arithmetic. Here one chunk of positions at a time passes through the projection and the loss, and its gradient is
computed at once: with p = softmax(z), the gradient of the loss (mt/training/loss.py) with respect to the logits z is
p - (1 - ε) · one-hot - ε / V. Matrix products are in the precision of autocast. The softmax, the loss and the sums over
chunks are in fp32; a CPU computes them for as many positions at once as its cache holds.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from mt.training.loss import LossSums

_LOGITS_PER_CHUNK = {"cpu": 2**21, "cuda": 2**28}
_LOGITS_AT_ONCE = {"cpu": 2**18}  # 1 MiB in fp32: the second-level cache of a core holds them


def chunked_loss(
    states: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    labels: Int[Tensor, " tokens"],
    *,
    label_smoothing: float,
) -> LossSums:
    """The sums of `projected_loss`, with the same gradients."""
    if bias is not None:  # one more feature, which is 1 in every row
        states, weight = functional.pad(states, (0, 1), value=1.0), torch.cat([weight, bias.unsqueeze(1)], dim=1)
    dtype = weight.dtype
    if torch.is_autocast_enabled(states.device.type):
        dtype = torch.get_autocast_dtype(states.device.type)
    learning = torch.is_grad_enabled() and (states.requires_grad or weight.requires_grad)
    with torch.autocast(states.device.type, enabled=False):
        smoothed, nll = _ChunkedLoss.apply(states, weight, labels, label_smoothing, dtype, learning)
    return LossSums(smoothed, nll)


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0917  torch passes them by position
        context: Any,
        states: Tensor,
        weight: Tensor,
        labels: Tensor,
        label_smoothing: float,
        dtype: torch.dtype,
        learning: bool,
    ) -> tuple[Tensor, Tensor]:
        wide = torch.promote_types(weight.dtype, torch.float32)
        sums = torch.zeros(2, dtype=wide, device=states.device)
        states_gradient = torch.empty_like(states, dtype=wide) if learning else None
        weight_gradient = torch.zeros_like(weight, dtype=wide) if learning else None
        matrix = weight.detach().to(dtype)
        size = max(1, _LOGITS_PER_CHUNK.get(states.device.type, 2**24) // weight.shape[0])
        for start in range(0, states.shape[0], size):
            rows = states[start : start + size].to(dtype)
            logits = rows @ matrix.T
            sums += _sums_then_gradient(logits, labels[start : start + size], label_smoothing, learning)
            if states_gradient is not None and weight_gradient is not None:
                states_gradient[start : start + size] = logits @ matrix
                weight_gradient += logits.T @ rows
        context.save_for_backward(states_gradient, weight_gradient)
        context.types = states.dtype, weight.dtype
        smoothed, nll = sums.unbind()
        context.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        states_gradient, weight_gradient = context.saved_tensors
        states_type, weight_type = context.types
        scale, nothing = gradients[0], (None,) * 4
        return (states_gradient * scale).to(states_type), (weight_gradient * scale).to(weight_type), *nothing


def _sums_then_gradient(
    logits: Float[Tensor, "chunk vocabulary"], labels: Int[Tensor, " chunk"], label_smoothing: float, learning: bool
) -> Float[Tensor, "2"]:
    """Smoothed loss and negative log-likelihood of a chunk; then replaces `logits` by the gradient."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    sums = torch.zeros(2, dtype=wide, device=logits.device)
    rows = max(1, _LOGITS_AT_ONCE.get(logits.device.type, logits.numel()) // logits.shape[1])
    for chunk, right in zip(logits.split(rows), labels.unsqueeze(1).split(rows), strict=True):
        log_probability = chunk.log_softmax(dim=1, dtype=wide)
        label_log_probability = log_probability.gather(1, right)
        nll = -label_log_probability.sum()
        smoothing = label_smoothing * (label_log_probability - log_probability.mean(dim=1, keepdim=True)).sum()
        sums += torch.stack([nll + smoothing, nll])
        if learning:
            gradient = log_probability.exp_().sub_(label_smoothing / logits.shape[1])
            gradient.scatter_add_(1, right, torch.full_like(label_log_probability, label_smoothing - 1.0))
            chunk.copy_(gradient)
    return sums
