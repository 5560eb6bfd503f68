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
    hidden, gold = states, labels
    if bias is not None:  # one more feature, which is 1 in every row
        hidden, weight = functional.pad(states, (0, 1), value=1.0), torch.cat([weight, bias.unsqueeze(1)], dim=1)
    dtype = weight.dtype
    if torch.is_autocast_enabled(hidden.device.type):
        dtype = torch.get_autocast_dtype(hidden.device.type)
    learning = torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad)
    with torch.autocast(hidden.device.type, enabled=False):
        smoothed, likelihood = _ChunkedLoss.apply(hidden, weight, gold, label_smoothing, dtype, learning)
    return LossSums(smoothed, likelihood, gold.numel())


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0917  torch passes them by position
        context: Any,
        hidden: Tensor,
        weight: Tensor,
        gold: Tensor,
        label_smoothing: float,
        dtype: torch.dtype,
        learning: bool,
    ) -> tuple[Tensor, Tensor]:
        wide = torch.promote_types(weight.dtype, torch.float32)
        sums = torch.zeros(2, dtype=wide, device=hidden.device)
        hidden_gradient = torch.empty_like(hidden, dtype=wide) if learning else None
        weight_gradient = torch.zeros_like(weight, dtype=wide) if learning else None
        matrix = weight.detach().to(dtype)
        size = max(1, _LOGITS_PER_CHUNK.get(hidden.device.type, 2**24) // weight.shape[0])
        for start in range(0, hidden.shape[0], size):
            rows = hidden[start : start + size].to(dtype)
            logits = rows @ matrix.T
            sums += _sums_then_gradient(logits, gold[start : start + size], label_smoothing, learning)
            if hidden_gradient is not None and weight_gradient is not None:
                hidden_gradient[start : start + size] = logits @ matrix
                weight_gradient += logits.T @ rows
        context.save_for_backward(hidden_gradient, weight_gradient)
        context.types = hidden.dtype, weight.dtype
        smoothed, likelihood = sums.unbind()
        context.mark_non_differentiable(likelihood)
        return smoothed, likelihood

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden_gradient, weight_gradient = context.saved_tensors
        hidden_type, weight_type = context.types
        scale, nothing = gradients[0], (None,) * 4
        return (hidden_gradient * scale).to(hidden_type), (weight_gradient * scale).to(weight_type), *nothing


def _sums_then_gradient(
    logits: Float[Tensor, "chunk vocabulary"], gold: Int[Tensor, " chunk"], label_smoothing: float, learning: bool
) -> Float[Tensor, "2"]:
    """Smoothed loss and negative log-likelihood of a chunk; then replaces `logits` by the gradient."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    sums = torch.zeros(2, dtype=wide, device=logits.device)
    rows = max(1, _LOGITS_AT_ONCE.get(logits.device.type, logits.numel()) // logits.shape[1])
    for chunk, right in zip(logits.split(rows), gold.unsqueeze(1).split(rows), strict=True):
        log_probability = chunk.log_softmax(dim=1, dtype=wide)
        gold_log_probability = log_probability.gather(1, right)
        likelihood = -gold_log_probability.sum()
        smoothing = label_smoothing * (gold_log_probability - log_probability.mean(dim=1, keepdim=True)).sum()
        sums += torch.stack([likelihood + smoothing, likelihood])
        if learning:
            gradient = log_probability.exp_().sub_(label_smoothing / logits.shape[1])
            gradient.scatter_add_(1, right, torch.full_like(gold_log_probability, label_smoothing - 1.0))
            chunk.copy_(gradient)
    return sums
