"""Corpora of the Hugging Face Hub, or local folders of the same layout, through `datasets`, imported only when used."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mt.errors import UserError

_COMMIT = re.compile(r"[0-9a-f]{40}")


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
        """Return what identifies the pairs; data is loaded for it unless the revision is a full commit hash."""
        how = [self.path, self.subset, self.split, self.source_column, self.target_column]
        how += [self.source_language, self.target_language]
        if self.revision is not None and _COMMIT.fullmatch(self.revision):
            how.append(self.revision)
        else:
            how.append(self._dataset._fingerprint)  # of the files' content on the Hub, of path and time locally
        return f"hub {how!r}"

    def count_pairs(self) -> int:
        """Return the number of rows. Raises UserError when there is none, or no such columns."""
        for _ in self.pairs():
            return len(self._dataset)
        raise UserError(f"{self.name}: holds no pair; choose another split")

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (source, target) in order, reading from the disk as it goes."""
        from mt.data.parquet import BATCH_ROWS, arrow_pairs  # noqa: PLC0415 - loads pyarrow

        columns = (self.source_column or self.source_language, self.target_column or self.target_language)
        with_struct = self.source_column is None and self.target_column is None
        for table in self._dataset.with_format("arrow").iter(batch_size=BATCH_ROWS):
            yield from arrow_pairs(table, where=self.name, columns=columns, with_struct=with_struct)

    @cached_property
    def _dataset(self) -> Any:
        import datasets  # noqa: PLC0415 - takes seconds

        datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what it logs as an error, it raises too
        if not sys.stderr.isatty():
            datasets.disable_progress_bars()
        try:
            return datasets.load_dataset(self.path, name=self.subset, revision=self.revision, split=self.split)
        except Exception as error:
            raise UserError(f"{self.name}: {_advice(error)}") from error


def _advice(error: Exception) -> str:
    """Return in one line what kept `datasets` from loading, and what to do; `error` is any of its many kinds."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and isinstance(cause, Exception):
        causes.append(cause)
    message = " ".join(str(causes[-1] if type(error).__name__ == "DatasetGenerationError" else error).split())[:400]
    kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    if "scripts are no longer supported" in message:
        return (
            "needs a loading script, which is never run; choose a data set of parquet or jsonl files "
            "(on the Hub, data.revision=refs/convert/parquet may hold such a copy)"
        )
    if kinds & {"ConnectionError", "OfflineModeIsEnabled", "TimeoutException", "Timeout"}:
        return (
            "the Hugging Face Hub cannot be reached and no copy lies in the local cache; "
            "connect once, or set data.path to a local folder of parquet or jsonl files"
        )
    if "DatasetNotFoundError" in kinds:
        return f"{message} Check data.path and data.revision; a private data set needs `hf auth login`"
    if "Unknown split" in message:
        return f"{message} Set data.train_split, data.validation_split and data.test_split to those"
    if "BuilderConfig" in message or "Config name is missing" in message:
        return f"{message} Set data.subset to one of those"
    return f"cannot be loaded ({type(causes[-1]).__name__}: {message}); check data.path and its files"
