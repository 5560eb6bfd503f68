"""Signals that ask a run to save its state and leave, and the lock that keeps a second run out of its folder."""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from mt.errors import DiskError, LockedError, StoppedError, leave_on_signal
from mt.runs.folder import LOCK

_CLUSTER_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)  # of a job that makes room for another, or whose time ends
_SIGNALS = (signal.SIGINT, signal.SIGTERM, *_CLUSTER_SIGNALS)


class StopRequest:
    """Set by the first SIGINT, SIGTERM, SIGUSR1 or SIGUSR2 (SLURM's and submitit's preemption); raises StoppedError.

    Where a state must not be torn, `held_back` waits with raising, and within it `at_once` allows it again.
    A second SIGINT interrupts at once.
    """

    def __init__(self) -> None:
        self.signal_number = 0
        self.received = 0
        self._held_back = False

    def __bool__(self) -> bool:
        return self.signal_number != 0

    def note(self, number: int, _frame: FrameType | None) -> None:
        """The handler. SIGUSR1 and SIGUSR2 are reported as the SIGTERM that would follow them."""
        if self:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        self.received = number
        self.signal_number = signal.SIGTERM if number in _CLUSTER_SIGNALS else number
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
        """Inside `held_back`: a stretch that may be long and changes nothing. Raises StoppedError on a signal."""
        self._held_back = False
        try:
            if self:
                self._stop()
            yield
        finally:
            self._held_back = True

    def _stop(self) -> None:
        raise StoppedError(
            "a signal asked to stop: nothing was half done; the same command continues",
            signal_number=self.signal_number,
        )


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """While inside, the signals go to the request.

    What a cluster's launcher does at its own signal, such as to queue the job again, it does afterwards.
    """
    request = StopRequest()
    before = {number: signal.signal(number, request.note) for number in _SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        launcher = before.get(signal.Signals(request.received)) if request.received in _CLUSTER_SIGNALS else None
        if callable(launcher) and launcher is not leave_on_signal:
            launcher(request.received, None)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a run folder for this process. Raises LockedError when another one holds it, DiskError if unwritable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise DiskError(f"cannot write to run_dir {folder}: {error.strerror}: choose another with run_dir=") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise LockedError(
            f"another process is training in {folder}: wait for it, or choose another with run_dir="
        ) from error
    except OSError as error:
        os.close(handle)
        raise DiskError(f"cannot lock run_dir {folder}: {error.strerror}: choose another with run_dir=") from error
    try:
        yield
    finally:
        os.close(handle)
