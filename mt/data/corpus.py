"""A corpus: pairs of a source and a target text, from files (mt/data/hub.py has the other kind).

Every corpus can be counted, which checks its form before work begins; be read in order, in bounded memory;
and be recognised by a fingerprint of its content, by which later stages find what they made of it before.
"""

import hashlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from mt.data.lines import (
    TABLE_ENDINGS,
    compression_suffix,
    count_lines,
    is_table,
    read_lines,
    uncompressed_suffix,
    unreadable,
)
from mt.data.tables import read_jsonl, read_tsv, tsv_has_header
from mt.errors import UserError


@runtime_checkable
class Corpus(Protocol):
    """What every kind of corpus can do."""

    @property
    def name(self) -> str:
        """What to call the corpus in tables and messages."""

    def fingerprint(self) -> str:
        """Return a text that differs when the pairs differ. Raises UserError when the corpus is not there."""

    def count_pairs(self) -> int:
        """Return the number of pairs. Raises UserError when there are none or the sides differ in length."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (source, target) in order. Raises UserError at the first damage."""


@dataclass(frozen=True, kw_only=True)
class FileCorpus:
    """Two text files side by side (`source`, `target`), or one `file` of both sides (.tsv, .jsonl, .parquet).

    Text, .tsv and .jsonl may be compressed: .gz, .xz, .bz2. Columns are explained in mt/data/tables.py.
    Raises UserError when neither or both ways are given, or for a `file` of another kind.
    """

    source: str | None
    target: str | None
    file: str | None
    source_language: str
    target_language: str
    source_column: str | None
    target_column: str | None

    def __post_init__(self) -> None:
        """Check that it is clear how to read the corpus."""
        given = [name for name in ("source", "target", "file") if getattr(self, name) is not None]
        if given not in (["source", "target"], ["file"]):
            found = " and ".join(given) or "nothing"
            raise UserError(f"a corpus needs source and target, or file alone, but has {found}")
        if self.file is not None and not is_table(self.file):
            raise UserError(f"{self.file}: a file of both sides must end in {TABLE_ENDINGS}")

    @property
    def name(self) -> str:
        """Return the path or paths."""
        return " + ".join(self._paths())

    def fingerprint(self) -> str:
        """Return a hash of the files' bytes and of how they are read."""
        hashed = hashlib.blake2b(digest_size=16)
        how = [self.source_column, self.target_column]
        if self.file is not None:
            how += [self.source_language, self.target_language]
        for path in self._paths():
            _check_file(path)
            form = uncompressed_suffix(path) if self.file is not None else "text"
            how.append(form + compression_suffix(path))  # the same bytes under another name are another text
            with Path(path).open("rb") as stream:
                how.append(hashlib.file_digest(stream, hashlib.blake2b).hexdigest())
        hashed.update(repr(how).encode("utf-8"))
        return f"files {hashed.hexdigest()}"

    def count_pairs(self) -> int:
        """Return the number of pairs; sides of unequal length are a UserError with both paths and counts."""
        for path in self._paths():
            _check_file(path)
        counts = [self._count_rows(path) for path in self._paths()]
        for path, count in zip(self._paths(), counts, strict=True):
            if count == 0:
                raise UserError(f"{path}: holds no {'pair' if self.file else 'line'}; give a file with text")
        if counts[0] != counts[-1]:
            raise self._unequal(counts[0], counts[-1])
        return counts[0]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (source, target) in the files' order."""
        if self.file is None:
            return self._side_by_side()
        suffix = uncompressed_suffix(self.file)
        if suffix == ".tsv":
            return read_tsv(self.file, source_column=self.source_column, target_column=self.target_column)
        columns = (self.source_column or self.source_language, self.target_column or self.target_language)
        with_struct = self.source_column is None and self.target_column is None
        if suffix == ".jsonl":
            return read_jsonl(self.file, columns=columns, with_struct=with_struct)
        from mt.data.parquet import read_parquet  # noqa: PLC0415 - loads pyarrow

        return read_parquet(self.file, columns=columns, with_struct=with_struct)

    def _paths(self) -> list[str]:
        return [path for path in (self.source, self.target, self.file) if path is not None]

    def _count_rows(self, path: str) -> int:
        suffix = uncompressed_suffix(path) if self.file is not None else ""
        if suffix == ".parquet":
            from mt.data.parquet import count_parquet_rows  # noqa: PLC0415 - loads pyarrow

            return count_parquet_rows(path)
        header = suffix == ".tsv" and tsv_has_header(self.source_column, self.target_column)
        return max(0, count_lines(path) - header)

    def _side_by_side(self) -> Iterator[tuple[str, str]]:
        assert self.source is not None
        assert self.target is not None
        sources, targets = read_lines(self.source), read_lines(self.target)
        try:
            yield from zip(sources, targets, strict=True)
        except ValueError:
            raise self._unequal(count_lines(self.source), count_lines(self.target)) from None

    def _unequal(self, source_lines: int, target_lines: int) -> UserError:
        return UserError(
            f"{self.source} has {source_lines} lines but {self.target} has {target_lines}; "
            "the two sides of a corpus must match line by line"
        )


def builtin_corpus(split: str) -> FileCorpus:
    """Return a split (`train`, `validation`, `test`) of the corpus that ships with the package."""
    file = Path(__file__).parent / "builtin" / f"{split}.tsv.xz"
    return FileCorpus(
        source=None,
        target=None,
        file=str(file),
        source_language="en",
        target_language="de",
        source_column=None,
        target_column=None,
    )


def _check_file(path: str) -> None:
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            Path(path).open("rb").close()
            return
    except OSError as error:
        raise unreadable(path, error) from None
    raise UserError(f"{path}: not a regular file; a corpus is read more than once, so save it to a file first")
