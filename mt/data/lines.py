"""Lines of text files, by one rule for corpora, translation input and references.

A line ends at "\\n" and nowhere else, and one "\\r" before it belongs to the ending; NUL, VT, FF, a lone
CR, U+0085 and U+2028 are text. A byte order mark at the start of the file is dropped. Text is strictly UTF-8
in every locale. Files ending in .gz, .xz or .bz2 are decompressed on the way.
"""

import bz2
import gzip
import lzma
import queue
import re
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from mt.errors import UserError

Item = TypeVar("Item")

STANDARD_INPUT = "-"
COMPRESSED_SUFFIXES = (".gz", ".xz", ".bz2")
TABLE_ENDINGS = f".tsv or .jsonl, also with {', '.join(COMPRESSED_SUFFIXES)}, or .parquet"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
LARGEST_LINE_BYTES = 1 << 24
_BLOCK_BYTES = 1 << 20
_SURROGATE = re.compile("[\ud800-\udfff]")
_SIGNATURES = {
    b"\xff\xfe": "UTF-16 text: convert it to UTF-8",
    b"\xfe\xff": "UTF-16 text: convert it to UTF-8",
    b"\x1f\x8b": "a gzip file: give its name the ending .gz",
    b"\xfd7zXZ\x00": "an xz file: give its name the ending .xz",
    b"BZh9": "a bzip2 file: give its name the ending .bz2",
    b"(\xb5/\xfd": "a zstd file: unpack it first",
}


def read_lines(path: str) -> Iterator[str]:
    """Yield the lines of `path` without their endings; "-" is standard input, whose lines come as they arrive.

    Raises UserError for a file that is missing, damaged or not UTF-8, or has a line above `LARGEST_LINE_BYTES`, such as
    a few packed bytes can hold. An empty file has no lines.
    """
    offset_bytes = 0
    lines = _read(path, lambda stream: iter(partial(stream.readline, LARGEST_LINE_BYTES + 1), b""))
    for number, line in enumerate(lines, start=1):
        if len(line) > LARGEST_LINE_BYTES:
            where = f"{_name(path)}, line {number}"
            raise UserError(f"{where}: longer than {LARGEST_LINE_BYTES >> 20} MiB; a sentence belongs on each line")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(path, number, line, error.start, offset_bytes) from None
        offset_bytes += len(line)
        if number == 1:
            text = text.removeprefix("\ufeff")
        if text:  # a blank line is its ending; only a byte order mark that is the whole file leaves nothing
            yield text.removesuffix("\n").removesuffix("\r")


def count_lines(path: str) -> int:
    """Return the number of lines that `read_lines` would yield, without decoding them. Raises UserError as it does."""
    newlines, last = 0, b""
    for block in _read(path, lambda stream: iter(partial(stream.read, _BLOCK_BYTES), b"")):
        newlines += block.count(b"\n")
        last = (last + block[-4:])[-4:]
    return newlines + (last not in (b"", BYTE_ORDER_MARK) and not last.endswith(b"\n"))


def encode_lines(lines: Sequence[str], *, at_file_start: bool) -> bytes:
    """Return bytes from which `read_lines` gives back exactly `lines`, which hold no surrogate.

    A line that ends in "\\r" gets a second one, and a first line that begins with U+FEFF gets another in
    front, because reading takes one of each away. Raises ValueError for a line with a "\\n" in it.
    """
    text = "\n".join(lines) + "\n" if lines else ""
    if text.count("\n") != len(lines):
        raise ValueError("a text with a line break in it cannot be a line")
    if "\r\n" in text:
        text = text.replace("\r\n", "\r\r\n")
    if at_file_start and text.startswith("\ufeff"):
        text = "\ufeff" + text
    return text.encode("utf-8")


def blocks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lines, or pairs of them, `size` at a time; the last block may be smaller."""
    remaining = iter(items)
    while block := list(islice(remaining, size)):
        yield block


def arriving_blocks(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """Yield the lines that have come, at least one and at most `most`, without waiting for more; a thread reads ahead.

    Raises what reading raises, after the lines before.
    """
    arrived: queue.Queue[str | BaseException | None] = queue.Queue(most)

    def read() -> None:
        try:
            for line in lines:
                arrived.put(line)
            arrived.put(None)
        except BaseException as error:  # noqa: BLE001  raised again where the lines are used
            arrived.put(error)

    threading.Thread(target=read, name="reading", daemon=True).start()
    block: list[str] = []
    while isinstance(line := arrived.get(), str):
        block.append(line)
        if arrived.empty() or len(block) == most:
            yield block
            block = []
    if block:
        yield block
    if line is not None:
        raise line


def without_surrogates(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot carry, as U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def unreadable(path: str, error: Exception) -> UserError:
    """Return the error that explains to the user why `path` cannot be read, from Python's own."""
    if isinstance(error, FileNotFoundError):
        return UserError(f"{path}: no such file; check the path")
    if isinstance(error, IsADirectoryError):
        return UserError(f"{path}: is a folder, but a file is needed")
    if isinstance(error, EOFError):
        return UserError(f"{path}: the compressed file is truncated; fetch or pack it again")
    if isinstance(error, OSError) and error.strerror:
        return UserError(f"{path}: cannot be read: {error.strerror}")
    return UserError(f"{path}: damaged, or not what its name ends in ({error}); fetch or pack it again")


def compression_suffix(path: str) -> str:
    """Return the ending by which a file is decompressed, in lower case: ".gz", ".xz", ".bz2" or ""."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in COMPRESSED_SUFFIXES else ""


def table_suffix(path: str) -> str:
    """Return which of `TABLE_ENDINGS` a file of both sides of a corpus has, in lower case and unpacked; else ""."""
    compression = compression_suffix(path)
    suffix = Path(path.lower().removesuffix(compression)).suffix
    return suffix if suffix in (".tsv", ".jsonl") or (suffix == ".parquet" and not compression) else ""


def _read(path: str, parts: Callable[[Any], Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the `parts` (lines, blocks) of the stream of decompressed bytes. Raises UserError naming the file."""
    try:
        with _open(path) as stream:
            yield from parts(stream)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise unreadable(path, error) from None


def _open(path: str) -> Any:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise UserError("standard input is closed; redirect a file into it or name one")
        # Not `sys.stdin.buffer`, whose lock a thread that waits for a line would hold while the program ends.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    if Path(path).exists() and not Path(path).stat().st_size:
        return Path(path).open("rb")  # an empty .xz would be called truncated
    return _OPENERS.get(Path(path).suffix.lower(), open)(path, "rb")


def _name(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path


def _not_utf8(path: str, number: int, line: bytes, position: int, offset_bytes: int) -> UserError:
    """The error for a byte at `position` of a line that begins at `offset_bytes` of the file."""
    advice = "convert the file to UTF-8 or fix the line"
    if offset_bytes == 0:
        looks = (meaning for signature, meaning in _SIGNATURES.items() if line.startswith(signature))
        advice = next((f"this looks like {meaning}" for meaning in looks), advice)
    return UserError(
        f"{_name(path)}, line {number}: byte 0x{line[position]:02x} at byte offset {offset_bytes + position} "
        f"is not UTF-8; {advice}"
    )
