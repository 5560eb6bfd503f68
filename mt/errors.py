"""What can go wrong through no fault of the program, each with the exit code that a script reports.

Exit codes: 0 done, 1 a bug, 2 the user's input, configuration or data, 3 diverged, 4 bad file,
5 disk, 6 locked; 130 and 143 stopped by a signal with the state saved. Stopping by the clock is no failure: 0.
Every message is one line: what is wrong, where, and what to do about it.
"""

import errno
import shutil
import signal
from functools import partial
from types import FrameType
from typing import Any, NoReturn

_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.ESTALE}
_PERMISSION_ERRORS = {errno.EACCES, errno.EPERM}
_PATH_ERRORS = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP}


class MtError(Exception):
    """An expected failure; the command prints its message and exits with `exit_code`."""

    exit_code = 1


class UserError(MtError):
    """The user's input, configuration or data cannot be used."""

    exit_code = 2


class DivergedError(MtError):
    """Training produced non-finite losses or gradients repeatedly."""

    exit_code = 3


class BadFileError(MtError):
    """A checkpoint, tokenizer or run file is damaged or is not what it claims to be."""

    exit_code = 4


class DiskError(MtError):
    """Writing failed: disk full, or the folder is read-only."""

    exit_code = 5


class LockedError(MtError):
    """Another process is training in this run folder."""

    exit_code = 6


class LostRankError(MtError):
    """Another process of the same training ended; its own message says why."""


class StoppedError(MtError):
    """A signal (or, with `signal_number` 0, the clock) stopped the process; the same command continues.

    A run that its clock stops did what it was told and exits 0, so that a chain of batch jobs goes on.
    """

    def __init__(self, message: str, *, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number if signal_number else 0

    def __reduce__(self) -> tuple[Any, ...]:
        """One process may tell others."""
        return partial(StoppedError, signal_number=self.signal_number), self.args


class SignalledError(KeyboardInterrupt):
    """A signal ended a command that has no state to save; no exception that a library catches and forgets."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


_ASK_AGAIN_SECONDS = 2.0
_asked: list[int] = []  # the first signal that asked to leave


def leave_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """The handler of a command's signals, where it has set none of its own.

    An exception raised in the middle of an import, or while a library calls back, may be swallowed there: until
    somebody takes it (`has_left`) it is raised again and again.
    """
    _asked[:] = _asked[:1] or [number]
    signal.signal(signal.SIGALRM, leave_on_signal)
    signal.setitimer(signal.ITIMER_REAL, _ASK_AGAIN_SECONDS, _ASK_AGAIN_SECONDS)
    raise SignalledError(_asked[0])


def has_left() -> int | None:
    """The signal that asked this command to leave, None where none did; it is not raised again."""
    if not _asked:
        return None
    signal.setitimer(signal.ITIMER_REAL, 0)
    return _asked.pop()


def from_system(error: Exception) -> MtError | None:
    """Return what the machine refused (disk, permission, path, memory) as an error for the user; None is a bug."""
    if isinstance(error, shutil.SpecialFileError):
        return UserError(f"{error}: put a file in its place")
    if isinstance(error, OSError):
        if error.errno in _DISK_ERRORS:
            place = error.filename2 or error.filename or "the output"  # of a copy the second name is the new one
            return DiskError(f"cannot write {place}: {error.strerror}; free some space there")
        if error.errno in _PERMISSION_ERRORS:
            return DiskError(f"{error.filename or 'the output'}: {error.strerror}; check who may read and write it")
        if error.errno in _PATH_ERRORS and error.filename:
            return UserError(f"{error.filename}: {error.strerror}; check the path")
    if out_of_memory(error):
        return UserError(
            "out of memory: set training.micro_batch_tokens=auto or lower the size of the model to train, "
            "decoding.batch_tokens or decoding.beam_size to translate"
        )
    return None


def out_of_memory(error: Exception) -> bool:
    """Whether the machine had no memory left; torch has a class of its own on a GPU and says it in words on a CPU."""
    in_words = isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    return in_words or isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
