"""Atomic writes: a file or a folder appears whole or not at all."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mt.errors import BadFileError, DiskError

MANIFEST = "manifest.json"
LARGEST_JSON_BYTES = 1_000_000
LARGEST_SCORES_BYTES = 1 << 24  # a thousand classes have a million counts of which was taken for which
LARGEST_TOKENIZER_BYTES = 1 << 26

Content = bytes | Sequence[memoryview]  # of a file, whole or in parts


def write_file(path: Path, content: Content, *, key: str = "run_dir") -> None:
    """Write a file and wait until the disk holds it. Raises DiskError, which names the option `key`."""
    try:
        with path.open("wb") as file:
            for part in _parts(content):
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise disk_error(path, error, key=key) from error


def replace_file(path: Path, content: bytes, *, key: str = "run_dir") -> None:
    """Replace a file; a reader sees the old one or the new one, whole.

    The target of a link is replaced, not the link; an output that is a pipe or a device is written to. A file keeps its
    permissions, and nobody else reads the new content meanwhile. Raises DiskError, which names the option `key` of the
    path, BadFileError for a pipe or a device among the files of a run.
    """
    special = path.exists() and not path.is_file() and not path.is_dir()
    if special and key == "run_dir":
        raise BadFileError(f"{path}: is a pipe or a device, where the run has a file; remove it")
    path = Path(os.path.realpath(path)) if path.is_symlink() and not special else path  # also of a loop
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if special:
            path.write_bytes(content)
            return
        if path.exists():
            aside.touch(mode=0o600)
        write_file(aside, content, key=key)
        if path.exists():
            shutil.copymode(path, aside)
        aside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise disk_error(path, error, key=key) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def write_folder(folder: Path, files: Mapping[str, Content]) -> None:
    """Write files and a manifest of their checksums to a temporary folder, then rename it.

    An older folder of that name is moved aside first; `recover` puts it back if the process dies in between.
    Raises DiskError; there is then a whole folder, old or new, where there was one.
    """
    aside, replaced = (folder.with_name(f".{folder.name}.{end}") for end in ("part", "replaced"))
    try:
        if not folder.parent.exists():
            folder.parent.mkdir(parents=True)
            sync_folder(folder.parent.parent)
        recover(folder.parent)
        aside.mkdir()
        with ThreadPoolExecutor(2) as threads:  # the checksums of large files take as long as a fast disk
            checksums = {name: threads.submit(_checksum, content) for name, content in files.items()}
            for name, content in files.items():
                write_file(aside / name, content)
        sums = {name: checksum.result() for name, checksum in checksums.items()}
        write_file(aside / MANIFEST, json.dumps(sums, indent=1).encode())
        sync_folder(aside)
        if folder.exists():
            folder.rename(replaced)
        aside.rename(folder)
        sync_folder(folder.parent)
        remove_folder(replaced)
    except (OSError, DiskError) as error:
        with contextlib.suppress(OSError):
            recover(folder.parent)
        raise (disk_error(folder, error) if isinstance(error, OSError) else error) from error


def recover(parent: Path) -> None:
    """Put back what `write_folder` moved aside before the process died, and remove the folders that it left unfinished.

    Raises OSError, DiskError. Only for the process that alone writes there.
    """
    for path in sorted(parent.glob(".*.replaced")):
        folder = parent / path.name[1:].removesuffix(".replaced")
        if folder.exists():
            remove_folder(path)
        else:
            path.rename(folder)
    for path in parent.glob(".*.part"):
        with contextlib.suppress(DiskError):
            remove_folder(path)


def remove_unfinished(folder: Path) -> None:
    """Remove the files that killed writers left unfinished in a run folder, also in the folders inside."""
    for path in folder.rglob(".*.part"):
        with contextlib.suppress(OSError):
            path.unlink()


def check_file(path: Path) -> None:
    """Raise BadFileError for what is missing, or a pipe or a device, which might never end."""
    if not path.is_file():
        raise BadFileError(f"{path}: missing, or not a file; restore it")


def read_file(path: Path, largest_bytes: int) -> bytes:
    """The content of a file; raises BadFileError as `check_file` does, and for one that is larger."""
    try:
        check_file(path)
        with path.open("rb") as file:
            content = file.read(largest_bytes + 1)
    except OSError as error:
        raise BadFileError(f"{path}: {error.strerror or error}") from error
    if len(content) > largest_bytes:
        raise BadFileError(f"{path}: larger than {largest_bytes:,} bytes: not what its name says; restore it")
    return content


def read_json(path: Path, largest_bytes: int = LARGEST_JSON_BYTES) -> dict[str, Any]:
    """An object from a JSON file. Raises BadFileError for another or a damaged one."""
    content = read_file(path, largest_bytes)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadFileError(f"{path}: not readable as JSON ({error}); restore or fetch it again") from error
    if not isinstance(values, dict):
        raise BadFileError(f"{path}: not a JSON object; restore or fetch it again")
    return values


def read_folder(folder: Path, *names: str) -> dict[str, bytes]:
    """The files of these names, by default all, of a folder written by `write_folder`.

    Raises BadFileError where one is missing or altered.
    """
    try:
        manifest = folder / MANIFEST
        sums = json.loads(read_file(manifest, LARGEST_JSON_BYTES))
        files = {}
        for name in names or sums.keys():
            if Path(name).name != name:
                raise BadFileError(f"{manifest}: names a file outside its folder: {name!r}")
            path = folder / name
            files[name] = read_file(path, LARGEST_JSON_BYTES if path.suffix == ".json" else path.stat().st_size)
            if _checksum(files[name]) != sums[name]:
                raise BadFileError(f"{path}: differs from its checksum in {MANIFEST}: damaged or cut short")
        return files
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadFileError(f"{folder}: no whole checkpoint ({error.__class__.__name__}: {error})") from error


def remove_folder(folder: Path) -> None:
    """Remove a folder, its manifest first, so that a half-removed one never counts as whole; of a link, the link.

    Raises DiskError.
    """
    try:
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            (folder / MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(folder)
    except OSError as error:
        raise disk_error(folder, error) from error


def sync_folder(folder: Path) -> None:
    """Wait until the disk holds the names in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def disk_error(path: Path, error: OSError, *, key: str = "run_dir") -> DiskError:
    """The error for the user when the disk refused a write to the path that the option `key` chooses."""
    advice = "free some space and run it again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "fix it"
    return DiskError(f"cannot write {path}: {error.strerror or error}: {advice}, or choose another {key}")


def _parts(content: Content) -> Sequence[bytes | memoryview]:
    return [content] if isinstance(content, bytes) else content


def _checksum(content: Content) -> str:
    checksum = hashlib.sha256()
    for part in _parts(content):
        checksum.update(part)
    return checksum.hexdigest()
