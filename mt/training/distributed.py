"""Several processes that train one model, on one machine or many, started by torchrun.

Each rank computes a share of every step's batch. Gradients are averaged by DistributedDataParallel, or, where
parameters and moments do not fit one device, by FSDP2 (`fully_shard`), which leaves each rank a shard of them.
Collectives on tensors of a GPU use NCCL; control messages use gloo, which notices at once when a process has died.
Signalling torchrun or any rank checkpoints and stops the job; a dead rank ends it.
"""

import contextlib
import copy
import functools
import inspect
import itertools
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from types import TracebackType
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from mt.data.batch import make_batch
from mt.errors import LostRankError, MtError, UserError
from mt.runs.signals import StopRequest
from mt.training.processes import ProcessGroup, Replica

Result = TypeVar("Result")

_STEP_TIMEOUT = timedelta(minutes=10)  # also for all processes to start
_RANK_ZERO_TIMEOUT = timedelta(days=7)  # for rank zero to read and tokenize a corpus, or to validate
_HANG_SECONDS = 60  # after a signal, without a step or a micro-batch
_EXIT_SECONDS = 10  # after an error, for what may hang in a collective that another rank left

_SHARD_KERNELS = {"fused": False, "foreach": True}  # torch's fused Adam cannot skip a step of sharded parameters
# Whether each forward pass broadcasts the position table, which all ranks have; torch 2.13 renamed it.
_BROADCAST_BUFFERS = next(
    name
    for name in ("forward_sync_buffers", "broadcast_buffers")
    if name in inspect.signature(DistributedDataParallel).parameters
)

_groups = itertools.count()


class Distributed(ProcessGroup):
    """The processes that torchrun started, as its environment variables say.

    Raises UserError for an incomplete environment, LostRankError when another process has ended.
    """

    def __init__(self, *, environment: Mapping[str, str], fsdp: bool) -> None:
        try:
            self.rank, self.world_size, self._local_rank, self._port = (
                int(environment[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT")
            )
            self._host = environment["MASTER_ADDR"]
        except (KeyError, ValueError) as error:
            raise UserError(
                f"WORLD_SIZE is set, so this is one of several processes, but {error} is missing or not a number: "
                "start them with torchrun, or unset WORLD_SIZE"
            ) from error
        self.is_rank_zero = self.rank == 0
        self._hosts_store = self.is_rank_zero and environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
        self._fsdp = fsdp
        self._pending: tuple[Tensor, Any] | None = None
        self._last_progress = time.monotonic()

    def __enter__(self) -> "Distributed":  # noqa: PYI034  as in the base class
        """Connect to the other ranks. Raises UserError when they do not start."""
        signal.alarm(0)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        try:
            store = _store(self._host, self._port, self._hosts_store)
            self._store = PrefixStore(f"mt-{next(_groups)}", store)
            options: dict[str, Any] = {"store": self._store, "rank": self.rank, "world_size": self.world_size}
            dist.init_process_group(backend, timeout=_STEP_TIMEOUT, **options)
            self._control = dist.new_group(backend="gloo", timeout=_RANK_ZERO_TIMEOUT)
        except (dist.DistError, RuntimeError, ValueError) as error:
            raise UserError(
                f"the {self.world_size} processes did not connect at {self._host}:{self._port}: {_brief(error)}"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect. The first rank with an error reports it; raises SystemExit on the others."""
        if error is None:
            dist.destroy_process_group()
            return
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_EXIT_SECONDS)
        reports = self._store.add("reported", 1) == 1
        if isinstance(error, MtError):
            dist.destroy_process_group()
        if not reports:
            time.sleep(1)  # torchrun ends the other ranks as soon as one has exited
            raise SystemExit(getattr(error, "exit_code", 1)) from error
        if isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error)):
            raise LostRankError(
                f"another process of this training has ended, and this one with it ({_brief(error)})"
            ) from error

    def device(self, device: torch.device) -> torch.device:
        """The GPU with this rank's number on its machine. Raises UserError when there are fewer GPUs than ranks."""
        if device.type == "mps":
            raise UserError("device=mps serves one process, and several were started; use device=cpu")
        if device.type != "cuda":
            return device
        if self._local_rank >= torch.cuda.device_count():
            raise UserError(
                f"more processes on this machine than its {torch.cuda.device_count()} GPUs: start one per GPU"
            )
        torch.cuda.set_device(self._local_rank)
        return torch.device("cuda", self._local_rank)

    @contextlib.contextmanager
    def stopping_together(self, stop: StopRequest) -> Iterator[None]:
        """While inside, a signal stops all ranks or none; a rank that hangs exits.

        Rank zero stops at once where it works alone, and the other ranks learn of it. They themselves only note a
        signal until all agree in a step.
        """
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(reading, True)
        before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(reading,), daemon=True).start()
        try:
            with nullcontext() if self.is_rank_zero else stop.held_back():
                yield
        finally:
            signal.set_wakeup_fd(before)
            os.close(writing)

    def _watch(self, signals: int) -> None:
        """Exit after a signal where the main thread hangs in a collective: NCCL waits for a rank that died."""
        while number := os.read(signals, 1):
            arrived = time.monotonic()
            if number[0] in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                while time.monotonic() - max(arrived, self._last_progress) < _HANG_SECONDS:
                    time.sleep(0.5)
                os._exit(128 + number[0])
        os.close(signals)

    def on_rank_zero(self, action: Callable[[], Result]) -> Result:
        """What the action returned on rank zero, on every rank, or the MtError that it raised there."""
        outcome: list[Any] = [None, None]
        self._last_progress = math.inf  # however long it takes
        if self.is_rank_zero:
            try:
                outcome[0] = action()
            except MtError as error:
                outcome[1] = error
            self._last_progress = time.monotonic()  # from here on it may be another rank that hangs
        dist.broadcast_object_list(outcome, src=0, group=self._control)
        self._last_progress = time.monotonic()
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def largest(self, number: int) -> int:
        """The largest of the numbers that the ranks gave in the previous call, so that no rank waits for it."""
        answer = 0
        self._last_progress = time.monotonic()
        if self._pending is not None:
            numbers, work = self._pending
            work.wait()
            answer = int(numbers)
        numbers = torch.tensor(number)
        self._pending = numbers, dist.all_reduce(numbers, dist.ReduceOp.MAX, group=self._control, async_op=True)
        return answer

    def smallest(self, number: int) -> int:
        """The smallest of the ranks' numbers."""
        numbers = torch.tensor(number)
        dist.all_reduce(numbers, dist.ReduceOp.MIN, group=self._control)
        return int(numbers)

    def add(self, sums: Tensor) -> None:
        """Replace each rank's numbers by their sum over the ranks."""
        dist.all_reduce(sums)

    def whole(self, tensor: Tensor) -> Tensor:
        """The full tensor, gathered if this rank holds a shard of it."""
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def wrap(self, loss: nn.Module, optimizer: torch.optim.Optimizer) -> Replica:
        """This rank's replica or shard of a loss module. All ranks have loaded the same parameters."""
        if self._fsdp:
            return self._shard(loss, optimizer)
        options: dict[str, Any] = {_BROADCAST_BUFFERS: False}
        module = DistributedDataParallel(loss, gradient_as_bucket_view=True, **options)
        # The first backward pass fixes the order in which gradients are added; done here, a restart changes no bit.
        # The only target token, BOS, is a position of the source to an encoder: the source is long enough to have it.
        empty = make_batch([[1, 1, 1]], [[]]).without_targets().to(next(loss.parameters()).device)
        module(empty)[0].backward()
        optimizer.zero_grad(set_to_none=True)
        no_sync = functools.partial(self._noting_progress, module.no_sync)
        return Replica(module, optimizer, loss.get_submodule("model"), optimizer, no_sync, collect=lambda _: None)

    def _shard(self, loss: nn.Module, optimizer: torch.optim.Optimizer) -> Replica:
        """Leave each rank its shard; rank zero keeps the whole model too, on the host, to validate and save it."""
        whole = dict(loss.named_parameters())
        mesh = init_device_mesh(next(iter(whole.values())).device.type, (self.world_size,))
        module = copy.deepcopy(loss) if self.is_rank_zero else loss
        if self.is_rank_zero:
            loss.to("cpu")
        for stack in [child for child in module.modules() if isinstance(child, nn.ModuleList)]:
            for layer in stack:
                fully_shard(layer, mesh=mesh)
        fully_shard(module, mesh=mesh)
        shards = dict(module.named_parameters())
        sharded = type(optimizer)(shards.values(), **optimizer.defaults | _SHARD_KERNELS)
        shard = functools.partial(distribute_tensor, device_mesh=mesh, placements=[Shard(0)], src_data_rank=None)
        for name, parameter in whole.items():
            moments = optimizer.state.pop(parameter, {}).items()
            sharded.state[shards[name]] = {key: shard(value) if value.ndim else value.cpu() for key, value in moments}

        @torch.no_grad()
        def collect(moments: bool) -> None:
            for name, parameter in shards.items():
                gathered = self.whole(parameter)
                state = sharded.state[parameter] if moments else {}
                gathered_state = {key: self.whole(value) for key, value in state.items()}
                if self.is_rank_zero:
                    whole[name].copy_(gathered)
                    optimizer.state[whole[name]] = {key: value.cpu() for key, value in gathered_state.items()}

        if not self.is_rank_zero:
            for parameter in whole.values():
                parameter.data = parameter.new_empty(0)  # `collect` and the first optimizer still refer to them
        no_sync = functools.partial(self._noting_progress, nullcontext)
        return Replica(module, sharded, loss.get_submodule("model"), optimizer, no_sync, collect)

    def _noting_progress(self, no_sync: Callable[[], AbstractContextManager[None]]) -> AbstractContextManager[None]:
        self._last_progress = time.monotonic()
        return no_sync()


@functools.cache
def _store(host: str, port: int, hosts: bool) -> TCPStore:
    """The store through which the processes connect; kept by torchrun or else by rank zero."""
    return TCPStore(host, port, is_master=hosts, timeout=_STEP_TIMEOUT, wait_for_workers=False)


def _brief(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n")[0][:200]
