"""Writing that survives: a folder appears whole or not at all. Every write of a checkpoint goes through here."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from mt.errors import BadFileError, DiskError

MANIFEST = "manifest.json"


def write_file(path: Path, content: bytes) -> None:
    """Write a file and wait until the disk holds it. Raises DiskError."""
    try:
        with path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _disk_error(path, error) from error


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in place of an older one; a reader sees the one or the other, whole. Raises DiskError."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write_file(aside, content)
        aside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise _disk_error(path, error) from error
    finally:
        aside.unlink(missing_ok=True)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files with a manifest of their checksums aside, then rename the whole into place.

    A folder of that name is replaced. Raises DiskError; what was there before then stays as it was.
    """
    aside = folder.with_name(f".{folder.name}.part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        for name, content in files.items():
            write_file(aside / name, content)
        sums = {name: {"bytes": len(content), "sha256": _checksum(content)} for name, content in files.items()}
        write_file(aside / MANIFEST, json.dumps(sums, indent=1).encode())
        sync_folder(aside)
        remove_folder(folder)
        aside.replace(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise _disk_error(folder, error) from error


def read_folder(folder: Path) -> dict[str, bytes]:
    """The files of a folder written by `write_folder`. Raises BadFileError where one is missing or altered."""
    try:
        sums = json.loads((folder / MANIFEST).read_bytes())
        files = {}
        for name, expected in sums.items():
            if Path(name).name != name:
                raise BadFileError(f"{folder / MANIFEST}: names a file outside its folder: {name!r}")
            files[name] = (folder / name).read_bytes()
            if len(files[name]) != expected["bytes"] or _checksum(files[name]) != expected["sha256"]:
                raise BadFileError(f"{folder / name}: differs from its checksum in {MANIFEST}: damaged or cut short")
        return files
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadFileError(f"{folder}: no whole checkpoint ({error.__class__.__name__}: {error})") from error


def remove_folder(folder: Path) -> None:
    """Remove a folder so that a half-removed one is never taken for a whole one. Raises DiskError."""
    try:
        (folder / MANIFEST).unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise _disk_error(folder, error) from error


def sync_folder(folder: Path) -> None:
    """Wait until the disk holds the names in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _disk_error(path: Path, error: OSError) -> DiskError:
    return DiskError(f"cannot write {path}: {error.strerror or error}: free some space or choose another run_dir")
