"""What can go wrong without a bug in the program, each with the exit code of the command.

Every message is one line: what is wrong, where, and what to do about it.
"""

import errno
import functools
import signal
import sys
from typing import Any

EXIT_CODES = {
    0: "done",
    1: "a bug (a traceback is shown), or another rank of the training ended",
    2: "the user's input, configuration or data cannot be used",
    3: "training diverged, or a model gives no finite scores",
    4: "a checkpoint, tokenizer or run file is damaged",
    5: "writing failed: disk full, or the folder is read-only",
    6: "another process is writing to this folder",
    130: "stopped by SIGINT",
    141: "the reader of the output ended first (SIGPIPE), such as head",
    143: "stopped by SIGTERM, SIGHUP, SIGUSR1 or SIGUSR2; a training has saved its state",
}

_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.ESTALE}
_PERMISSION_ERRORS = {errno.EACCES, errno.EPERM}
# Of a CPU's allocator; of a GPU's libraries, such as CUBLAS_STATUS_ALLOC_FAILED, and of its driver.
_OUT_OF_MEMORY = ("can't allocate memory", "STATUS_ALLOC_FAILED", "CUDA error: out of memory")

if sys.platform == "win32":  # has no file locks, signals and timers of Unix
    sys.stderr.write("error: Windows is not supported: use Linux in WSL 2, or macOS\n")
    raise SystemExit(2)


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
    """Another process is writing to this folder."""

    exit_code = 6


class LostRankError(MtError):
    """Another rank of the same training ended; its own message says why."""


class WorkerLostError(UserError):
    """A process that works for this one was killed, perhaps because memory ran out, or cannot be made."""


class StoppedError(MtError):
    """A signal stopped the process; the same command continues."""

    def __init__(self, message: str, *, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number

    def __reduce__(self) -> tuple[Any, ...]:  # ranks hand it to each other
        return functools.partial(StoppedError, signal_number=self.signal_number), self.args


class SearchStoppedError(MtError):
    """Nobody waits for the translations any more: the search ended before they were complete."""


class SignalledError(KeyboardInterrupt):
    """A signal ended a command that has no state to save. Libraries do not catch a KeyboardInterrupt."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def from_system(error: Exception) -> MtError | None:
    """Return what the machine refused (disk, permission, path, memory) as an error for the user; None is a bug."""
    if isinstance(error, OSError):
        if error.errno in _DISK_ERRORS:
            path = error.filename2 or error.filename or "the output"  # of a copy the second name is the new one
            return DiskError(f"cannot write {path}: {error.strerror}; free some space and run it again")
        if error.errno in _PERMISSION_ERRORS:
            return DiskError(f"{error.filename or 'the output'}: {error.strerror}; check who may read and write it")
        if error.filename and not out_of_memory(error):
            return UserError(f"{error.filename}: {error.strerror}; check the path")
    if out_of_memory(error):
        return UserError(
            "out of memory: set training.micro_batch_tokens=auto or lower the size of the model to train, "
            "decoding.batch_tokens or decoding.beam_size to translate"
        )
    return None


def out_of_memory(error: Exception) -> bool:
    """Whether memory ran out; torch raises its own class on a GPU, and elsewhere a RuntimeError with such a text."""
    in_words = isinstance(error, RuntimeError) and any(words in str(error) for words in _OUT_OF_MEMORY)
    refused = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return in_words or refused or isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
