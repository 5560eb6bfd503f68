"""A folder that appears whole or not at all: it is written under another name, proved, and renamed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mt.data.lines import without_surrogates
from mt.errors import UserError
from mt.runs.atomic import disk_error, sync_folder
from mt.runs.folder import LOCK
from mt.runs.signals import lock_folder


@contextmanager
def written_aside(folder: Path, *, key: str = "output") -> Iterator[Path]:
    """A folder to write into, which is renamed to `folder` only if the block succeeds.

    Raises UserError where `folder` is not free, DiskError for an OSError; both name the option `key`. Raises
    LockedError while another process writes it.
    """
    written = str(folder.absolute())
    if not folder.absolute().name or without_surrogates(written) != written:
        raise UserError(f"{key}: expected the name of a folder, in UTF-8; got {written}")
    aside = folder.absolute().with_name(f".{folder.absolute().name}.part")
    if aside.is_symlink():
        aside.unlink()
    with lock_folder(aside, key=key):
        try:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise UserError(f"{folder} exists already; choose another {key} or remove it")
            for path in aside.iterdir():  # of a writer that was killed
                if path.name != LOCK:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            yield aside
            for path in (*aside.rglob("*"), aside):
                sync_folder(path)
            aside.rename(folder.absolute())  # an empty folder may be replaced
            (folder / LOCK).unlink()
        except OSError as error:
            raise disk_error(folder, error, key=key) from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
