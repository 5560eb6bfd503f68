"""Lines of text files, by one rule for corpora, translation input and references.

A line ends at "\\n" and nowhere else, and one "\\r" before it belongs to the ending; NUL, VT, FF, a lone
CR, U+0085 and U+2028 are text. A byte order mark at the start of the file is dropped. Text is strictly UTF-8
in every locale. Files ending in .gz, .xz or .bz2 are decompressed on the way.
"""

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from mt.errors import UserError

STANDARD_INPUT = "-"
COMPRESSED_SUFFIXES = (".gz", ".xz", ".bz2")
TABLE_ENDINGS = f".tsv or .jsonl, also with {', '.join(COMPRESSED_SUFFIXES)}, or .parquet"
BLOCK_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
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

    Raises UserError for a file that is missing, damaged or not UTF-8. An empty file has no lines.
    """
    return chain.from_iterable(read_line_blocks(path))


def count_lines(path: str) -> int:
    """Return the number of lines that `read_lines` would yield, without decoding them. Raises UserError as it does."""
    newlines, size_bytes, last = 0, 0, b""
    for block in read_bytes(path):
        newlines += block.count(b"\n")
        size_bytes += len(block)
        last = (last + block[-3:])[-3:]
    if size_bytes == 0 or (size_bytes == 3 and last == BYTE_ORDER_MARK):
        return 0
    return newlines + (not last.endswith(b"\n"))


def encode_lines(lines: Sequence[str], *, at_file_start: bool) -> bytes:
    """Return bytes from which `read_lines` gives back exactly `lines`, which hold no "\\n" and no surrogate.

    A line that ends in "\\r" gets a second one, and a first line that begins with U+FEFF gets another in
    front, because reading takes one of each away.
    """
    text = "\n".join(lines) + "\n" if lines else ""
    if "\r\n" in text:
        text = text.replace("\r\n", "\r\r\n")
    if at_file_start and text.startswith("\ufeff"):
        text = "\ufeff" + text
    return text.encode("utf-8")


def read_line_blocks(path: str) -> Iterator[list[str]]:
    """Yield the lines of `path` in lists of about a mebibyte: as `read_lines` does, with less overhead."""
    line, offset_bytes = 1, 0
    for data in _whole_lines(read_bytes(path)):
        text = _decode(data, path=path, line=line, offset_bytes=offset_bytes)
        if offset_bytes == 0:
            text = text.removeprefix("\ufeff")
        lines = text.split("\n")
        if not lines[-1] and (data.endswith(b"\n") or data == BYTE_ORDER_MARK):
            lines.pop()
        if "\r" in text:
            lines = [each.removesuffix("\r") for each in lines]
        line += len(lines)
        offset_bytes += len(data)
        yield lines


def read_bytes(path: str) -> Iterator[bytes]:
    """Yield the decompressed bytes of `path` in blocks of at most `BLOCK_BYTES`. Raises UserError naming the file."""
    try:
        with _open(path) as stream:
            # read1 hands on what a pipe holds now, where read would wait for a full block.
            while block := stream.read1(BLOCK_BYTES):
                yield block
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise unreadable(path, error) from None


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


def uncompressed_suffix(path: str) -> str:
    """Return the ending that decides a file's format, in lower case: ".tsv" for both "a.tsv" and "a.TSV.gz"."""
    name = Path(path)
    return (name.with_suffix("") if compression_suffix(path) else name).suffix.lower()


def compression_suffix(path: str) -> str:
    """Return the ending by which a file is decompressed, in lower case: ".gz", ".xz", ".bz2" or ""."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in COMPRESSED_SUFFIXES else ""


def is_table(path: str) -> bool:
    """Return whether a file's ending is one of `TABLE_ENDINGS`: the file of both sides of a corpus."""
    return uncompressed_suffix(path) in (".tsv", ".jsonl") or Path(path).suffix.lower() == ".parquet"


def _open(path: str) -> Any:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise UserError("standard input is closed; redirect a file into it or name one")
        return nullcontext(sys.stdin.buffer)
    if Path(path).exists() and not Path(path).stat().st_size:
        return Path(path).open("rb")  # an empty .xz would be called truncated
    return _OPENERS.get(Path(path).suffix.lower(), open)(path, "rb")


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Regroup blocks so that each but the last ends in a newline, in time linear in the longest line."""
    pending: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*pending, block[:end]])
            pending = [block[end:]] if end < len(block) else []
        else:
            pending.append(block)
    if pending:
        yield b"".join(pending)


def _decode(data: bytes, *, path: str, line: int, offset_bytes: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        name = "standard input" if path == STANDARD_INPUT else path
        line += data.count(b"\n", 0, error.start)
        advice = "convert the file to UTF-8 or fix the line"
        if offset_bytes == 0:
            looks = (meaning for signature, meaning in _SIGNATURES.items() if data.startswith(signature))
            advice = next((f"this looks like {meaning}" for meaning in looks), advice)
        raise UserError(
            f"{name}, line {line}: byte 0x{data[error.start]:02x} at byte offset {offset_bytes + error.start} "
            f"is not UTF-8; {advice}"
        ) from None
