"""Corpora from files: both sides matched, columns found, and every misfit a message that names where it is."""

import gzip
import hashlib
import json
import lzma
import os
import random
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from reliability import Trials

import mt.data.builtin
from mt.data.corpus import FileCorpus, builtin_corpus
from mt.errors import UserError

Pair = tuple[str, str]


def side_by_side(source: Path, target: Path) -> FileCorpus:
    return FileCorpus(source=str(source), target=str(target), source_language="de", target_language="en")


def one_file(file: Path, source_column: str | None = None, target_column: str | None = None) -> FileCorpus:
    return FileCorpus(
        file=str(file),
        source_language="de",
        target_language="en",
        source_column=source_column,
        target_column=target_column,
    )


def write(path: Path, content: bytes) -> Path:
    pack = {".gz": gzip.compress, ".xz": partial(lzma.compress, preset=0)}.get(path.suffix, bytes)
    path.write_bytes(pack(content))
    return path


def read(corpus: FileCorpus) -> list[Pair]:
    pairs = list(corpus.pairs())
    assert corpus.count_pairs() == len(pairs)
    return pairs


PAIRS = [("Guten\u2028Tag", "Hello"), ("", "blank"), ("a\rb", "c\x85d"), ("x", "")]


@pytest.mark.parametrize("source_suffix", [".de", ".gz", ".xz"])
@pytest.mark.parametrize("target_suffix", [".en", ".gz", ".xz"])
def test_two_files_in_any_packing(tmp_path: Path, source_suffix: str, target_suffix: str) -> None:
    source = write(tmp_path / f"source{source_suffix}", "\r\n".join(pair[0] for pair in PAIRS).encode())
    target = write(tmp_path / f"target{target_suffix}", "".join(pair[1] + "\n" for pair in PAIRS).encode())
    assert read(side_by_side(source, target)) == PAIRS


@pytest.mark.reliability(12)
def test_one_deleted_line_is_always_found_with_both_counts(tmp_path: Path, trials: Trials) -> None:
    random_numbers = random.Random(2)
    for trial in trials(range(500)):
        count = random_numbers.randint(2, 30)
        ending = random_numbers.choice(["\n", "\r\n"])
        lines = [[f"{side} {i}" for i in range(count)] for side in ("source", "target")]
        shorter = random_numbers.randrange(2)
        del lines[shorter][random_numbers.randrange(count)]
        paths = []
        for side in lines:
            suffix = random_numbers.choice(["", "", ".gz", ".xz"]) if trial % 10 == 0 else ""
            content = ending.join(side) + random_numbers.choice(["", ending])
            paths.append(write(tmp_path / f"{len(paths)}{suffix}", content.encode()))
        corpus = side_by_side(*paths)
        message = f"{paths[0]} has {len(lines[0])} lines but {paths[1]} has {len(lines[1])}; "
        for work in (corpus.count_pairs, lambda corpus=corpus: list(corpus.pairs()))[: 1 + (trial % 5 == 0)]:
            with pytest.raises(UserError) as error:
                work()
            assert str(error.value).startswith(message)


def test_tsv_with_two_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv.gz", b'\xef\xbb\xbfeins\tone\r\n\n"zwei\t"two"\n\tthree\n')
    assert read(one_file(path)) == [("eins", "one"), ("", ""), ('"zwei', '"two"'), ("", "three")]


def test_tsv_columns_by_number_and_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", b"id\ten\tde\n1\tone\teins\n2\ttwo\tzwei\n")
    assert read(one_file(path, "de", "en")) == [("eins", "one"), ("zwei", "two")]
    assert read(one_file(path, "3", "en")) == [("eins", "one"), ("zwei", "two")]
    assert read(one_file(path, "3", "2")) == [("de", "en"), ("eins", "one"), ("zwei", "two")]


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        (b"a\tb\nc\n", (None, None), "a.tsv, line 2: has 1 tab-separated columns instead of 2; fix the line, or set"),
        (b"a\tb\nc\td\te\n", (None, None), "a.tsv, line 2: has 3 tab-separated columns instead of 2"),
        (b"a\tb\tc\nd\te\n", ("1", "3"), "a.tsv, line 2: has 2 tab-separated columns instead of 3; fix the line"),
        (b"en\tde\n", ("src", "de"), "a.tsv: has no column 'src'; its first line names 'en', 'de'"),
        (b"a\tb\n", ("0", "1"), "a.tsv: has no column '0'"),
        (b"a\tb\n", ("9" * 5000, "1"), "a.tsv: has no column '99"),
        (b"a\tb\n\xffa\tb\n", (None, None), "a.tsv, line 2: byte 0xff at byte offset 4"),
    ],
)
def test_a_tsv_line_that_does_not_fit_is_named(
    tmp_path: Path, content: bytes, columns: tuple[str | None, str | None], message: str
) -> None:
    corpus = one_file(write(tmp_path / "a.tsv", content), *columns)
    with pytest.raises(UserError) as error:
        list(corpus.pairs())
    assert message in str(error.value)


def test_jsonl_of_every_layout(tmp_path: Path) -> None:
    rows = [{"translation": {"en": "one", "de": "eins", "fr": "un"}}, {"de": "zwei", "en": None}]
    rows += [{"de": " drei\r\nvier\n", "en": "a\ud800b"}, {"de": "\u2028\r", "en": "\0"}]
    text = "".join(json.dumps(row, ensure_ascii=row["de"] != "zwei" if "de" in row else False) + "\n" for row in rows)
    path = write(tmp_path / "a.jsonl.xz", (text + "\n").encode())
    expected = [("eins", "one"), ("zwei", ""), (" drei vier", "a\ufffdb"), ("\u2028\r", "\0"), ("", "")]
    assert read(one_file(path)) == expected
    path = write(tmp_path / "b.jsonl", b'{"translation": "x", "german": "eins", "english": "one"}')
    assert read(one_file(path, "german", "english")) == [("eins", "one")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "a.jsonl, line 2: not a JSON object (Expecting"),
        ("[1]", "a.jsonl, line 2: a JSON list, but every line must be an object"),
        ("[" * 100_000, "a.jsonl, line 2: not a JSON object"),
        ('{"de": ' + "9" * 5000 + "}", "a.jsonl, line 2: not a JSON object"),
        (
            '{"de": "x", "nl": "y"}',
            "a.jsonl, line 2: needs columns 'de' and 'en' but has 'de', 'nl'; set source_column",
        ),
        ('{"translation": {"de": "x"}}', "a.jsonl, line 2: needs columns 'de' and 'en' but has 'de'"),
        ('{"de": "x", "en": 3}', "a.jsonl, line 2: found int where text belongs"),
    ],
)
def test_a_jsonl_line_that_does_not_fit_is_named(tmp_path: Path, line: str, message: str) -> None:
    corpus = one_file(write(tmp_path / "a.jsonl", ('{"de": "x", "en": "y"}\n' + line + "\n").encode()))
    with pytest.raises(UserError) as error:
        list(corpus.pairs())
    assert message in str(error.value)
    assert len(str(error.value)) < 600


def write_parquet(path: Path, rows: list[dict[str, object]]) -> Path:
    pa.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
    return path


def test_parquet_of_every_layout(tmp_path: Path) -> None:
    texts = [(f"Satz\r\n{i}", f"sentence {i}\r") for i in range(10)]
    expected = [(f"Satz {i}", f"sentence {i}\r") for i in range(10)]
    rows: list[dict[str, object]] = [{"id": 1, "translation": {"en": en, "de": de}} for de, en in texts]
    rows.append({"id": 1, "translation": None})
    assert read(one_file(write_parquet(tmp_path / "a.parquet", rows))) == [*expected, ("", "")]
    rows = [{"en": en, "de": de, "translation": "not a struct"} for de, en in texts]
    assert read(one_file(write_parquet(tmp_path / "b.parquet", rows))) == expected
    rows = [{"english": en, "german": de} for de, en in texts] + [{"english": None, "german": "x"}]
    path = write_parquet(tmp_path / "c.parquet", rows)
    assert read(one_file(path, "german", "english")) == [*expected, ("x", "")]
    with pytest.raises(UserError, match=r"c.parquet, row 1: needs columns 'de' and 'en' but has 'english', 'german'"):
        list(one_file(path).pairs())
    path = write_parquet(tmp_path / "e.parquet", [{"de": "x", "en": "y" * (1 << 22)}])
    with pytest.raises(UserError, match=r"e.parquet, row 1: a text of 4,194,304 characters"):
        read(one_file(path))
    path = write_parquet(tmp_path / "d.parquet", [{"de": "x", "en": 3}])
    with pytest.raises(UserError, match=r"d.parquet, row 1: found int where text belongs"):
        list(one_file(path).pairs())


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    columns, names = [pa.array(["x", "y"])] * 3, ["de", "en", "en"]
    flat = pa.Table.from_arrays(columns, names=names)
    pair = pa.StructArray.from_arrays(columns, names=names)
    for table, name in (
        (flat, "en"),
        (pa.Table.from_arrays([pair], names=["translation"]), "en"),
        (pa.Table.from_arrays([pair, pair], names=["translation"] * 2), "translation"),
    ):
        pa.parquet.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(UserError, match=rf"a.parquet: has several columns named '{name}'; rename all but one"):
            read(one_file(tmp_path / "a.parquet"))
    (tmp_path / "a.tsv").write_text("de\ten\ten\n1\t2\t3\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"a.tsv: has several columns named 'en'"):
        read(one_file(tmp_path / "a.tsv", source_column="de", target_column="en"))


def test_damaged_parquet_is_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", [{"de": f"Satz {i}", "en": "x" * i} for i in range(100)])
    whole = path.read_bytes()
    random_numbers = random.Random(0)
    for cut in random_numbers.sample(range(len(whole)), 50):
        path.write_bytes(whole[:cut])
        with pytest.raises(UserError, match=r"a.parquet: not a parquet file, or damaged|holds no pair"):
            one_file(path).count_pairs()
    messages = []
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[random_numbers.randrange(len(whole))] ^= 1 << random_numbers.randrange(8)
        path.write_bytes(damaged)
        try:
            list(one_file(path).pairs())
        except UserError as error:  # some flips change a letter only
            messages.append(str(error))
    assert len(messages) > 10
    assert all("a.parquet" in message for message in messages)


def test_empty_corpora_are_refused(tmp_path: Path) -> None:
    for name, content in (("a.de", b""), ("b.de", b"\xef\xbb\xbf"), ("c.gz", b""), ("d.xz", b"")):
        path = write(tmp_path / name, content)
        with pytest.raises(UserError, match=f"{name}: holds no line; give a file with text"):
            side_by_side(path, path).count_pairs()
    (tmp_path / "e.xz").touch()
    with pytest.raises(UserError, match=r"e.xz: holds no line"):
        side_by_side(tmp_path / "e.xz", tmp_path / "e.xz").count_pairs()
    with pytest.raises(UserError, match=r"f.tsv: holds no pair"):
        one_file(write(tmp_path / "f.tsv", b"de\ten\n"), "de", "en").count_pairs()
    with pytest.raises(UserError, match=r"g.parquet: holds no pair"):
        one_file(write_parquet(tmp_path / "g.parquet", [])).count_pairs()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    present = write(tmp_path / "a.de", b"a\n")
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (tmp_path / "missing.de", "missing.de: no such file"),
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "pipe: not a regular file"),
    ):
        corpus = side_by_side(present, path)
        for work in (corpus.count_pairs, corpus.fingerprint):
            with pytest.raises(UserError, match=message):
                work()


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.de", b"a\n"), write(tmp_path / "b.en", b"b\n")
    moved = write(tmp_path / "c.de", b"a\n")
    fingerprint = side_by_side(first, second).fingerprint()
    assert side_by_side(moved, second).fingerprint() == fingerprint
    assert side_by_side(second, first).fingerprint() != fingerprint
    write(first, b"b\n")
    assert side_by_side(first, second).fingerprint() != fingerprint
    table = write(tmp_path / "a.tsv", b"a\tb\n")
    assert one_file(table).fingerprint() != one_file(table, "2", "1").fingerprint()
    packed = write(tmp_path / "packed.gz", b"a\n")
    misnamed = write(tmp_path / "packed", packed.read_bytes())
    assert side_by_side(packed, second).fingerprint() != side_by_side(misnamed, second).fingerprint()


def test_the_built_in_corpus_is_what_its_page_says() -> None:
    page = (Path(mt.data.builtin.__file__).parent / "README.md").read_text(encoding="utf-8")
    for split, count in (("train", 44_000), ("validation", 1000), ("test", 1000)):
        pairs = list(builtin_corpus(split).pairs())
        assert len(pairs) == builtin_corpus(split).count_pairs() == count
        text = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
        assert f"{len(text):,} | `{hashlib.sha256(text).hexdigest()}`" in page
