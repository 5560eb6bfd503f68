"""Pairs out of files whose rows have columns: .tsv, .jsonl and .parquet, and out of Arrow tables.

The sides are the columns that `source_column` and `target_column` name; without names they are the fields
of a `translation` column that are called by language, or else two columns called by language. A blank line
is a pair of two blank sides. An absent value is blank text; a line break inside a text becomes a space.
"""

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mt.data.lines import LARGEST_LINE_BYTES, read_lines, without_surrogates
from mt.errors import UserError

BATCH_ROWS = 8192
NESTED = "translation"  # the column that may hold both sides by language
Row = tuple[str, dict[str, Any] | None]  # where it is, for messages, and what it holds, None if it is blank

_LINE_BREAK = re.compile(r"\r?\n")
_COLUMN_NUMBER = re.compile(r"0*[1-9]\d{0,8}")


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
    source, target = (tsv_index(column, header, path=path) for column in wanted)
    least, most = (2, 2) if source_column is None else (max(source, target) + 1, math.inf)
    for number, line in lines:
        cells = line.split("\t")
        if least <= len(cells) <= most:
            yield cells[source], cells[target]
        elif not line:
            yield "", ""
        else:
            raise UserError(
                f"{path}, line {number}: has {len(cells)} tab-separated columns instead of {least}; fix the line, or "
                "set source_column and target_column to numbers counted from 1 or to names in line 1"
            )


def tsv_has_header(source_column: str | None, target_column: str | None) -> bool:
    """Return whether a column is given by a name, which only the first line can explain."""
    return any(column is not None and not column.isdecimal() for column in (source_column, target_column))


def read_jsonl(path: str) -> Iterator[Row]:
    """Yield the JSON object of each line, None for a blank one. Raises UserError with the line that is not one."""
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}, line {number}"
        yield where, json_object(line, where) if line.strip() else None


def read_parquet(path: str, *, columns: tuple[str, str]) -> Iterator[Row]:
    """Yield the rows of a parquet file, some thousand in memory at a time. Raises UserError when it is damaged."""
    with _open_parquet(path) as file:
        needed = needed_columns(file.schema_arrow.names, columns)
        yield from arrow_rows(file.iter_batches(batch_size=BATCH_ROWS, columns=needed), where=path)


def count_parquet_rows(path: str) -> int:
    """Return the number of rows that the file's footer declares. Raises UserError for a file of another kind."""
    with _open_parquet(path) as file:
        return int(file.metadata.num_rows)


def arrow_rows(tables: Iterable[Any], *, where: str) -> Iterator[Row]:
    """Yield the rows of Arrow tables or record batches. Raises UserError for two columns of one name."""
    numbers = itertools.count(1)
    for table in tables:
        for fields in (table.schema, *(kind for kind in table.schema.types if str(kind).startswith("struct<"))):
            _check_unique([field.name for field in fields], where)
        for row in table.to_pylist():
            yield f"{where}, row {next(numbers)}", row


def needed_columns(names: list[str], columns: tuple[str, str]) -> list[str]:
    """Return those of the names that `pairs_of_rows` looks at; all where there is none, for its message."""
    return [name for name in names if name in (*columns, NESTED)] or names


def pairs_of_rows(rows: Iterable[Row], *, columns: tuple[str, str], nested: bool) -> Iterator[tuple[str, str]]:
    """Yield the columns for source and target of each row, where `nested` out of its `translation` if it has one.

    A blank row is a pair of blank sides. Raises UserError with the row that lacks a column or has something else than
    text in it.
    """
    source, target = columns
    for where, row in rows:
        pair = row[NESTED] if nested and row and isinstance(row.get(NESTED, ""), dict | None) else row
        if pair is None:
            yield "", ""
            continue
        if not (source in pair and target in pair):
            names = ", ".join(repr(str(name)) for name in list(pair)[:20]) or "none"
            raise UserError(
                f"{where}: needs columns {source!r} and {target!r} but has {names}; "
                "set source_column and target_column, or the languages"
            )
        yield one_line(pair[source], where), one_line(pair[target], where)


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

    Raises UserError that starts with `where` when `value` is not text, or too long a one.
    """
    if isinstance(value, str):
        if len(value) > LARGEST_LINE_BYTES // 5:  # characters, of up to 4 bytes; it becomes a line of a file
            raise UserError(f"{where}: a text of {len(value):,} characters; a sentence belongs in each")
        if "\n" in value:
            value = _LINE_BREAK.sub(" ", value.strip("\r\n"))
        return without_surrogates(value)
    if value is None:
        return ""
    raise UserError(f"{where}: found {type(value).__name__} where text belongs; make it text, or name what holds text")


def tsv_index(column: str, header: list[str], *, path: str) -> int:
    """Return the index of a column, given by number from 1 or by name. Raises UserError for one that is not there."""
    if _COLUMN_NUMBER.fullmatch(column):
        return int(column) - 1
    if column in header:
        _check_unique([name for name in header if name == column], path)
        return header.index(column)
    names = ", ".join(repr(name) for name in header[:20]) or "none"
    raise UserError(f"{path}: has no column {column!r}; its first line names {names}, and numbers count from 1")


def _check_unique(names: Sequence[str], where: str) -> None:
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{where}: has several columns named {twice[0]!r}; rename all but one")


@contextmanager
def _open_parquet(path: str) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415 - takes a while
    import pyarrow.parquet  # noqa: PLC0415

    try:
        with pa.parquet.ParquetFile(path) as file:
            yield file
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        first_line = str(error).partition("\n")[0][:200]
        raise UserError(f"{path}: not a parquet file, or damaged ({first_line}); fetch it again") from None
