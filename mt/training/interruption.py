"""Signals that ask a run to save its state and leave, and the lock that keeps a second run out of its folder."""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from mt.errors import DiskError, LockedError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


class StopRequest:
    """Set by the first SIGINT, SIGTERM or SIGUSR1 (SLURM's preemption); a second SIGINT interrupts at once."""

    def __init__(self) -> None:
        self.signal_number = 0

    def __bool__(self) -> bool:
        return self.signal_number != 0

    def note(self, number: int, _frame: FrameType | None) -> None:
        """The handler. SIGUSR1 is reported as the SIGTERM that would follow it."""
        if self and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal_number = signal.SIGTERM if number == signal.SIGUSR1 else number


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """While inside, the signals only note the wish to stop."""
    request = StopRequest()
    before = {number: signal.signal(number, request.note) for number in _SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a run folder for this process. Raises LockedError when another one holds it, DiskError if unwritable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise DiskError(f"cannot write to run_dir {folder}: {error.strerror}: choose another with run_dir=") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise LockedError(
            f"another process is training in {folder}: wait for it, or choose another with run_dir="
        ) from error
    try:
        yield
    finally:
        os.close(handle)
