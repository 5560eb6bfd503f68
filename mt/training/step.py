"""One optimizer update from the micro-batches of one batch."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import nn

from mt.data.batch import Batch
from mt.model.transformer import Transformer
from mt.training.chunked_loss import chunked_label_smoothed_loss
from mt.training.loss import LossSums


@dataclass
class StepResult:
    """What one step did; losses in nats per real target token."""

    loss: float
    negative_log_likelihood: float
    gradient_norm: float
    source_tokens: int
    target_tokens: int

    @property
    def finite(self) -> bool:
        """Whether loss and gradient could be used; otherwise the step was skipped and the weights are as before."""
        return math.isfinite(self.gradient_norm) and math.isfinite(self.loss)


def batch_loss(model: Transformer, batch: Batch, *, label_smoothing: float) -> LossSums:
    """Run the model on one micro-batch and sum the loss over its real target tokens."""
    real = batch.target_output != model.pad
    hidden = model.hidden(batch.source, batch.target_input)[real]
    features, weight = model.target_embedding.as_product(hidden)
    return chunked_label_smoothed_loss(features, weight, batch.target_output[real], label_smoothing=label_smoothing)


def train_step(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    micro_batches: Sequence[Batch],
    *,
    learning_rate: float,
    label_smoothing: float,
    autocast: Callable[[], AbstractContextManager[None]],
) -> StepResult:
    """Accumulate the gradient of all micro-batches and update once.

    The loss is a sum, divided once by the real target tokens of all micro-batches, so that a batch gives the
    same gradient however it is cut. A gradient that is not finite changes nothing.
    """
    device = next(model.parameters()).device
    target_tokens = sum(batch.target_tokens for batch in micro_batches)
    loss = torch.zeros((), device=device)
    likelihood = torch.zeros((), device=device)
    for batch in micro_batches:
        with autocast():
            sums = batch_loss(model, batch.to(device), label_smoothing=label_smoothing)
        (sums.smoothed / target_tokens).backward()
        loss += sums.smoothed.detach()
        likelihood += sums.negative_log_likelihood
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    result = StepResult(
        loss=float(loss) / target_tokens,
        negative_log_likelihood=float(likelihood) / target_tokens,
        gradient_norm=float(norm),
        source_tokens=sum(batch.source_tokens for batch in micro_batches),
        target_tokens=target_tokens,
    )
    if result.finite:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return result
