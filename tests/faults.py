"""A disk that fails: every call that changes files below a folder is counted, and one fails."""

import builtins
import errno
import functools
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, Self
from unittest import mock

from mt.errors import DiskError

# death: the process ends at the call, and content that was not synced is lost. power: new names in folders that were
# not synced are lost too, also where no call fails. once: the call fails, later ones work.
# full: from the call on nothing more can be written, though deleted. read_only: from the call on nothing works.
Mode = Literal["death", "power", "once", "full", "read_only"]
MODES: tuple[Mode, ...] = ("death", "power", "once", "full", "read_only")
ERRORS = {"once": errno.EIO, "full": errno.ENOSPC, "read_only": errno.EROFS}
RELIABILITY_ROW: dict[Mode, int] = {"death": 1, "power": 1, "once": 1, "full": 3, "read_only": 3}
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
        self.names: list[tuple[int, Callable[[Path], None]]] = []  # of unsynced folders: how each new name is lost

    @property
    def failed(self) -> bool:
        return self.calls >= self.fail_at

    def call(self, name: str, path: Any = None) -> None:
        """Count a call; one that fails raises what the system would, which names the file unless it is a write."""
        self.calls += 1
        if self.calls < self.fail_at or (self.mode == "once" and self.calls > self.fail_at):
            return
        if self.mode in ("death", "power"):
            self.calls = self.fail_at  # the dead make no calls
            raise Death
        if self.mode != "full" or name not in DELETING:
            raise OSError(ERRORS[self.mode], os.strerror(ERRORS[self.mode]), path)

    def wrap(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if self.holds(arguments[0]):
                self.call(name, arguments[0])
            if self.mode != "power" or options.get("dir_fd") is not None or not self.holds(arguments[0]):
                return original(*arguments, **options)
            return self.naming(name, functools.partial(original, *arguments, **options), *arguments[:2])

        return counted

    def naming(self, call: str, action: Callable[[], Any], path: Any, other: Any = None) -> Any:
        """Do what a call does to a folder's names and note how it is undone; a file's deletion is not."""
        folder, name = Path(path).parent, Path(path).name
        there = (folder / name).exists()
        new = Path(other).name if call in ("replace", "rename") else ""
        before = (folder / new).read_bytes() if new and (folder / new).is_file() else None
        result = action()

        def undo(found: Path) -> None:
            if call == "mkdir":
                shutil.rmtree(found / name)
            elif call == "rmdir":
                (found / name).mkdir()
            elif new:
                (found / new).rename(found / name)
                if before is not None:
                    (found / new).write_bytes(before)
            elif not there:
                (found / name).unlink(missing_ok=True)

        if call in ("mkdir", "rmdir", "replace", "rename", "open", "write"):
            self.names.append((folder.stat().st_ino, undo))
        return result

    def holds(self, path: Any) -> bool:
        """Whether a path is below the folder; one that is relative to an open folder counts too."""
        given = Path(os.fsdecode(path))
        return not given.is_absolute() or given.is_relative_to(self.root)

    def fsync(self, handle: int) -> None:
        self.call("fsync")
        synced = os.fstat(handle).st_ino
        self.unsynced.discard(synced)
        self.names = [(folder, undo) for folder, undo in self.names if folder != synced]

    def open_file(self, path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if not set("wax+") & set(mode) or isinstance(path, int) or not self.holds(path):
            return io_open(path, mode, *arguments, **options)
        self.call("write", path)
        opened = functools.partial(io_open, path, mode, *arguments, **options)
        return _File(self.naming("write", opened, path) if self.mode == "power" else opened(), self)

    def forget_unsynced(self, root: Path) -> None:
        """What a power failure leaves of a file that was never synced: its name."""
        for path in root.rglob("*"):
            if path.is_file() and path.stat().st_ino in self.unsynced:
                path.write_bytes(b"")

    def forget_names(self, root: Path) -> None:
        """What a power failure leaves of folders that were never synced: their names as they were, newest lost first.

        A folder is found by its number, because it may have been renamed itself.
        """
        for folder, undo in reversed(self.names):
            for path in (root.parent, root, *root.rglob("*")):
                if path.is_dir() and path.stat().st_ino == folder:
                    undo(path)
                    break


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
        if mode in ("death", "power"):
            raise
        return False
    return True


@contextmanager
def failing_disk(root: Path, *, fail_at: int, mode: Mode) -> Iterator[Disk]:
    """While inside, every call that writes below `root` is counted, and the one number `fail_at` fails."""
    disk = Disk(root, fail_at=fail_at, mode=mode)
    names = ("open", "replace", "rename", "mkdir", "unlink", "rmdir", "chmod")
    with ExitStack() as patches:
        for name in names:
            patches.enter_context(mock.patch.object(os, name, disk.wrap(name, getattr(os, name))))
        patches.enter_context(mock.patch.object(os, "fsync", disk.fsync))
        for module in (io, builtins):
            patches.enter_context(mock.patch.object(module, "open", disk.open_file))
        yield disk
    if mode == "power" or (mode == "death" and disk.failed):
        disk.forget_unsynced(root)
        disk.forget_names(root)
