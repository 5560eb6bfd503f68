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

from mt.data.lines import compression_suffix, count_lines, read_lines, table_suffix, unreadable
from mt.data.tables import count_parquet_rows, pairs_of_rows, read_jsonl, read_parquet, read_tsv, tsv_has_header
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
    """

    source: str | None = None
    target: str | None = None
    file: str | None = None
    source_language: str
    target_language: str
    source_column: str | None = None
    target_column: str | None = None

    @property
    def name(self) -> str:
        """Return the path or paths."""
        return " + ".join(self._paths())

    @property
    def first_line(self) -> int:
        """The number of the line with the first pair: 2 in a .tsv with a header."""
        is_tsv = self.file is not None and table_suffix(self.file) == ".tsv"
        return 1 + (is_tsv and tsv_has_header(self.source_column, self.target_column))

    def fingerprint(self) -> str:
        """Return hashes of the files' bytes, and how they are read."""
        how = [self.source_column, self.target_column]
        if self.file is not None:
            how += [self.source_language, self.target_language]
        for path in self._paths():
            _check_file(path)
            form = table_suffix(path) if self.file is not None else "text"
            how.append(form + compression_suffix(path))  # the same bytes under another name are another text
            with Path(path).open("rb") as stream:
                how.append(hashlib.file_digest(stream, hashlib.blake2b).hexdigest())
        return f"files {how!r}"

    def count_sides(self) -> tuple[int, int]:
        """Return the number of source and of target texts. Raises UserError when there are none."""
        counts = [self._count_rows(path) for path in self._paths()]
        for path, count in zip(self._paths(), counts, strict=True):
            if count == 0:
                raise UserError(f"{path}: holds no {'pair' if self.file else 'line'}; give a file with text")
        return counts[0], counts[-1]

    def count_pairs(self) -> int:
        """Return the number of pairs; sides of unequal length are a UserError with both paths and counts."""
        sources, targets = self.count_sides()
        if sources != targets:
            raise UserError(
                f"{self.source} has {sources} lines but {self.target} has {targets}; "
                "the two sides of a corpus must match line by line"
            )
        return sources

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (source, target) in the files' order."""
        if self.file is None:
            return self._side_by_side()
        suffix = table_suffix(self.file)
        if suffix == ".tsv":
            return read_tsv(self.file, source_column=self.source_column, target_column=self.target_column)
        columns = (self.source_column or self.source_language, self.target_column or self.target_language)
        rows = read_parquet(self.file, columns=columns) if suffix == ".parquet" else read_jsonl(self.file)
        return pairs_of_rows(rows, columns=columns, nested=self.source_column is None)

    def _paths(self) -> list[str]:
        return [path for path in (self.source, self.target, self.file) if path is not None]

    def _count_rows(self, path: str) -> int:
        _check_file(path)
        suffix = table_suffix(path) if self.file is not None else ""
        if suffix == ".parquet":
            return count_parquet_rows(path)
        return max(0, count_lines(path) - (self.first_line - 1))

    def _side_by_side(self) -> Iterator[tuple[str, str]]:
        source, target = map(read_lines, self._paths())
        try:
            yield from zip(source, target, strict=True)
        except ValueError:
            self.count_pairs()  # raises the error for the user
            raise


def builtin_corpus(split: str) -> FileCorpus:
    """Return a split (`train`, `validation`, `test`) of the corpus that ships with the package."""
    file = Path(__file__).parent / "builtin" / f"{split}.tsv.xz"
    return FileCorpus(file=str(file), source_language="en", target_language="de")


def labelled_corpus(path: str) -> FileCorpus:
    """Return texts as sources and their labels as targets: .tsv, or the fields `text` and `label`."""
    columns = ("text", "label") if table_suffix(path) != ".tsv" else (None, None)
    undetermined = {"source_language": "und", "target_language": "und"}
    return FileCorpus(file=path, source_column=columns[0], target_column=columns[1], **undetermined)


def _check_file(path: str) -> None:
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            Path(path).open("rb").close()
            return
    except OSError as error:
        raise unreadable(path, error) from None
    raise UserError(f"{path}: not a regular file; a corpus is read more than once, so save it to a file first")
