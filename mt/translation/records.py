"""Lines that carry a text to translate, and the same lines with its translation: plain text, TSV and JSONL.

The rest of a line is kept as it was written. A blank line of TSV or JSONL stays blank, except where rows are numbered.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from mt.data.tables import json_object, one_line, tsv_has_header, tsv_index
from mt.errors import UserError

Result = dict[str, str | float]  # the translation and its other columns by name, in order


@dataclass(frozen=True)
class PlainText:
    """A line is the text; scores and alignments follow the translation in tab-separated columns."""

    n_best: bool

    def text(self, line: str, number: int) -> str:  # noqa: ARG002
        """The line."""
        return line

    def lines(self, line: str, number: int, results: Sequence[Result]) -> list[str]:  # noqa: ARG002
        """A row for each result; with n-best the line's number and the rank come first."""
        if not self.n_best and len(results[0]) == 1:
            return [str(text) for text in results[0].values()]
        return _rows([], number, results, n_best=self.n_best)


class TabSeparated:
    """A column of each line is the text, by number from 1 or by its name in the first line; new columns come last."""

    def __init__(self, path: str, *, column: str, first_line: str, added: Sequence[str], n_best: bool) -> None:
        self._path, self._n_best = path, n_best
        self._titles = first_line.split("\t") if tsv_has_header(column, None) else []
        self._index = tsv_index(column, self._titles, path=path)
        if taken := [name for name in added if name in self._titles]:
            raise UserError(f"{path}: has a column {taken[0]!r} already; choose another translation_field")

    def text(self, line: str, number: int) -> str:
        """The cell, of a line of titles "". Raises UserError for a line without the column."""
        cells = line.split("\t")
        if not line or (self._titles and number == 1):
            return ""
        if self._index >= len(cells):
            has = f"has only {len(cells)} tab-separated columns, no {self._index + 1}"
            raise UserError(f"{self._path}, line {number}: {has}; fix the line")
        return cells[self._index]

    def lines(self, line: str, number: int, results: Sequence[Result]) -> list[str]:
        """The line with new columns, once for each result; the titles with those of the new columns."""
        if self._titles and number == 1:
            return ["\t".join([*(["line", "rank"] if self._n_best else []), line, *results[0]])]
        return _rows([line], number, results, n_best=self._n_best) if line or self._n_best else [line]


@dataclass(frozen=True)
class JsonLines:
    """A field of the object on each line is the text; new fields come last, those of all results as `n_best`."""

    path: str
    field: str
    added: Sequence[str]
    n_best: bool

    def text(self, line: str, number: int) -> str:
        """The field; line breaks within it become spaces. Raises UserError for a line without it."""
        if not line.strip():
            return ""
        where = f"{self.path}, line {number}"
        row = json_object(line, where)
        if self.field not in row:
            names = ", ".join(map(repr, list(row)[:20])) or "none"
            raise UserError(f"{where}: has no field {self.field!r}, only {names}")
        if taken := [name for name in (*self.added, *(["n_best"] if self.n_best else [])) if name in row]:
            raise UserError(f"{where}: has a field {taken[0]!r} already; choose another translation_field")
        return one_line(row[self.field], where)

    def lines(self, line: str, number: int, results: Sequence[Result]) -> list[str]:  # noqa: ARG002
        """The line with new fields."""
        if not line.strip():
            return [line]
        fields = json.dumps({**results[0], "n_best": results} if self.n_best else results[0], ensure_ascii=False)
        return [line.rstrip().removesuffix("}").rstrip() + ", " + fields.removeprefix("{")]


Records = PlainText | TabSeparated | JsonLines


def _rows(cells: Sequence[str], number: int, results: Sequence[Result], *, n_best: bool) -> list[str]:
    """Tab-separated rows, one for each result."""
    rows = []
    for rank, result in enumerate(results, start=1):
        ranked = [str(number), str(rank)] if n_best else []
        values = [f"{value:.4f}" if isinstance(value, float) else value.replace("\t", " ") for value in result.values()]
        rows.append("\t".join([*ranked, *cells, *values]))
    return rows
