"""One optimizer update from the micro-batches of one batch."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mt.data.batch import Batch
from mt.model.decoder_only import AnyTransformer
from mt.model.masks import packed, padded
from mt.training.consistency import RDrop, SimCut, doubled
from mt.training.loss import ProjectedLoss, projected_loss
from mt.training.processes import SINGLE_PROCESS, ProcessGroup, Replica

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class SideBySide(Protocol):
    """Calls a function for up to `count` items at the same time, and returns its results in order."""

    count: int

    def __call__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results, in the order of the items."""


@dataclass
class StepResult:
    """What one step did; losses in nats per real target token."""

    loss: float
    nll: float  # negative log-likelihood
    consistency: float  # divergence of the two passes, not part of `loss`; 0 with one pass
    gradient_norm: float
    source_tokens: int
    target_tokens: int
    finite: bool  # else loss or gradient could not be used: the step was skipped and the weights are as before
    last_not_finite: str | None = None  # the last parameter, in the model's order, whose gradient is not finite


class TrainingLoss(nn.Module):
    """The model with its loss as one module, so that what wraps a module's forward sees every use of a parameter.

    `loss` is the output projection together with the smoothed loss: the plain form, or one that is faster. With
    `consistency` each batch is passed twice.
    """

    def __init__(
        self,
        model: AnyTransformer,
        *,
        label_smoothing: float,
        loss: ProjectedLoss = projected_loss,
        consistency: RDrop | SimCut | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.loss = loss
        self.consistency = consistency

    def forward(self, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, "3"]]:
        """What is minimised, and three figures, all summed over the real target tokens, in nats.

        The figures are the smoothed cross-entropy, the negative log-likelihood, and the divergence of two passes or 0.
        """
        labels = batch.target_output.flatten()[batch.label_indices]
        paired = {}
        if self.consistency is not None:
            batch = doubled(batch)
            paired = {"divergence": self.consistency.divergence}
        if batch.source_segments is not None and batch.target_segments is not None:
            layout = packed(batch.source_segments, batch.target_segments)
        else:
            layout = padded(batch.source, batch.target_input, pad=self.model.pad)
        if self.consistency is not None:
            layout = self.consistency.laid_out(batch, layout)
        states = self.model.hidden(batch.source, batch.target_input, layout).flatten(0, 1)[batch.label_indices]
        output = self.model.output_embedding
        sums = self.loss(states, output.weight, output.bias, labels, label_smoothing=self.label_smoothing, **paired)
        smoothed, divergence = sums.smoothed.detach(), sums.divergence
        if self.consistency is None or divergence is None:
            return sums.smoothed, torch.stack([smoothed, sums.nll, torch.zeros_like(sums.nll)])
        smoothed = smoothed - self.consistency.divergence.weight * divergence
        return sums.smoothed, torch.stack([smoothed, sums.nll, divergence])


def train_step(
    replica: Replica,
    micro_batches: Sequence[Batch],
    *,
    learning_rate: float,
    autocast: Callable[[], AbstractContextManager[None]],
    ranks: ProcessGroup = SINGLE_PROCESS,
    tokens: tuple[int, int] | None = None,
    side_by_side: SideBySide | None = None,
) -> StepResult:
    """Accumulate the gradient of all micro-batches and update once.

    The loss is a sum, divided once by the real target tokens of all micro-batches and ranks, so that a batch gives
    the same gradient however it is cut. A gradient that is not finite changes nothing, on any rank. Where there are
    several `ranks`, these are one's own micro-batches, and `tokens` the source and target tokens of all. A single
    process may compute its micro-batches `side_by_side`.
    """
    optimizer = replica.optimizer
    source_tokens, target_tokens = tokens or (
        sum(batch.source_tokens for batch in micro_batches),
        sum(batch.target_tokens for batch in micro_batches),
    )
    own_tokens = target_tokens / ranks.world_size  # gradients are then averaged over the ranks, which makes it exact
    if side_by_side is None:
        sums = _accumulate(replica, micro_batches, own_tokens, autocast)
    else:
        sums = _accumulate_side_by_side(replica, micro_batches, own_tokens, autocast, side_by_side)
    norm = ranks.whole(nn.utils.get_total_norm([one.grad for one in _parameters(optimizer) if one.grad is not None]))
    sums = torch.cat([sums, (~norm.isfinite()).to(sums).unsqueeze(0)])
    ranks.add(sums)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    updated = update_on_device(optimizer, usable=sums[0].isfinite() & (sums[-1] == 0))
    figures = torch.cat([sums, norm.unsqueeze(0)]).tolist()  # the only wait for a GPU
    loss, nll, consistency, unusable, gradient_norm = figures
    result = StepResult(
        loss=loss / target_tokens,
        nll=nll / target_tokens,
        consistency=consistency / target_tokens,
        gradient_norm=gradient_norm,
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        finite=math.isfinite(loss) and not unusable,
    )
    if not result.finite:
        result.last_not_finite = _last_not_finite(replica.loss)
    elif not updated:
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return result


def _accumulate(
    replica: Replica,
    micro_batches: Sequence[Batch],
    target_tokens: float,
    autocast: Callable[[], AbstractContextManager[None]],
) -> Float[Tensor, "3"]:
    """Add up the gradients of the mean loss; returns the sums of the figures. Nothing waits for a GPU."""
    device = _parameters(replica.optimizer)[0].device
    sums = torch.zeros(3, device=device)
    for number, batch in enumerate(micro_batches, start=1):
        with replica.no_sync() if number < len(micro_batches) else nullcontext():
            with autocast():
                loss, figures = replica.loss(batch.to(device))
            (loss / target_tokens).backward()
        sums += figures
    return sums


def _accumulate_side_by_side(
    replica: Replica,
    micro_batches: Sequence[Batch],
    target_tokens: float,
    autocast: Callable[[], AbstractContextManager[None]],
    side_by_side: SideBySide,
) -> Float[Tensor, "3"]:
    """The same; gradients are added in the order of the micro-batches, so that the sum does not depend on timing."""
    parameters = _parameters(replica.optimizer)

    def gradients(batch: Batch) -> tuple[tuple[Tensor, ...], Tensor]:
        with autocast():
            loss, figures = replica.loss(batch.to(parameters[0].device))
        return torch.autograd.grad(loss / target_tokens, parameters), figures

    sums = torch.zeros(3)
    for start in range(0, len(micro_batches), side_by_side.count):
        for found, part in side_by_side(gradients, micro_batches[start : start + side_by_side.count]):
            sums += part
            if parameters[0].grad is None:
                for parameter, gradient in zip(parameters, found, strict=True):
                    parameter.grad = gradient
            else:
                torch._foreach_add_([one.grad for one in parameters if one.grad is not None], list(found))
    return sums


def _last_not_finite(loss: nn.Module) -> str | None:
    """The last parameter, in the model's order, whose gradient is not finite; None where only the loss is not.

    What is not finite comes from its layer, or from what follows it in the model. Of shards (`training.fsdp`) this
    rank's are looked at.
    """
    gradients = [(name, one.grad) for name, one in loss.named_parameters() if one.grad is not None]
    own = ((name, getattr(gradient, "_local_tensor", gradient)) for name, gradient in reversed(gradients))
    return next((name for name, gradient in own if not gradient.isfinite().all()), None)


def _parameters(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


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
