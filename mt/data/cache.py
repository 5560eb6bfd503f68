"""Folders of the cache, each named by what it is made from: written aside, renamed when complete, then reused."""

import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from mt.runs.atomic import disk_error

ABANDONED_SECONDS = 86400.0
Result = TypeVar("Result")


def publish_folder(
    folder: Path, write: Callable[[Path], Result], *, is_whole: Callable[[], bool], key: str = "data.cache_dir"
) -> Result:
    """Let `write` fill a new folder, give it the name `folder` once the disk holds it, and return what `write` did.

    A whole folder that another process published first stays; a damaged one is replaced. Raises DiskError, which
    names the option `key`; `folder` is then as it was.
    """
    _remove_abandoned(folder.parent)
    aside = folder.with_name(f"{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    try:
        aside.mkdir(parents=True)
        result = write(aside)
        for path in aside.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        try:
            aside.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            if not is_whole():
                damaged = folder.with_name(f"damaged.{aside.name}")
                folder.rename(damaged)
                aside.rename(folder)
                shutil.rmtree(damaged, ignore_errors=True)
        return result
    except OSError as error:
        raise disk_error(folder, error, key=key) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _remove_abandoned(cache_dir: Path) -> None:
    """Delete what killed processes left half written: nobody writes for longer than `ABANDONED_SECONDS`."""
    for partial in cache_dir.glob("*.partial"):
        with suppress(OSError):
            if time.time() - partial.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(partial, ignore_errors=True)
