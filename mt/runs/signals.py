"""Signals that stop a training with its state saved, or end another command; the lock on a run folder."""

import errno
import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from mt.errors import DiskError, LockedError, SignalledError, StoppedError
from mt.runs.folder import LOCK

_CLUSTER_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)  # of a job that is preempted, or whose time ends
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *_CLUSTER_SIGNALS)
_RAISE_AGAIN_SECONDS = 2.0
_received: list[int] = []  # the first signal to a command without a StopRequest


def end_on_signals() -> None:
    """Make the signals that ask a process to end raise SignalledError, where nothing else handles them yet."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _raise_signalled)


def _raise_signalled(number: int, _frame: FrameType | None) -> NoReturn:
    """The handler. What it raises in the middle of an import or of a library's callback may be swallowed there.

    It is therefore raised again and again until `received_signal` is asked.
    """
    _leave_lost_terminal()
    _received[:] = _received[:1] or [number]
    signal.signal(signal.SIGALRM, _raise_signalled)
    signal.setitimer(signal.ITIMER_REAL, _RAISE_AGAIN_SECONDS, _RAISE_AGAIN_SECONDS)
    raise SignalledError(_received[0])


def _leave_lost_terminal() -> None:
    """Where the terminal was closed, what is said goes nowhere: it must not keep a state from being saved."""
    for stream in (1, 2):
        try:
            os.write(stream, b"")
        except OSError as error:
            if error.errno == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)


def received_signal() -> int | None:
    """The signal that ended this command, None without one; it is not raised again."""
    if not _received:
        return None
    signal.setitimer(signal.ITIMER_REAL, 0)
    return _received.pop()


def reported_signal(number: int) -> int:
    """The signal whose exit code is reported: the others count as SIGTERM, which would follow them."""
    return number if number == signal.SIGINT else signal.SIGTERM


class StopRequest:
    """Set by the first of `_SIGNALS`, preemption by SLURM and submitit among them; raises StoppedError.

    Inside `held_back`, where a state must stay whole, it is raised on leaving; inside an inner `at_once`, at once.
    A second SIGINT raises KeyboardInterrupt at once.
    """

    def __init__(self) -> None:
        self.signal_number = 0
        self.received = 0
        self._held_back = False

    def __bool__(self) -> bool:
        return self.signal_number != 0

    def note(self, number: int, _frame: FrameType | None) -> None:
        """The handler."""
        _leave_lost_terminal()
        if self:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        self.received = number
        self.signal_number = reported_signal(number)
        if not self._held_back:
            self._stop()

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """While inside, a signal is only noted. Raises StoppedError on leaving when one came."""
        self._held_back = True
        try:
            yield
        finally:
            self._held_back = False
        if self:
            self._stop()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside `held_back`: for long work that changes no state. Raises StoppedError as soon as a signal comes."""
        self._held_back = False
        try:
            if self:
                self._stop()
            yield
        finally:
            self._held_back = True

    def _stop(self) -> None:
        raise StoppedError(
            "stopped by a signal: no file is half written; the same command continues",
            signal_number=self.signal_number,
        )


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """While inside, the signals go to the request.

    The handler that a cluster's launcher had set for its signal, which may requeue the job, runs afterwards.
    """
    request = StopRequest()
    ignored = [number for number in (signal.SIGHUP,) if signal.getsignal(number) == signal.SIG_IGN]  # by nohup
    before = {number: signal.signal(number, request.note) for number in _SIGNALS if number not in ignored}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        launcher = before.get(signal.Signals(request.received)) if request.received in _CLUSTER_SIGNALS else None
        if callable(launcher) and launcher is not _raise_signalled:
            launcher(request.received, None)


@contextmanager
def lock_folder(folder: Path, *, key: str = "run_dir") -> Iterator[None]:
    """Hold a folder for this process. Raises LockedError when another one holds it, DiskError if unwritable."""
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
            held.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LockedError(
                f"another process is writing to {folder}: wait for it, or choose another with {key}="
            ) from error
        except OSError as error:
            raise DiskError(f"cannot write to {key} {folder}: {error.strerror}: choose another with {key}=") from error
        yield
