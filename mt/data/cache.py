"""Folders of the cache, each named by a hash of what it is made from: written aside, renamed when complete, reused."""

import fcntl
import hashlib
import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mt.reporting import report
from mt.runs.atomic import MANIFEST, disk_error, sync_folder

WRITER = ".writer"  # locked by the process that writes into the cache

Facts = dict[str, Any]  # what is known of a folder's content, as JSON holds it


def cached_folder(
    cache_dir: Path, kind: str, origin: object, write: Callable[[Path], Facts], *, key: str = "data.cache_dir"
) -> tuple[Path, Facts]:
    """Return the folder of the `kind` that is made from `origin`, and the facts that `write` returned of it.

    `write` fills an empty folder, which is then renamed. A folder is made again where anything in it is not as it was
    written; to know that, all of it is read. One process at a time writes, the others wait for it.
    Raises DiskError, which names the option `key`; there is then no folder.
    """
    digest = hashlib.blake2b(json.dumps(origin, sort_keys=True).encode("utf-8"), digest_size=16).hexdigest()
    folder = cache_dir / f"{kind}-{digest}"
    facts = _facts_of_whole(folder)
    try:
        if facts is None:
            cache_dir.mkdir(parents=True, exist_ok=True)
            with (cache_dir / WRITER).open("wb") as lock:  # a process that dies holds it no longer
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    report(f"waiting for another process that writes to {cache_dir}")
                    fcntl.flock(lock, fcntl.LOCK_EX)
                facts = _facts_of_whole(folder) or _make(folder, write)
    except OSError as error:
        raise disk_error(folder, error, key=key) from error
    return folder, facts


def _facts_of_whole(folder: Path) -> Facts | None:
    """The facts of a folder, or None when it is missing or not as it was written."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        facts: Facts = manifest["facts"]
        return facts if manifest["checksum"] == _checksum(folder, facts) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make(folder: Path, write: Callable[[Path], Facts]) -> Facts:
    for left in folder.parent.glob("*.partial"):  # by a process that was killed
        shutil.rmtree(left)
    aside = folder.with_name(f"{folder.name}.partial")
    aside.mkdir()
    try:
        facts = write(aside)
        manifest = {"facts": facts, "checksum": _checksum(aside, facts)}
        (aside / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        for path in aside.iterdir():
            sync_folder(path)
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)
        return facts
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _checksum(folder: Path, facts: Facts) -> int:
    checksum = zlib.crc32(json.dumps(facts).encode("utf-8"))
    for path in sorted(folder.iterdir()):
        if path.name != MANIFEST:
            checksum = zlib.crc32(f"{path.name} {path.stat().st_size}".encode(), checksum)
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    checksum = zlib.crc32(block, checksum)
    return checksum
