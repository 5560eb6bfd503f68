"""What several processes that train together must do differently from one; here the one, which does it all itself."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from mt.runs.signals import StopRequest

Result = TypeVar("Result")


@dataclass
class Replica:
    """The parameters as the steps see them.

    `loss` gives the summed losses of a batch, `adding_up` is where a backward pass only adds to the gradients, and
    `collect` brings the plain model (with True its optimizer too) up to date where checkpoints are written.
    """

    loss: nn.Module
    optimizer: torch.optim.Optimizer
    adding_up: Callable[[], AbstractContextManager[None]]
    collect: Callable[[bool], None]


@runtime_checkable
class Ranks(Protocol):
    """This process among those that train one model. All of them call the same methods in the same order."""

    rank: int
    world_size: int

    @property
    def is_rank_zero(self) -> bool:
        """Whether this is the rank that alone writes files."""

    def __enter__(self) -> "Ranks":  # noqa: PYI034  the shape checks of the tests cannot read Self
        """Meet the others."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave them; of an error that all have, or that one had first, only one tells."""

    def device(self, device: torch.device) -> torch.device:
        """The one of the machine's devices of that type that this rank computes on."""

    def waiting(self, stop: StopRequest) -> AbstractContextManager[None]:
        """While inside, a signal leaves no other rank waiting."""

    def on_rank_zero(self, action: Callable[[], Result]) -> Result:
        """What the first rank's action returned, or the error that it raised, everywhere."""

    def rank_zero_first(self, action: Callable[[], Result]) -> Result:
        """What this rank's action returned, done after the first rank's, whose files it finds."""

    def largest(self, number: int) -> int:
        """The largest of the ranks' numbers; of several ranks, of those given in the call before."""

    def add(self, sums: Tensor) -> None:
        """Put the sum over the ranks in place of each rank's own."""

    def whole(self, tensor: Tensor) -> Tensor:
        """The tensor itself, of which this rank may hold a part."""

    def smallest(self, number: int) -> int:
        """The smallest of the ranks' numbers."""

    def check_equal(self, number: int, complaint: str) -> None:
        """Raise UserError when the ranks have different numbers."""

    def wrap(self, loss: nn.Module, optimizer: torch.optim.Optimizer) -> Replica:
        """Give every rank the parameters, or its part of them, as the first rank has them."""


class SingleProcess:
    """The one process of a training without a launcher."""

    rank = 0
    world_size = 1
    is_rank_zero = True

    def __enter__(self) -> "SingleProcess":  # noqa: PYI034  as in Ranks
        """Nobody to meet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nobody to leave."""

    def device(self, device: torch.device) -> torch.device:
        """The device itself."""
        return device

    def waiting(self, stop: StopRequest) -> AbstractContextManager[None]:  # noqa: ARG002
        """Nobody waits."""
        return nullcontext()

    def on_rank_zero(self, action: Callable[[], Result]) -> Result:
        """Do it."""
        return action()

    def rank_zero_first(self, action: Callable[[], Result]) -> Result:
        """Do it."""
        return action()

    def largest(self, number: int) -> int:
        """The number."""
        return number

    def add(self, sums: Tensor) -> None:
        """They are the sums already."""

    def whole(self, tensor: Tensor) -> Tensor:
        """The tensor."""
        return tensor

    def smallest(self, number: int) -> int:
        """The number."""
        return number

    def check_equal(self, number: int, complaint: str) -> None:
        """Nothing to compare with."""

    def wrap(self, loss: nn.Module, optimizer: torch.optim.Optimizer) -> Replica:
        """The parameters as they are."""
        return Replica(loss=loss, optimizer=optimizer, adding_up=nullcontext, collect=lambda _: None)


SINGLE_PROCESS = SingleProcess()


def launched_as() -> Mapping[str, str]:
    """The environment in which torchrun, or submitit for a job of several tasks, gives a process its rank."""
    if "SUBMITIT_EXECUTOR" not in os.environ or "WORLD_SIZE" in os.environ:
        return os.environ
    from submitit.helpers import TorchDistributedEnvironment  # noqa: PLC0415  an optional package, there in its jobs

    job = TorchDistributedEnvironment()
    names = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK")
    return {**os.environ, **{name: str(getattr(job, name.lower())) for name in names}}
