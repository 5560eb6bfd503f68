"""One optimizer update from the micro-batches of one batch."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mt.data.batch import Batch
from mt.model.packing import packed_hidden
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
    if batch.source_segments is None or batch.target_segments is None:
        hidden = model.hidden(batch.source, batch.target_input)
    else:
        segments = batch.source_segments, batch.target_segments
        hidden = packed_hidden(model, batch.source, batch.target_input, *segments)
    hidden, gold = (part.flatten(0, 1)[batch.gold_places] for part in (hidden, batch.target_output))
    features, weight = model.target_embedding.as_product(hidden)
    return chunked_label_smoothed_loss(features, weight, gold, label_smoothing=label_smoothing)


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
    target_tokens = sum(batch.target_tokens for batch in micro_batches)
    loss, likelihood = accumulate(model, micro_batches, label_smoothing=label_smoothing, autocast=autocast)
    norm = nn.utils.get_total_norm([one.grad for one in model.parameters() if one.grad is not None])
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    updated = update_on_device(optimizer, usable=(norm + loss).isfinite())
    result = StepResult(
        loss=float(loss) / target_tokens,
        negative_log_likelihood=float(likelihood) / target_tokens,
        gradient_norm=float(norm),
        source_tokens=sum(batch.source_tokens for batch in micro_batches),
        target_tokens=target_tokens,
    )
    if result.finite and not updated:
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return result


def accumulate(
    model: Transformer,
    micro_batches: Sequence[Batch],
    *,
    label_smoothing: float,
    autocast: Callable[[], AbstractContextManager[None]],
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Add the gradient of the mean loss over all micro-batches; returns the sums of loss and likelihood.

    Nothing here waits for a GPU: how many tokens are real, and where, the batches know.
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
    return loss, likelihood


def update_on_device(optimizer: torch.optim.Optimizer, *, usable: Bool[Tensor, ""]) -> bool:
    """Update where the gradient is usable, and leave that to the device; False where the optimizer cannot.

    Torch's fused Adam takes the answer as a number on the device, as its GradScaler hands it over. So the device
    has all the work of a step before anybody waits for its result.
    """
    if not (isinstance(optimizer, torch.optim.Adam) and optimizer.defaults["fused"]):
        return False
    optimizer.found_inf = (~usable).float()  # type: ignore[attr-defined]
    optimizer.step()
    return True
