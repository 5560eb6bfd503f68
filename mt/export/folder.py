"""A folder that appears whole or not at all: it is written under another name, proved, and renamed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mt.errors import UserError
from mt.runs.atomic import disk_error, sync_folder


@contextmanager
def written_aside(folder: Path, *, key: str = "output") -> Iterator[Path]:
    """A folder to write into, which is renamed to `folder` only if the block succeeds.

    Raises UserError where `folder` is not free, DiskError for an OSError; both name the option `key`.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists already; choose another {key} or remove it")
    aside = folder.absolute().with_name(f".{folder.absolute().name}.part")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        yield aside
        for path in (*aside.rglob("*"), aside):
            sync_folder(path)
        aside.rename(folder.absolute())  # an empty folder may be replaced
    except OSError as error:
        raise disk_error(folder, error, key=key) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
