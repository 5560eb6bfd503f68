"""Pairs out of Parquet files and Arrow tables; columns as in mt/data/tables.py. Imported only where needed: pyarrow."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from mt.data.tables import missing_columns, one_line
from mt.errors import UserError

BATCH_ROWS = 8192


def read_parquet(path: str, *, columns: tuple[str, str], with_struct: bool) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a parquet file, some thousand rows in memory at a time; arguments as in `read_jsonl`.

    Raises UserError when the file is damaged or has no such columns.
    """
    with _open_parquet(path) as file:
        needed = [name for name in file.schema_arrow.names if name in (*columns, "translation")]
        try:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=needed or None):
                yield from arrow_pairs(batch, where=path, columns=columns, with_struct=with_struct)
        except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
            raise UserError(f"{path}: the parquet file is damaged ({_first_line(error)}); fetch it again") from None


def count_parquet_rows(path: str) -> int:
    """Return the number of rows that the file's footer declares. Raises UserError for a file of another kind."""
    with _open_parquet(path) as file:
        return int(file.metadata.num_rows)


def arrow_pairs(
    table: pa.Table | pa.RecordBatch, *, where: str, columns: tuple[str, str], with_struct: bool
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of an Arrow table or record batch, out of its `translation` struct where `with_struct` allows.

    Raises UserError that starts with `where` when a column is missing or holds no text.
    """
    fields = {name: table.column(name) for name in table.schema.names}
    if with_struct and "translation" in fields and pa.types.is_struct(fields["translation"].type):
        struct = fields["translation"]
        fields = {field.name: pa.compute.struct_field(struct, field.name) for field in struct.type}
    if not all(column in fields for column in columns):
        raise UserError(missing_columns(where, wanted=columns, found=list(fields)))
    sides = []
    for column in columns:
        values = fields[column].to_pylist()
        sides.append([one_line(value, f"{where}, column {column}") for value in values])
    yield from zip(*sides, strict=True)


def _open_parquet(path: str) -> pa.parquet.ParquetFile:
    try:
        return pa.parquet.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: not a parquet file, or damaged ({_first_line(error)}); fetch it again") from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
