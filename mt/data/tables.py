"""Pairs out of files whose rows have columns: here .tsv and .jsonl, in mt/data/parquet.py .parquet.

The sides are the columns that `source_column` and `target_column` name; without names they are the fields
of a `translation` column that are called by language, or else two columns called by language. A blank line
is a pair of two blank sides. An absent value is blank text; a line break inside a text becomes a space.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mt.data.lines import read_lines
from mt.errors import UserError

_LINE_BREAK = re.compile(r"\r?\n")
_COLUMN_NUMBER = re.compile(r"0*[1-9]\d{0,8}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_tsv(path: str, *, source_column: str | None, target_column: str | None) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a tab-separated file; a tab always separates, quotes are text.

    A column is a number counted from 1 or a name in the first line, which then is not a pair. Without columns
    every line must have exactly two. Raises UserError with the line for a line that does not fit.
    """
    lines = enumerate(read_lines(path), start=1)
    wanted = (source_column or "1", target_column or "2")
    header: list[str] = []
    if tsv_has_header(source_column, target_column):
        header = next(lines, (1, ""))[1].split("\t")
    source, target = (_tsv_index(column, header, path=path) for column in wanted)
    columns_named = source_column is not None or target_column is not None
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) == 2 or (columns_named and max(source, target) < len(cells)):
            yield cells[source], cells[target]
        elif not line:
            yield "", ""
        else:
            raise UserError(_tsv_advice(path, number, found=len(cells), columns_named=columns_named))


def tsv_has_header(source_column: str | None, target_column: str | None) -> bool:
    """Return whether a column is given by a name, which only the first line can explain."""
    return any(column is not None and not column.isdecimal() for column in (source_column, target_column))


def read_jsonl(path: str, *, columns: tuple[str, str], with_struct: bool) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a file with one JSON object per line.

    `columns` names source and target, in the `translation` object of a row where `with_struct` allows and there
    is one. Raises UserError with the line that does not fit.
    """
    source, target = columns
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            yield "", ""
            continue
        where = f"{path}, line {number}"
        row = json_object(line, where)
        if with_struct and isinstance(row.get("translation"), dict):
            row = row["translation"]
        if source not in row or target not in row:
            raise UserError(missing_columns(where, wanted=columns, found=list(row)))
        yield one_line(row[source], where), one_line(row[target], where)


def json_object(line: str, where: str) -> dict[str, Any]:
    """Return the object that a line of JSON holds. Raises UserError that starts with `where` for any other line."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not a JSON object ({error}); every line must be one") from None
    if not isinstance(row, dict):
        raise UserError(f"{where}: a JSON {type(row).__name__}, but every line must be an object")
    return row


def one_line(value: object, where: str) -> str:
    """Return a text value as one line of valid Unicode: "" for an absent one, lone surrogates as U+FFFD.

    Raises UserError that starts with `where` when `value` is not text.
    """
    if isinstance(value, str):
        if "\n" in value:
            value = _LINE_BREAK.sub(" ", value.strip("\r\n"))
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if value is None:
        return ""
    raise UserError(f"{where}: found {type(value).__name__} where text belongs; name the columns that hold text")


def missing_columns(where: str, *, wanted: tuple[str, str], found: Sequence[str]) -> str:
    """Return the one-line message for rows without the wanted columns, naming those that there are."""
    names = ", ".join(repr(str(name)) for name in found[:20]) or "none"
    return (
        f"{where}: needs columns {wanted[0]!r} and {wanted[1]!r} but has {names}; "
        "set source_column and target_column, or the languages"
    )


def _tsv_index(column: str, header: list[str], *, path: str) -> int:
    if _COLUMN_NUMBER.fullmatch(column):
        return int(column) - 1
    if column in header:
        return header.index(column)
    names = ", ".join(repr(name) for name in header[:20]) or "none"
    raise UserError(f"{path}: has no column {column!r}; its first line names {names}, and numbers count from 1")


def _tsv_advice(path: str, number: int, *, found: int, columns_named: bool) -> str:
    if columns_named:
        return f"{path}, line {number}: has only {found} tab-separated columns; fix the line"
    return (
        f"{path}, line {number}: has {found} tab-separated columns instead of 2; "
        "fix the line, or set source_column and target_column to numbers counted from 1 or to names in line 1"
    )
