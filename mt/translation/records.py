"""Lines that carry a text to translate, and the same lines with its translation: plain text, TSV and JSONL.

The rest of a line is kept as it was written. A blank line of TSV or JSONL stays blank, except where all rows are
numbered.
"""

import json
import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mt.data.tables import json_object, one_line
from mt.errors import UserError

_COLUMN_NUMBER = re.compile(r"0*[1-9]\d{0,8}")

Result = dict[str, str | float]  # the translation and its other columns by name, in order


@runtime_checkable
class Records(Protocol):
    """A kind of file. `header` is whether the first line names columns and holds no text."""

    header: bool

    def titles(self, first_line: str) -> str:
        """Read the first line, if `header`, and return the first line of the output."""
        ...

    def text(self, line: str, number: int) -> str:
        """Return the text to translate in a line. Raises UserError, naming the line, for one that has none."""
        ...

    def lines(self, line: str, number: int, results: Sequence[Result]) -> list[str]:
        """Return the line with its results, best first."""
        ...


class PlainText:
    """A line is the text. What is reported with the translation follows in tab-separated columns."""

    header = False

    def __init__(self, *, n_best: bool) -> None:
        self._n_best = n_best

    def titles(self, first_line: str) -> str:
        """There are no titles."""
        raise NotImplementedError

    def text(self, line: str, number: int) -> str:  # noqa: ARG002
        """The line."""
        return line

    def lines(self, line: str, number: int, results: Sequence[Result]) -> list[str]:  # noqa: ARG002
        """One line of columns for each result; with n-best the line's number and the rank come first."""
        if not self._n_best and len(results[0]) == 1:
            return [str(value) for value in results[0].values()]
        return _rows([], number, results, n_best=self._n_best)


class TabSeparated:
    """A column of each line is the text; the translation is added as a new last column.

    `column` is a number counted from 1, or a name in the first line, where the new columns get names too.
    """

    def __init__(self, path: str, *, column: str, added: Sequence[str], n_best: bool) -> None:
        self.header = not column.isdecimal()
        self._path, self._column, self._added, self._n_best = path, column, added, n_best
        self._index = int(column) - 1 if _COLUMN_NUMBER.fullmatch(column) else -1
        if not self.header and self._index < 0:
            raise UserError(f"column: {column} is not a column; columns are numbered from 1")

    def titles(self, first_line: str) -> str:
        """The names of the columns."""
        names = first_line.split("\t")
        if self._column not in names:
            listed = ", ".join(map(repr, names[:20]))
            raise UserError(f"{self._path}: has no column {self._column!r}; its first line names {listed}")
        added = [*_RANKED, *self._added] if self._n_best else self._added
        if taken := [name for name in added if name in names]:
            raise UserError(f"{self._path}: has a column {taken[0]!r} already; choose another translation_field")
        self._index = names.index(self._column)
        return "\t".join([*(_RANKED if self._n_best else []), *names, *self._added])

    def text(self, line: str, number: int) -> str:
        """The cell."""
        cells = line.split("\t")
        if line and self._index >= len(cells):
            raise UserError(
                f"{self._path}, line {number}: has only {len(cells)} tab-separated columns, no {self._index + 1}; "
                "fix the line"
            )
        return cells[self._index] if line else ""

    def lines(self, line: str, number: int, results: Sequence[Result]) -> list[str]:
        """The line with new columns, once for each result."""
        return _rows([line], number, results, n_best=self._n_best) if line or self._n_best else [line]


class JsonLines:
    """A field of the object on each line is the text; new fields are added after the others."""

    header = False

    def __init__(self, path: str, *, field: str, added: Sequence[str]) -> None:
        self._path, self._field, self._added = path, field, added

    def titles(self, first_line: str) -> str:
        """There are no titles."""
        raise NotImplementedError

    def text(self, line: str, number: int) -> str:
        """The field; line breaks within it become spaces."""
        if not line.strip():
            return ""
        where = f"{self._path}, line {number}"
        row = json_object(line, where)
        if self._field not in row:
            names = ", ".join(map(repr, list(row)[:20])) or "none"
            raise UserError(f"{where}: has no field {self._field!r}, only {names}")
        if taken := [name for name in self._added if name in row]:
            raise UserError(f"{where}: has a field {taken[0]!r} already; choose another translation_field")
        return one_line(row[self._field], where)

    def lines(self, line: str, number: int, results: Sequence[Result]) -> list[str]:  # noqa: ARG002
        """The line with new fields: those of the best result, and all results as `n_best` if that is added."""
        if not line.strip():
            return [line]
        added: dict[str, object] = dict(results[0])
        if "n_best" in self._added:
            added["n_best"] = list(results)
        fields = json.dumps(added, ensure_ascii=False)
        return [line.rstrip().removesuffix("}").rstrip() + ", " + fields.removeprefix("{")]


_RANKED = ["line", "rank"]


def _rows(cells: Sequence[str], number: int, results: Sequence[Result], *, n_best: bool) -> list[str]:
    """Tab-separated rows, one for each result."""
    rows = []
    for rank, result in enumerate(results, start=1):
        ranked = [str(number), str(rank)] if n_best else []
        values = [f"{value:.4f}" if isinstance(value, float) else value.replace("\t", " ") for value in result.values()]
        rows.append("\t".join([*ranked, *cells, *values]))
    return rows
