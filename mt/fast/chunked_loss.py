"""The output projection and the label-smoothed loss together, without ever storing all logits.

For base the logits of 25,000 tokens would be 3.7 GB in fp32, and reading and writing them costs more time than the
arithmetic. Here one chunk of positions at a time passes through the projection and the loss, and its gradient is
computed at once: with p = softmax(z), the gradient of the loss (mt/training/loss.py) with respect to the logits z is
p - (1 - ε) · one-hot - ε / V. Matrix products are in the precision of autocast. The softmax, the loss and the sums over
chunks are in fp32; a CPU computes them for as many positions at once as its cache holds, and a GPU can have them
compiled to one kernel, because for each of them one by one it reads and writes the whole chunk.

Of two passes over the same labels a chunk holds the same positions of both. With q the other pass's distribution and
d = log p - log q, the gradient of KL(p ‖ q) is p (d - KL(p ‖ q)) with respect to p's logits and q - p to q's.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from mt.training.loss import Divergence, LossSums

_LOGITS_PER_CHUNK = {"cpu": 2**21, "cuda": 2**28}
_LOGITS_AT_ONCE = {"cpu": 2**18}  # 1 MiB in fp32: the second-level cache of a core holds them

ChunkLoss = Callable[..., Tensor]  # the sums of a chunk; when `learning`, the logits become their gradient


def chunked_loss(
    states: Float[Tensor, "all_tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    labels: Int[Tensor, " tokens"],
    *,
    label_smoothing: float,
    divergence: Divergence | None = None,
    compiled: bool = False,
) -> LossSums:
    """The sums of `projected_loss`, with the same gradients; of a single pass by one kernel if it is `compiled`."""
    if bias is not None:  # one more feature, which is 1 in every row
        states, weight = functional.pad(states, (0, 1), value=1.0), torch.cat([weight, bias.unsqueeze(1)], dim=1)
    dtype = weight.dtype
    if torch.is_autocast_enabled(states.device.type):
        dtype = torch.get_autocast_dtype(states.device.type)
    learning = torch.is_grad_enabled() and (states.requires_grad or weight.requires_grad)
    with torch.autocast(states.device.type, enabled=False):
        if divergence is not None:
            chunk_loss: ChunkLoss = functools.partial(_paired_sums_then_gradient, divergence=divergence)
        else:
            chunk_loss = _compiled() if compiled and learning else _sums_then_gradient
        passes = 1 if divergence is None else 2
        return LossSums(
            *_ChunkedLoss.apply(states, weight, labels, label_smoothing, chunk_loss, passes, dtype, learning)
        )


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0917  torch passes them by position
        context: Any,
        states: Tensor,
        weight: Tensor,
        labels: Tensor,
        label_smoothing: float,
        chunk_loss: ChunkLoss,
        passes: int,
        dtype: torch.dtype,
        learning: bool,
    ) -> tuple[Tensor, ...]:
        wide = torch.promote_types(weight.dtype, torch.float32)
        states = states.unflatten(0, (passes, len(labels)))
        sums = torch.zeros(1 + passes, dtype=wide, device=states.device)
        states_gradient = torch.empty_like(states, dtype=wide) if learning else None
        weight_gradient = torch.zeros_like(weight, dtype=wide) if learning else None
        matrix = weight.detach().to(dtype)
        size = max(1, _LOGITS_PER_CHUNK.get(states.device.type, 2**24) // (passes * weight.shape[0]))
        for start in range(0, len(labels), size):
            rows = states[:, start : start + size].flatten(0, 1).to(dtype)
            logits, right = rows @ matrix.T, labels[start : start + size]
            sums += chunk_loss(logits, right, label_smoothing=label_smoothing, learning=learning)
            if states_gradient is not None and weight_gradient is not None:
                states_gradient[:, start : start + size] = (logits @ matrix).unflatten(0, (passes, len(right)))
                weight_gradient += logits.T @ rows
        context.save_for_backward(states_gradient, weight_gradient)
        context.types = states.dtype, weight.dtype
        smoothed, *reported = sums.unbind()
        context.mark_non_differentiable(*reported)
        return smoothed, *reported

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        states_gradient, weight_gradient = context.saved_tensors
        states_type, weight_type = context.types
        scale, nothing = gradients[0], (None,) * 6
        of_states = (states_gradient * scale).to(states_type).flatten(0, 1)
        return of_states, (weight_gradient * scale).to(weight_type), *nothing


def _sums_then_gradient(
    logits: Float[Tensor, "chunk vocabulary"], labels: Int[Tensor, " chunk"], *, label_smoothing: float, learning: bool
) -> Float[Tensor, "2"]:
    """Smoothed loss and negative log-likelihood of a chunk; then replaces `logits` by the gradient."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    sums = torch.zeros(2, dtype=wide, device=logits.device)
    rows = max(1, _LOGITS_AT_ONCE.get(logits.device.type, logits.numel()) // logits.shape[1])
    for chunk, right in zip(logits.split(rows), labels.unsqueeze(1).split(rows), strict=True):
        log_probability = chunk.log_softmax(dim=1, dtype=wide)
        sums += _cross_entropy(log_probability, right, label_smoothing)
        if learning:
            chunk.copy_(_cross_entropy_gradient(log_probability.exp_(), right, label_smoothing))
    return sums


def _fusable_sums_then_gradient(
    logits: Float[Tensor, "chunk vocabulary"], labels: Int[Tensor, " chunk"], *, label_smoothing: float, learning: bool
) -> Float[Tensor, "2"]:
    """The same of a whole chunk, without an addition at single columns, so that a compiler makes one kernel of it."""
    labels = labels.unsqueeze(1)
    wide = torch.promote_types(logits.dtype, torch.float32)
    log_probability = logits.log_softmax(dim=1, dtype=wide)
    if learning:
        at_label = torch.arange(logits.shape[1], device=logits.device) == labels
        smooth = log_probability.exp() - label_smoothing / logits.shape[1]
        logits.copy_(torch.where(at_label, smooth - (1.0 - label_smoothing), smooth))
    return _cross_entropy(log_probability, labels, label_smoothing)


@functools.cache
def _compiled() -> ChunkLoss:
    return torch.compile(_fusable_sums_then_gradient)


def _paired_sums_then_gradient(
    logits: Float[Tensor, "chunk_of_both vocabulary"],
    labels: Int[Tensor, " chunk"],
    *,
    label_smoothing: float,
    divergence: Divergence,
    learning: bool,
) -> Float[Tensor, "3"]:
    """Loss, negative log-likelihood and divergence of two passes; then replaces `logits` by the gradient."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    sums = torch.zeros(3, dtype=wide, device=logits.device)
    rows = max(1, _LOGITS_AT_ONCE.get(logits.device.type, logits.numel()) // (2 * logits.shape[1]))
    halves = [half.split(rows) for half in logits.split(len(labels))]
    for *chunks, right in zip(*halves, labels.unsqueeze(1).split(rows), strict=True):
        log_p = [chunk.log_softmax(dim=1, dtype=wide) for chunk in chunks]
        p = [one.exp() for one in log_p]
        gradients = [torch.zeros_like(one) for one in p]
        for own, other, share in zip((0, 1), (1, 0), divergence.shares, strict=True):
            if share == 0.0:
                continue
            difference = log_p[own] - log_p[other]
            kl = (p[own] * difference).sum(dim=1, keepdim=True)
            smoothed, nll = _cross_entropy(log_p[own], right, label_smoothing)
            sums += share * torch.stack([smoothed + divergence.weight * kl.sum(), nll, kl.sum()])
            if learning:
                apart = share * divergence.weight
                gradients[other].add_(p[other] - p[own], alpha=apart)
                gradients[own].addcmul_(p[own], difference.sub_(kl), value=apart)
                gradients[own].add_(_cross_entropy_gradient(p[own].clone(), right, label_smoothing), alpha=share)
        if learning:
            for chunk, gradient in zip(chunks, gradients, strict=True):
                chunk.copy_(gradient)
    return sums


def _cross_entropy(
    log_probability: Float[Tensor, "rows vocabulary"], right: Int[Tensor, "rows 1"], label_smoothing: float
) -> Float[Tensor, "2"]:
    """Smoothed loss and negative log-likelihood, summed."""
    label_log_probability = log_probability.gather(1, right)
    nll = -label_log_probability.sum()
    smoothing = label_smoothing * (label_log_probability - log_probability.mean(dim=1, keepdim=True)).sum()
    return torch.stack([nll + smoothing, nll])


def _cross_entropy_gradient(
    probability: Float[Tensor, "rows vocabulary"], right: Int[Tensor, "rows 1"], label_smoothing: float
) -> Float[Tensor, "rows vocabulary"]:
    """The gradient of the smoothed loss with respect to the logits, in the memory of `probability`."""
    at_labels = torch.full_like(right, label_smoothing - 1.0, dtype=probability.dtype)
    return probability.sub_(label_smoothing / probability.shape[1]).scatter_add_(1, right, at_labels)
