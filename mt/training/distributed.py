"""Several processes that train one model, on one machine or many. torchrun starts them; here they are joined.

Each has a share of every step's batch. Gradients are added by DistributedDataParallel, or, where parameters and
moments do not fit one device, by FSDP2 (`fully_shard`), which leaves each rank a part of them. What is computed on
the device goes through NCCL there; what the processes tell each other goes through gloo, which notices at once when
one has died.
"""

import contextlib
import copy
import functools
import inspect
import itertools
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
from mt.training.processes import Replica

Result = TypeVar("Result")

_MEETING = timedelta(minutes=10)  # for all processes to come up, and for a step
_WAITING = timedelta(days=7)  # for the first rank to read and tokenize a corpus, or to validate
_LEAVING_SECONDS = 10  # after an error, for what may hang in a collective that another rank left
_STUCK_SECONDS = 20  # after a signal, without a sign of life; torchrun kills after 30

_KERNELS = {"fused": False, "foreach": True}  # of an optimizer of parts: torch's fused one cannot skip a step there
# Whether each forward pass sends the table of positions, which all ranks have; torch 2.13 renamed it.
_BUFFERS_OF_FORWARD = next(
    name
    for name in ("forward_sync_buffers", "broadcast_buffers")
    if name in inspect.signature(DistributedDataParallel).parameters
)

_meetings = itertools.count()


class Distributed:
    """One of the processes that torchrun started, by the environment variables it set; see `Ranks`.

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
                f"WORLD_SIZE is set, so this is one of several processes, but {error} is missing or no number: "
                "start them with torchrun, or unset WORLD_SIZE"
            ) from error
        self._hosts_store = self.rank == 0 and environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
        self._fsdp = fsdp
        self._asked: tuple[Tensor, dist.Work | None] | None = None
        self._patient = False
        self._last_sign = time.monotonic()

    @property
    def is_rank_zero(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    def __enter__(self) -> "Distributed":  # noqa: PYI034  as in Ranks
        """Meet the others. Raises UserError when they do not come."""
        signal.alarm(0)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        try:
            store = _store(self._host, self._port, self._hosts_store)
            self._store = PrefixStore(f"mt-{next(_meetings)}", store)
            options: dict[str, Any] = {"store": self._store, "rank": self.rank, "world_size": self.world_size}
            dist.init_process_group(backend, timeout=_MEETING, **options)
            self._control = dist.new_group(backend="gloo", timeout=_WAITING)
        except (dist.DistError, RuntimeError, ValueError) as error:
            place = f"{self._host}:{self._port}"
            raise UserError(f"the {self.world_size} processes did not meet at {place}: {_brief(error)}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave. One rank tells of the error, the first that has it; raises SystemExit on the others."""
        if error is None:
            dist.destroy_process_group()
            return
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_LEAVING_SECONDS)
        tells = self._store.add("told", 1) == 1
        if isinstance(error, MtError) and not isinstance(error, LostRankError):
            dist.destroy_process_group()
        if not tells:
            time.sleep(1)  # torchrun ends the others as soon as one has left
            raise SystemExit(getattr(error, "exit_code", 1)) from error
        if isinstance(error, RuntimeError) and _is_of_connection(error):
            raise _lost(error) from error

    def device(self, device: torch.device) -> torch.device:
        """The GPU of this rank's number on its machine. Raises UserError where there are fewer."""
        if device.type == "mps":
            raise UserError("device=mps: there is one, and several processes were started; use device=cpu")
        if device.type != "cuda":
            return device
        if self._local_rank >= torch.cuda.device_count():
            raise UserError(f"more processes on this machine than its {torch.cuda.device_count()} GPUs: one for each")
        torch.cuda.set_device(self._local_rank)
        return torch.device("cuda", self._local_rank)

    @contextlib.contextmanager
    def waiting(self, stop: StopRequest) -> Iterator[None]:
        """While inside, a signal is obeyed by all or none, and by a rank that hangs all the same.

        The first rank obeys it at once where it works alone, and tells the others; the others only note it until
        all agree in a step.
        """
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(reading, True)
        before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(reading,), name="signals", daemon=True).start()
        try:
            with nullcontext() if self.is_rank_zero else stop.held_back():
                yield
        finally:
            signal.set_wakeup_fd(before)
            os.close(writing)

    def _watch(self, signals: int) -> None:
        """End the process where a signal came and the main thread, deep in a collective, cannot obey it.

        So it is when a rank died in a step: NCCL does not notice, and waits for it.
        """
        while number := os.read(signals, 1):
            if number[0] not in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
                continue
            came = time.monotonic()
            while self._patient or time.monotonic() - max(came, self._last_sign) < _STUCK_SECONDS:
                time.sleep(0.5)
            os._exit(128 + number[0])
        os.close(signals)

    def on_rank_zero(self, action: Callable[[], Result]) -> Result:
        """What the first rank's action returned, everywhere; or its error, if it is one of the program's own."""
        outcome: list[Any] = [None, None]
        if self.is_rank_zero:
            try:
                with self._patiently():
                    outcome[0] = action()
            except MtError as error:
                outcome[1] = error
        with nullcontext() if self.is_rank_zero else self._patiently():
            _all_alive(lambda: dist.broadcast_object_list(outcome, src=0, group=self._control))
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def rank_zero_first(self, action: Callable[[], Result]) -> Result:
        """What this rank's action returned, done after the first rank's."""
        results: list[Result] = []
        self.on_rank_zero(lambda: results.append(action()))
        if not self.is_rank_zero:
            results.append(action())
        return results[0]

    def largest(self, number: int) -> int:
        """The largest of the numbers that the ranks gave in the call before: nobody waits for the answer."""
        before, self._asked = self._asked, None
        answer = 0
        if before is not None:
            numbers, work = before
            _all_alive(lambda: work and work.wait())
            answer = int(numbers)
        numbers = torch.tensor(number)
        self._asked = numbers, dist.all_reduce(numbers, dist.ReduceOp.MAX, group=self._control, async_op=True)
        self._last_sign = time.monotonic()
        return answer

    def add(self, sums: Tensor) -> None:
        """Put the sum over the ranks in place of each rank's own."""
        dist.all_reduce(sums)

    def whole(self, tensor: Tensor) -> Tensor:
        """The tensor itself, gathered from the ranks where each has a part."""
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def smallest(self, number: int) -> int:
        """The smallest of the ranks' numbers."""
        numbers = torch.tensor(number)
        _all_alive(lambda: dist.all_reduce(numbers, dist.ReduceOp.MIN, group=self._control))
        return int(numbers)

    def check_equal(self, number: int, complaint: str) -> None:
        """Raise UserError when the ranks have different numbers."""
        if self.smallest(number) != -self.smallest(-number):
            raise UserError(f"the processes read {complaint}")

    def wrap(self, loss: nn.Module, optimizer: torch.optim.Optimizer) -> Replica:
        """Give every rank the parameters, or its part of them. All ranks have loaded the same ones."""
        if self._fsdp:
            return self._shard(loss, optimizer)
        options: dict[str, Any] = {_BUFFERS_OF_FORWARD: False}
        module = DistributedDataParallel(loss, gradient_as_bucket_view=True, **options)
        # The first backward pass decides in which order gradients are added; made here, a restart changes no bit.
        nothing = make_batch([[]], [[]]).without_targets().to(next(loss.parameters()).device)
        module(nothing)[0].backward()
        optimizer.zero_grad(set_to_none=True)
        return Replica(module, optimizer, functools.partial(self._living, module.no_sync), lambda _: None)

    def _shard(self, loss: nn.Module, optimizer: torch.optim.Optimizer) -> Replica:
        """Leave each rank its part; the first one keeps the plain model too, for validation and checkpoints."""
        plain = dict(loss.named_parameters())
        mesh = init_device_mesh(next(iter(plain.values())).device.type, (self.world_size,))
        module = copy.deepcopy(loss) if self.is_rank_zero else loss
        for stack in [child for child in module.modules() if isinstance(child, nn.ModuleList)]:
            for layer in stack:
                fully_shard(layer, mesh=mesh)
        fully_shard(module, mesh=mesh)
        parts = dict(module.named_parameters())
        own = type(optimizer)(parts.values(), **optimizer.defaults | _KERNELS)
        part = functools.partial(distribute_tensor, device_mesh=mesh, placements=[Shard(0)], src_data_rank=None)
        for name, parameter in plain.items():
            moments = optimizer.state.pop(parameter, {})
            own.state[parts[name]] = {key: part(value) if value.ndim else value.cpu() for key, value in moments.items()}

        @torch.no_grad()
        def collect(moments: bool) -> None:
            for name, parameter in parts.items():
                whole = self.whole(parameter)
                state = own.state[parameter] if moments else {}
                gathered = {key: self.whole(value) for key, value in state.items()}
                if self.is_rank_zero:
                    plain[name].copy_(whole)
                    optimizer.state[plain[name]] = {key: value.cpu() for key, value in gathered.items()}

        return Replica(module, own, functools.partial(self._living, nullcontext), collect)

    @contextlib.contextmanager
    def _patiently(self) -> Iterator[None]:
        """While inside, a long time without a sign of life means work on the first rank."""
        self._patient = True
        try:
            yield
        finally:
            self._last_sign = time.monotonic()
            self._patient = False

    @contextlib.contextmanager
    def _living(self, inner: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
        self._last_sign = time.monotonic()
        with inner():
            yield


@functools.cache
def _store(host: str, port: int, hosts: bool) -> TCPStore:
    """Where the processes find each other; torchrun keeps it, or else the first rank."""
    return TCPStore(host, port, is_master=hosts, timeout=_MEETING, wait_for_workers=False)


def _all_alive(action: Callable[[], object]) -> None:
    try:
        action()
    except RuntimeError as error:
        raise _lost(error) from error


def _lost(error: RuntimeError) -> LostRankError:
    return LostRankError(f"another process of this training has ended, and this one with it ({_brief(error)})")


def _is_of_connection(error: RuntimeError) -> bool:
    return isinstance(error, dist.DistError) or "gloo" in str(error)


def _brief(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n")[0][:200]
