"""Reading lines: the table of odd files, each with its documented result (RELIABILITY row 13)."""

import bz2
import gzip
import io
import lzma
import os
import random
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from reliability import Trials

from mt.data.lines import arriving_blocks, count_lines, encode_lines, read_lines
from mt.errors import UserError

LONG_LINE = "ä" * 5_000_000
ODD_TEXTS: dict[str, tuple[bytes, list[str]]] = {
    "plain": (b"a\nb\n", ["a", "b"]),
    "empty": (b"", []),
    "no newline at the end": (b"a\nb", ["a", "b"]),
    "CRLF": (b"a\r\nb\r\n", ["a", "b"]),
    "CRLF, cut before the last LF": (b"a\r\nb\r", ["a", "b"]),
    "mixed endings": (b"a\r\nb\nc", ["a", "b", "c"]),
    "CR CR LF": (b"a\r\r\n", ["a\r"]),
    "lone CR": (b"a\rb\nc\n", ["a\rb", "c"]),
    "old Mac endings are one line": (b"a\rb\rc", ["a\rb\rc"]),
    "BOM": (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
    "BOM alone": (b"\xef\xbb\xbf", []),
    "BOM and a blank line": (b"\xef\xbb\xbf\n", [""]),
    "two BOMs": (b"\xef\xbb\xbf\xef\xbb\xbfa\n", ["\ufeffa"]),
    "BOM on the second line": (b"a\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
    "U+2028 and U+2029": ("a\u2028b\u2029c\nd\n".encode(), ["a\u2028b\u2029c", "d"]),
    "U+0085": ("a\x85b\nc\n".encode(), ["a\x85b", "c"]),
    "VT and FF": (b"a\x0bb\x0cc\nd\n", ["a\x0bb\x0cc", "d"]),
    "FS, GS, RS, US": (b"a\x1cb\x1dc\x1ed\x1fe\n", ["a\x1cb\x1dc\x1ed\x1fe"]),
    "NUL": (b"a\0b\n\0\n", ["a\0b", "\0"]),
    "control-Z": (b"a\x1ab\nc\n", ["a\x1ab", "c"]),
    "blank lines": (b"\n\na\n\n", ["", "", "a", ""]),
    "one blank line": (b"\n", [""]),
    "spaces and tabs": (b" \n\t\n a \n", [" ", "\t", " a "]),
    "no-break and zero-width spaces": ("\xa0\n\u200b\n".encode(), ["\xa0", "\u200b"]),
    "emoji, right to left, combining": ("👩‍👧\nשלום\ne\u0301\n".encode(), ["👩‍👧", "שלום", "e\u0301"]),
    "private use and noncharacters": ("\ue000\uffff\U0010ffff\n".encode(), ["\ue000\uffff\U0010ffff"]),
    "replacement character": ("\ufffd\n".encode(), ["\ufffd"]),
    "10 MB line": (f"a\n{LONG_LINE}\nb\n".encode(), ["a", LONG_LINE, "b"]),
}
ODD_BYTES: dict[str, tuple[bytes, str]] = {
    "bad byte": (b"good\nbad \xff here\n", "line 2: byte 0xff at byte offset 9 is not UTF-8; convert"),
    "Latin-1": ("schön\n".encode("latin-1"), "line 1: byte 0xf6 at byte offset 3 is not UTF-8"),
    "Windows quotes": ("a\n„Ja“\n".encode("cp1252"), "line 2: byte 0x84 at byte offset 2 is not UTF-8"),
    "character cut at the end of the file": ("a\n€".encode()[:-1], "line 2: byte 0xe2 at byte offset 2 is not UTF-8"),
    "surrogates as UTF-8": (b"a\n\xed\xa0\x80\n", "line 2: byte 0xed at byte offset 2 is not UTF-8"),
    "overlong NUL": (b"\xc0\x80\n", "line 1: byte 0xc0 at byte offset 0 is not UTF-8"),
    "after a BOM": (b"\xef\xbb\xbfa\xff\n", "line 1: byte 0xff at byte offset 4 is not UTF-8"),
    "UTF-16": ("a\nb\n".encode("utf-16"), "this looks like UTF-16 text"),
    "gzip without its ending": (gzip.compress(b"a\n" * 9), "this looks like a gzip file"),
    "line above 16 MiB": (b"a\n" + b"b" * (16 << 20) + b"\n", "line 2: longer than 16 MiB"),
    "xz without its ending": (lzma.compress(b"a\n" * 9), "this looks like an xz file"),
}
PACKERS = {".gz": gzip.compress, ".xz": partial(lzma.compress, preset=0), ".bz2": bz2.compress}


@pytest.mark.reliability(13)
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2"])
@pytest.mark.parametrize(("content", "expected"), ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_text_is_read_as_documented(tmp_path: Path, content: bytes, expected: list[str], suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKERS[suffix](content) if suffix else content)
    assert list(read_lines(str(path))) == expected
    assert count_lines(str(path)) == len(expected)


@pytest.mark.parametrize("name", [*ODD_TEXTS, *ODD_BYTES])
def test_every_odd_file_is_documented(name: str) -> None:
    document = Path(__file__).parents[2] / "docs/reliability.md"
    assert f"\n| {name} | " in document.read_text(encoding="utf-8")


@pytest.mark.reliability(13)
@pytest.mark.parametrize(("content", "message"), ODD_BYTES.values(), ids=ODD_BYTES)
def test_bytes_that_are_no_text_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "text.de"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        list(read_lines(str(path)))
    assert str(error.value).startswith(f"{path}, line ")
    assert "\n" not in str(error.value)


def test_line_and_offset_of_a_bad_byte_are_exact(tmp_path: Path) -> None:
    random_numbers = random.Random(5)
    path = tmp_path / "text"
    for _ in range(200):
        before = "".join(random_numbers.choices(["a", "ü", "\n", "\r", "\u2028"], k=random_numbers.randint(0, 30)))
        path.write_bytes(before.encode() + b"\x80" + b"\nabc\n")
        expected = f"line {before.count(chr(10)) + 1}: byte 0x80 at byte offset {len(before.encode())} is not"
        with pytest.raises(UserError, match=expected):
            list(read_lines(str(path)))


def test_encoding_is_undone_by_reading(tmp_path: Path) -> None:
    random_numbers = random.Random(1)
    alphabet = ["a", "\r", "\ufeff", "\0", "\u2028", "\x85", "é", "😀", "\x0b", "\x0c", " "]
    path = tmp_path / "text"
    for _ in range(500):
        lines = ["".join(random_numbers.choices(alphabet, k=random_numbers.randint(0, 5))) for _ in range(6)]
        lines = lines[: random_numbers.randint(0, 6)]
        path.write_bytes(encode_lines(lines[:2], at_file_start=True) + encode_lines(lines[2:], at_file_start=False))
        assert list(read_lines(str(path))) == lines
        assert count_lines(str(path)) == len(lines)


@pytest.mark.reliability(13)
@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_cut_file_is_never_taken_for_whole(tmp_path: Path, suffix: str, trials: Trials) -> None:
    random_numbers = random.Random(suffix)
    content = "".join(f"sentence {random_numbers.random()}\n" for _ in range(300)).encode()
    packed = PACKERS[suffix](content)
    path = tmp_path / f"text{suffix}"
    for cut in trials([*range(1, 30), *random_numbers.sample(range(30, len(packed)), 60), len(packed) - 1]):
        path.write_bytes(packed[:cut])
        for read in (count_lines, lambda name: list(read_lines(name))):
            with pytest.raises(UserError, match=r"truncated|damaged") as error:
                read(str(path))
            assert str(path) in str(error.value)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_flipped_bit_is_an_error_or_harmless(tmp_path: Path, suffix: str) -> None:
    random_numbers = random.Random(suffix)
    lines = [f"sentence {random_numbers.random()}" for _ in range(300)]
    packed = PACKERS[suffix](encode_lines(lines, at_file_start=True))
    path = tmp_path / f"text{suffix}"
    caught = 0
    for _ in range(100):
        damaged = bytearray(packed)
        damaged[random_numbers.randrange(len(packed))] ^= 1 << random_numbers.randrange(8)
        path.write_bytes(damaged)
        try:
            assert list(read_lines(str(path))) == lines  # a name or time stamp in the header
        except UserError as error:
            assert str(path) in str(error)  # noqa: PT017 - some flips are harmless
            caught += 1
    assert caught > 80


@pytest.mark.reliability(13)
@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_line_of_any_length_takes_little_memory(tmp_path: Path, suffix: str) -> None:
    """A gigabyte on one line, in a few kilobytes: parts of which each is a file, one after another."""
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKERS[suffix](b"a\n") + PACKERS[suffix](bytes(1 << 24)) * 64)
    tracemalloc.start()
    with pytest.raises(UserError, match=rf"text{suffix}, line 2: longer than 16 MiB"):
        list(read_lines(str(path)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_text_with_the_ending_of_a_packed_file_is_named(tmp_path: Path) -> None:
    for suffix in PACKERS:
        path = tmp_path / f"text{suffix}"
        path.write_text("not packed\n" * 5)
        with pytest.raises(UserError, match="damaged, or not what its name ends in"):
            list(read_lines(str(path)))


def test_files_packed_in_parts_are_read_whole(tmp_path: Path) -> None:
    for suffix, pack in PACKERS.items():
        path = tmp_path / f"text{suffix}"
        path.write_bytes(pack(b"a\nb") + pack(b"c\nd\n"))
        assert list(read_lines(str(path))) == ["a", "bc", "d"]


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing.de: no such file"):
        list(read_lines(str(tmp_path / "missing.de")))
    with pytest.raises(UserError, match="is a folder, but a file is needed"):
        count_lines(str(tmp_path))


def test_blocks_are_what_has_come() -> None:
    """One who writes a line when the one before is answered gets every answer; a fault comes after the lines before."""
    answered = threading.Semaphore(1)

    def written() -> Iterator[str]:
        for line in ("a", "b", "c"):
            assert answered.acquire(timeout=20)
            yield line
        yield from ("d", "e")
        raise UserError("not UTF-8")

    found = []
    with pytest.raises(UserError, match="not UTF-8"):
        for block in arriving_blocks(written(), 100):
            found.append(block)
            answered.release()
    assert found[:2] == [["a"], ["b"]]
    assert [line for block in found for line in block] == ["a", "b", "c", "d", "e"]
    assert list(arriving_blocks([], 2)) == []
    assert max(map(len, arriving_blocks(map(str, range(9)), 2))) <= 2


def test_standard_input_hands_on_each_line_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    with io.TextIOWrapper(os.fdopen(read_end, "rb")) as stdin, os.fdopen(write_end, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", stdin)
        lines = read_lines("-")
        writer.write(b"erste\r\nzwei")
        received = []
        reader = threading.Thread(target=lambda: received.append(next(lines)))
        reader.start()
        reader.join(timeout=5)
        assert received == ["erste"]
        writer.write(b"te\n")
        assert next(lines) == "zweite"
        writer.close()
        assert list(lines) == []
