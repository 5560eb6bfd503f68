"""What training asks of its processes, here of one; `distributed.py` has several."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

import torch
from torch import Tensor, nn

from mt.errors import UserError
from mt.runs.signals import StopRequest

Result = TypeVar("Result")


@dataclass(frozen=True)
class Replica:
    """A model in training: as the steps of this rank see it, and as it is validated and saved.

    `loss` gives the summed losses of a batch; `no_sync` is the context of a backward pass that only adds to this
    rank's gradients; `collect` brings `model` (and, given True, `model_optimizer`) up to date on rank zero.
    """

    loss: nn.Module
    optimizer: torch.optim.Optimizer
    model: nn.Module
    model_optimizer: torch.optim.Optimizer
    no_sync: Callable[[], AbstractContextManager[None]]
    collect: Callable[[bool], None]


class ProcessGroup:
    """The processes (ranks) that train one model: here the only one of a training without a launcher.

    All ranks call the same methods in the same order. `distributed.py` overrides what several processes do otherwise.
    """

    rank = 0
    world_size = 1
    is_rank_zero = True  # rank zero alone writes files

    def __enter__(self) -> "ProcessGroup":  # noqa: PYI034  the shape checks of the tests cannot read Self
        """Connect to the other ranks."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect; an error of all ranks, or the first rank's error, is reported once."""

    def device(self, device: torch.device) -> torch.device:
        """This rank's device of that type."""
        return device

    def stopping_together(self, stop: StopRequest) -> AbstractContextManager[None]:  # noqa: ARG002
        """While inside, a signal to any rank stops all of them."""
        return nullcontext()

    def on_rank_zero(self, action: Callable[[], Result]) -> Result:
        """What the action returned on rank zero, or the MtError that it raised there, on every rank."""
        return action()

    def rank_zero_first(self, action: Callable[[], Result]) -> Result:
        """What the action returned on this rank, run after rank zero has run it and written its files."""
        results: list[Result] = []
        self.on_rank_zero(lambda: results.append(action()))
        return results[0] if results else action()

    def largest(self, number: int) -> int:
        """The largest of the ranks' numbers; with several ranks, of those given in the previous call."""
        return number

    def smallest(self, number: int) -> int:
        """The smallest of the ranks' numbers."""
        return number

    def check_equal(self, number: int, complaint: str) -> None:
        """Raise UserError when the ranks have different numbers."""
        if self.smallest(number) != -self.smallest(-number):
            raise UserError(f"the processes read {complaint}")

    def add(self, sums: Tensor) -> None:
        """Replace each rank's numbers by their sum over the ranks."""

    def whole(self, tensor: Tensor) -> Tensor:
        """The full tensor, of which this rank may hold a shard."""
        return tensor

    def wrap(self, loss: nn.Module, optimizer: torch.optim.Optimizer) -> Replica:
        """This rank's replica or shard of a loss module, whose submodule `model` every rank has loaded alike."""
        model = loss.get_submodule("model")
        return Replica(loss, optimizer, model, optimizer, no_sync=nullcontext, collect=lambda _: None)


SINGLE_PROCESS = ProcessGroup()


def process_group(*, fsdp: bool) -> ProcessGroup:
    """This process among those that torchrun or submitit started; on its own without them. Raises UserError."""
    environment = _launched_as()
    if environment.get("WORLD_SIZE", "1") == "1":
        return SINGLE_PROCESS
    from mt.training.distributed import Distributed  # noqa: PLC0415  a single process does not need it

    return Distributed(environment=environment, fsdp=fsdp)


def _launched_as() -> Mapping[str, str]:
    """The environment in which torchrun, or submitit for a job of several tasks, gives a process its rank."""
    if "SUBMITIT_EXECUTOR" not in os.environ or "WORLD_SIZE" in os.environ:
        return os.environ
    from submitit.helpers import TorchDistributedEnvironment  # noqa: PLC0415  an optional package, there in its jobs

    job = TorchDistributedEnvironment()
    names = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK")
    return {**os.environ, **{name: str(getattr(job, name.lower())) for name in names}}
