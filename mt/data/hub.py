"""Corpora of the Hugging Face Hub, or local folders of the same layout, through `datasets`, imported only when used."""

import errno
import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mt.data.tables import BATCH_ROWS, arrow_rows, needed_columns, pairs_of_rows
from mt.errors import DiskError, MtError, UserError

_DISK_ERRORS = (errno.ENOSPC, errno.EROFS, errno.EDQUOT)


@dataclass(frozen=True, kw_only=True)
class HubCorpus:
    """One split of a data set: its `translation` feature, or two columns (mt/data/tables.py says which).

    `path` is a name on the Hub or a local folder; `subset` and `revision` may be None. The download is kept
    where `datasets` keeps it (HF_HOME), so later runs need no network.
    """

    path: str
    subset: str | None
    revision: str | None
    split: str
    source_language: str
    target_language: str
    source_column: str | None
    target_column: str | None

    @property
    def name(self) -> str:
        """Return path, subset and split."""
        return " ".join(filter(None, (self.path, self.subset, self.split)))

    def fingerprint(self) -> str:
        """Return what identifies the pairs: those of the Hub must be loaded for it, a local folder's bytes are read."""
        files = _files(Path(self.path))
        how = [self.path if files is None else "folder", self.subset, self.split]
        how += [self.source_column, self.target_column, self.source_language, self.target_language]
        how.append(self._dataset._fingerprint if files is None else _contents(files))
        return f"hub {how!r}"

    def count_pairs(self) -> int:
        """Return the number of rows. Raises UserError when there are none, or no such columns."""
        for _ in self.pairs():
            return len(self._dataset)
        raise UserError(f"{self.name}: holds no pair; choose another split")

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (source, target) in order, reading from the disk as it goes."""
        columns = (self.source_column or self.source_language, self.target_column or self.target_language)
        dataset = self._dataset.select_columns(needed_columns(self._dataset.column_names, columns))
        rows = arrow_rows(dataset.with_format("arrow").iter(batch_size=BATCH_ROWS), where=self.name)
        return pairs_of_rows(rows, columns=columns, nested=self.source_column is None)

    @cached_property
    def _dataset(self) -> Any:
        import datasets  # noqa: PLC0415 - takes seconds

        datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what it logs as an error, it raises too
        if not sys.stderr.isatty():
            datasets.disable_progress_bars()
        cache_dir = None
        if (state := _folder_state(Path(self.path))) is not None:
            # `datasets` gives back the old rows when a file changes in a folder whose README names configurations.
            cache_dir = str(Path(datasets.config.HF_DATASETS_CACHE) / "local" / state)
        try:
            return datasets.load_dataset(
                self.path, name=self.subset, revision=self.revision, split=self.split, cache_dir=cache_dir
            )
        except Exception as error:
            raise _explained(self.name, error) from error


def _folder_state(folder: Path) -> str | None:
    """Return a hash of the names, sizes and times of the files in a folder, or None when it does not exist."""
    if (files := _files(folder)) is None:
        return None
    states = [(name, path.stat().st_size, path.stat().st_mtime_ns) for name, path in files.items()]
    return hashlib.blake2b(repr((str(folder.resolve()), states)).encode("utf-8"), digest_size=16).hexdigest()


def _files(folder: Path) -> dict[str, Path] | None:
    """Return the files in a folder by their names in it, in order, or None when it does not exist."""
    if not folder.is_dir():
        return None
    found, seen = dict[str, Path](), set[str]()
    for where, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if (real := os.path.realpath(where)) in seen:  # a link to a folder around it
            folders.clear()
            continue
        seen.add(real)
        files = (Path(where, name) for name in sorted(names) if not name.startswith("."))
        found |= {str(path.relative_to(folder)): path for path in files if path.is_file()}
    return found


def _contents(files: dict[str, Path]) -> str:
    """Return the files' names with hashes of their bytes."""
    hashes = []
    for path in files.values():
        with path.open("rb") as stream:
            hashes.append(hashlib.file_digest(stream, hashlib.blake2b).hexdigest())
    return repr(dict(zip(files, hashes, strict=True)))


def _explained(name: str, error: Exception) -> MtError:
    """Return the error for the user in one line; `error` is any of the many kinds that `datasets` raises."""
    causes = [error]
    while isinstance(cause := causes[-1].__cause__, Exception):
        causes.append(cause)
    if stopped := next((cause for cause in causes if isinstance(cause, MtError)), None):
        return stopped
    if any(isinstance(cause, OSError) and cause.errno in _DISK_ERRORS for cause in causes):
        return DiskError(f"{name}: cannot be stored ({causes[-1]}); free some space, or set HF_HOME to another folder")
    kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    if kinds & {"ConnectionError", "OfflineModeIsEnabled", "TimeoutException", "Timeout"}:
        return UserError(
            f"{name}: the Hugging Face Hub cannot be reached and the local cache has no copy; "
            "connect once, or set data.path to a local folder of parquet or jsonl files"
        )
    message = " ".join(str(causes[-1] if "DatasetGenerationError" in kinds else error).split())[:400]
    return UserError(
        f"{name}: cannot be loaded ({message}); check data.path, data.subset, data.revision and the "
        "names of the splits; a private data set needs `hf auth login`, one with a loading script "
        "data.revision=refs/convert/parquet"
    )
