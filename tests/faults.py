"""A disk that fails: every call that changes files below a folder is counted, and one fails."""

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, Self
from unittest import mock

from mt.errors import DiskError

# death: the process ends at the call, and what was not synced is lost. once: the call fails, later ones work.
# full: from the call on nothing more can be written, though deleted. read_only: from the call on nothing works.
Mode = Literal["death", "once", "full", "read_only"]
MODES: tuple[Mode, ...] = ("death", "once", "full", "read_only")
ERRORS = {"once": errno.EIO, "full": errno.ENOSPC, "read_only": errno.EROFS}
RELIABILITY_ROW: dict[Mode, int] = {"death": 1, "once": 1, "full": 3, "read_only": 3}
DELETING = ("unlink", "rmdir", "open", "close")


class Death(BaseException):
    """The process is killed here; nothing may catch it."""


class Disk:
    """Counts calls, fails those that `mode` says from call `fail_at` on, and forgets what was never synced."""

    def __init__(self, root: Path, *, fail_at: int, mode: Mode) -> None:
        self.root = root
        self.fail_at = fail_at
        self.mode = mode
        self.calls = 0
        self.unsynced: set[int] = set()

    @property
    def failed(self) -> bool:
        return self.calls >= self.fail_at

    def call(self, name: str, path: Any = None) -> None:
        """Count a call; one that fails raises what the system would, which names the file unless it is a write."""
        self.calls += 1
        if self.calls < self.fail_at or (self.mode == "once" and self.calls > self.fail_at):
            return
        if self.mode == "death":
            self.calls = self.fail_at  # the dead make no calls
            raise Death
        if self.mode != "full" or name not in DELETING:
            raise OSError(ERRORS[self.mode], os.strerror(ERRORS[self.mode]), path)

    def wrap(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if self.holds(arguments[0]):
                self.call(name, arguments[0])
            return original(*arguments, **options)

        return counted

    def holds(self, path: Any) -> bool:
        """Whether a path is below the folder; one that is relative to an open folder counts too."""
        given = Path(os.fsdecode(path))
        return not given.is_absolute() or given.is_relative_to(self.root)

    def fsync(self, handle: int) -> None:
        self.call("fsync")
        self.unsynced.discard(os.fstat(handle).st_ino)

    def open_file(self, path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if not set("wax+") & set(mode) or isinstance(path, int) or not self.holds(path):
            return io_open(path, mode, *arguments, **options)
        self.call("write", path)
        return _File(io_open(path, mode, *arguments, **options), self)

    def forget_unsynced(self, root: Path) -> None:
        """What a power failure leaves of a file that was never synced: its name."""
        for path in root.rglob("*"):
            if path.is_file() and path.stat().st_ino in self.unsynced:
                path.write_bytes(b"")


class _File:
    """A file that is being written; a write that fails has written half."""

    def __init__(self, file: Any, disk: Disk) -> None:
        self.file = file
        self.disk = disk
        disk.unsynced.add(os.fstat(file.fileno()).st_ino)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def write(self, content: Any) -> None:
        try:
            self.disk.call("write")
        except BaseException:
            self.file.write(content[: len(content) // 2])
            self.file.flush()
            raise
        self.file.write(content)

    def flush(self) -> None:
        self.disk.call("write")
        self.file.flush()


io_open = io.open


def succeeds(action: Callable[[], None], mode: Mode) -> bool:
    """Whether it was done; it may fail only by DiskError, or where the process dies by that."""
    try:
        action()
    except Death:
        return False
    except DiskError:
        if mode == "death":
            raise
        return False
    return True


@contextmanager
def failing_disk(root: Path, *, fail_at: int, mode: Mode) -> Iterator[Disk]:
    """While inside, every call that writes below `root` is counted, and the one number `fail_at` fails."""
    disk = Disk(root, fail_at=fail_at, mode=mode)
    names = ("open", "replace", "rename", "mkdir", "unlink", "rmdir")
    with ExitStack() as patches:
        for name in names:
            patches.enter_context(mock.patch.object(os, name, disk.wrap(name, getattr(os, name))))
        patches.enter_context(mock.patch.object(os, "fsync", disk.fsync))
        for module in (io, builtins):
            patches.enter_context(mock.patch.object(module, "open", disk.open_file))
        yield disk
    if mode == "death" and disk.failed:
        disk.forget_unsynced(root)
