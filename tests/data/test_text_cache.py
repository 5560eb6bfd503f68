"""The text cache: the right text, reused when nothing changed, whole whatever happens while it is written."""

import errno
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pairs import GeneratedCorpus

import mt.data.text_cache
from mt.data.cache import WRITER
from mt.data.corpus import Corpus, FileCorpus
from mt.data.encoded import encode_corpus
from mt.data.filters import FilterSettings
from mt.data.lines import read_lines
from mt.data.text_cache import HELD_OUT_FILE, PreparedText, prepare_text
from mt.data.tokenizer import train_tokenizer
from mt.errors import DiskError, UserError

Pair = tuple[str, str]
TRAIN = [(f"\ufeffSatz Nummer {i}", f"sentence number {i}") for i in range(100)]
ALL_ON = FilterSettings(max_length_ratio=3.0, remove_copies=True, remove_duplicates=True, remove_held_out=True)
VALIDATION = [("\ufeffGilt.", "Valid."), ("", "blank"), ("Satz Nummer 7!", "sentence number 7")]
TEST = [("Ein\rPrüf\u2028satz\r", "A test\x85sentence"), ("Gilt.", "Valid."), ("Gilt.", "Valid.")]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mt.data.text_cache, "BLOCK_PAIRS", 7)


def generated(pairs: list[Pair], identity: str | None = None) -> GeneratedCorpus:
    return GeneratedCorpus(name="generated", identity=identity or repr(pairs), make_pairs=lambda: iter(pairs))


def prepare(cache_dir: Path, **changed: Any) -> PreparedText:
    splits = {"train": [generated(TRAIN)], "validation": [generated(VALIDATION)], "test": [generated(TEST)]}
    splits = {split: changed.pop(split, corpora) for split, corpora in splits.items()}
    given = {split: corpora for split, corpora in splits.items() if corpora}
    return prepare_text(given, **{"filters": ALL_ON, "cache_dir": cache_dir, **changed})


def folders(cache_dir: Path) -> list[Path]:
    return [path for path in cache_dir.iterdir() if path.name != WRITER]


def pairs_of(text: PreparedText, split: str) -> list[Pair]:
    return list(zip(*(read_lines(str(text.path(split, side))) for side in ("source", "target")), strict=True))


@pytest.mark.reliability(13)
def test_only_training_is_filtered_and_every_text_comes_back_exactly(tmp_path: Path) -> None:
    dressed = [("Satz NUMMER 7", "Sentence number 7?"), ("", "blank"), ("\r", "x"), *TRAIN[:3]]
    odd = [("NUL \0 und \x0b", "U+2028 \u2028 and\r"), ("\ufeffBOM\r\r", "\ufeffBOM too")]
    text = prepare(tmp_path, train=[generated([*odd, *TRAIN]), generated(dressed, "second")])
    assert pairs_of(text, "train") == [*odd, *TRAIN[:7], *TRAIN[8:]]
    assert pairs_of(text, "validation") == VALIDATION
    assert pairs_of(text, "test") == TEST
    assert text.report.dropped == {
        "blank side": 2,
        "in validation or test": 2,
        "copy of the source": 0,
        "length ratio": 0,
        "duplicate pair": 3,
    }
    assert (text.report.read, text.report.kept) == (108, 101)
    assert text.report.held_out == {"validation": 3, "test": 3}


def test_removed_held_out_pairs_are_listed_with_their_numbers(tmp_path: Path) -> None:
    text = prepare(tmp_path, train=[generated(TRAIN), generated([TRAIN[7]], "second")])
    leaks = [json.loads(line) for line in read_lines(str(text.folder / HELD_OUT_FILE))]
    common = {"split": "validation", "split_number": 3, "source": "\ufeffSatz Nummer 7", "target": "sentence number 7"}
    assert leaks == [{"corpus": "generated", "number": number, **common} for number in (8, 1)]


def test_unchanged_text_is_reused_and_any_change_makes_another(tmp_path: Path) -> None:
    def must_not_be_read() -> Iterator[Pair]:
        raise AssertionError

    first = prepare(tmp_path)
    again = prepare(tmp_path, train=[GeneratedCorpus(name="other", identity=repr(TRAIN), make_pairs=must_not_be_read)])
    assert again == first
    made = {first.folder}
    for changed in (
        {"filters": replace(ALL_ON, max_length_ratio=4.0)},
        {"filters": replace(ALL_ON, remove_copies=False)},
        {"filters": replace(ALL_ON, remove_duplicates=False)},
        {"filters": replace(ALL_ON, remove_held_out=False)},
        {"test": None},
        {"validation": [generated(TEST)], "test": [generated(VALIDATION)]},
        {"train": [generated(TRAIN), generated(TRAIN)]},
        {"train": [generated(TRAIN[:50])]},
    ):
        made.add(prepare(tmp_path, **changed).folder)
    assert len(made) == 9
    assert pairs_of(prepare(tmp_path, filters=replace(ALL_ON, remove_held_out=False)), "train") == TRAIN
    assert sorted(folders(tmp_path)) == sorted(made)


def test_a_split_that_is_not_given_is_not_written(tmp_path: Path) -> None:
    text = prepare(tmp_path, validation=None, test=None)
    assert {path.name for path in text.folder.iterdir()} == {
        "train.source", "train.target", "held_out.jsonl", "manifest.json",
    }  # fmt: skip
    assert text.report.table().count("pairs") == 1


def flip_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage", [lambda path: path.unlink(), lambda path: path.write_text("cut"), os.truncate, flip_bit]
)
def test_a_damaged_folder_is_made_again(tmp_path: Path, damage: Callable[..., object]) -> None:
    expected = pairs_of(prepare(tmp_path), "train")
    for name in ("train.source", "test.target", "manifest.json"):
        path = prepare(tmp_path).folder / name
        if damage is os.truncate:
            os.truncate(path, path.stat().st_size - 1)
        else:
            damage(path)
        assert pairs_of(prepare(tmp_path), "train") == expected
        assert len(folders(tmp_path)) == 1


def test_a_flipped_bit_in_any_file_of_a_cache_is_never_served(tmp_path: Path) -> None:
    """Of the text and of the subword ids: the folder is made again, or the bit is in white space of its manifest."""
    (tmp_path / "text").write_text("sentence number 7\nSatz Nummer 7\n" * 9, encoding="utf-8")
    model = tmp_path / "tokenizer.model"
    train_tokenizer(
        text_files=[tmp_path / "text"], output=model, vocab_size=30, character_coverage=1.0, byte_fallback=False,
        input_sentence_size=100,
    )  # fmt: skip
    chance = random.Random(7)

    def served() -> dict[str, bytes]:
        text = prepare(tmp_path / "cache")
        for split in ("train", "validation", "test"):
            encode_corpus(
                text, split, tokenizer_paths=(model, model), cache_dir=tmp_path / "cache", max_tokens=60, num_threads=1
            )
        files = (tmp_path / "cache").rglob("*.*")
        return {str(path): path.read_bytes() for path in files if path.name != "manifest.json" and path.is_file()}

    whole = served()
    paths = [path for path in sorted((tmp_path / "cache").rglob("*")) if path.is_file()]
    assert len(paths) == 8 + 3 * 5 + 1  # the lock
    for path in paths:
        content = path.read_bytes()
        for bit in chance.sample(range(8 * len(content)), min(8 * len(content), 1)):
            flipped = bytearray(content)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            assert served() == whole


def test_a_manifest_with_other_facts_is_not_believed(tmp_path: Path) -> None:
    text = prepare(tmp_path)
    manifest = text.folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"read": 100', '"read": 101'))
    assert prepare(tmp_path) == text


def test_a_text_with_a_line_break_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a text with a line break"):
        prepare(tmp_path, train=[generated([("a\nb", "c")])])


def test_many_at_once_agree(tmp_path: Path) -> None:
    start = threading.Barrier(8)

    def one(_: int) -> PreparedText:
        start.wait()
        return prepare(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(one, range(8)))
    assert all(text == texts[0] for text in texts)
    assert folders(tmp_path) == [texts[0].folder]


def test_a_failing_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError, match=r"cannot write .*text-.*: No space left on device: free some space"):
        prepare(tmp_path / "cache")
    assert folders(tmp_path / "cache") == []
    (tmp_path / "file").touch()
    with pytest.raises(DiskError, match=r"cannot write .*file.* another data.cache_dir"):
        prepare(tmp_path / "file")


@pytest.mark.reliability(12)
def test_sides_of_unequal_length_stop_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("eins\nzwei\n")
    (tmp_path / "a.en").write_text("one\n")
    paths = {"source": str(tmp_path / "a.de"), "target": str(tmp_path / "a.en")}
    unequal = FileCorpus(**paths, source_language="de", target_language="en")
    splits: list[dict[str, list[Corpus]]] = [
        {"train": [generated(TRAIN), unequal]}, {"validation": [unequal]}, {"test": [unequal]},
    ]  # fmt: skip
    for split in splits:
        with pytest.raises(UserError, match=r"a.de has 2 lines but .*a.en has 1; the two sides"):
            prepare(tmp_path / "cache", **split)
        assert folders(tmp_path / "cache") == []


def test_damage_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"eins\tone\n" * 5000 + b"zw\xffei\ttwo\n")
    corpus = FileCorpus(file=str(tmp_path / "a.tsv"), source_language="de", target_language="en")
    with pytest.raises(UserError, match="line 5001: byte 0xff"):
        prepare(tmp_path / "cache", train=[corpus])
    assert folders(tmp_path / "cache") == []


def test_training_text_that_vanishes_in_the_filters_is_an_error(tmp_path: Path) -> None:
    train = [generated([("", "x"), ("Gilt", "valid")])]
    with pytest.raises(UserError, match="no training pair is left of 2: dropped 1 for blank side, 1 for in validation"):
        prepare(tmp_path, train=train)
    assert folders(tmp_path) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "text-0.partial").mkdir()
    (tmp_path / "text-0.partial" / "train.source").write_text("half")
    assert folders(tmp_path) == [tmp_path / "text-0.partial"]
    text = prepare(tmp_path)
    assert folders(tmp_path) == [text.folder]


def test_who_waits_for_another_writer_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And takes what the other one made."""

    def slow() -> Iterator[Pair]:
        writing.set()
        time.sleep(0.3)
        yield from TRAIN

    writing = threading.Event()
    corpus = GeneratedCorpus(name="generated", identity=repr(TRAIN), make_pairs=slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(prepare, tmp_path, train=[corpus])
        writing.wait()
        stamp = prepare(tmp_path).folder.stat().st_mtime_ns
        assert first.result().folder.stat().st_mtime_ns == stamp
    assert f"waiting for another process that writes to {tmp_path}\n" in capfd.readouterr().err
