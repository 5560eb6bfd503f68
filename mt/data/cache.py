"""Folders of the cache, each named by a hash of what it is made from: written aside, renamed when complete, reused."""

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import zlib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from mt.runs.atomic import disk_error

MANIFEST = "manifest.json"
WRITER = ".writer"  # locked by the process that is writing the folder

Facts = dict[str, Any]  # what is known of a folder's content, as JSON holds it
Write = Callable[[Callable[[], Path]], Facts]


def cached_folder(
    cache_dir: Path, kind: str, origin: object, write: Write, *, key: str = "data.cache_dir"
) -> tuple[Path, Facts]:
    """Return the folder of the `kind` that is made from `origin`, and the facts that `write` returned of it.

    `write` fills the folder that its argument makes and returns, which is then renamed. A folder is made again where
    anything in it is not as it was written; to know that, all of it is read. Several processes may make the same folder
    at once.
    Raises DiskError, which names the option `key`; there is then no folder.
    """
    digest = hashlib.blake2b(json.dumps(origin, sort_keys=True).encode("utf-8"), digest_size=16).hexdigest()
    folder = cache_dir / f"{kind}-{digest}"
    facts = _facts_of_whole(folder)
    if facts is None:
        _remove_abandoned(cache_dir)
        facts = _make(folder, write, key=key)
    return folder, facts


def _facts_of_whole(folder: Path) -> Facts | None:
    """The facts of a folder, or None when it is missing or not as it was written."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        facts: Facts = manifest["facts"]
        return facts if manifest["checksum"] == _checksum(folder, facts) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make(folder: Path, write: Write, *, key: str) -> Facts:
    aside = folder.with_name(f"{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    held = ExitStack()

    def begin() -> Path:
        while True:  # another process may have taken the folder for an abandoned one before it was locked
            aside.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                fcntl.flock(held.enter_context((aside / WRITER).open("wb")), fcntl.LOCK_EX)
                if (aside / WRITER).exists():
                    return aside

    try:
        facts = write(begin)
        (aside / WRITER).unlink()
        manifest = {"facts": facts, "checksum": _checksum(aside, facts)}
        (aside / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        for path in aside.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        try:
            aside.rename(folder)
        except OSError:
            if _facts_of_whole(folder) is None:  # else another process was faster
                shutil.rmtree(folder, ignore_errors=True)
                aside.rename(folder)
        return facts
    except OSError as error:
        raise disk_error(folder, error, key=key) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        held.close()


def _checksum(folder: Path, facts: Facts) -> int:
    checksum = zlib.crc32(json.dumps(facts).encode("utf-8"))
    for path in sorted(folder.iterdir()):
        if path.name != MANIFEST:
            checksum = zlib.crc32(f"{path.name} {path.stat().st_size}".encode(), checksum)
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    checksum = zlib.crc32(block, checksum)
    return checksum


def _remove_abandoned(cache_dir: Path) -> None:
    """Delete what killed processes left half written; a living writer holds its lock, and no clock is asked."""
    for partial in cache_dir.glob("*.partial"):
        with suppress(OSError), (partial / WRITER).open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(partial, ignore_errors=True)
