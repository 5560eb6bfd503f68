import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mt.data.encoded
from mt.data.augmentation import Augmentation
from mt.data.batch import Pairs
from mt.data.cache import WRITER
from mt.data.encoded import encode_corpus
from mt.data.filters import FilterReport
from mt.data.text_cache import PreparedText
from mt.data.tokenizer import Tokenizer, train_tokenizer
from mt.errors import DiskError

ENGLISH = ["a", "small", "dog", "runs", "over", "the", "green", "field", "while", "two", "men", "watch", "quietly"]
GERMAN = ["ein", "kleiner", "Hund", "läuft", "über", "die", "grüne", "Wiese", "während", "zwei", "Männer", "zusehen"]
CHUNK_PAIRS = 64
AS_TYPED = Augmentation(
    joined=0, upper_case=0.2, title_case=0.1, end_punctuation=0.2, typos=0.2, noise=0.1, copied_tokens=0.2,
    source_language="en", target_language="de",
)  # fmt: skip
JOINED = replace(AS_TYPED, joined=1.0, upper_case=0, title_case=0, end_punctuation=0, typos=0, noise=0, copied_tokens=0)
ODD = [("a\u2028b", "\u0085"), ("\x0b\x0c.", "a\rb"), ("</s>", "<s>\0"), ("\ufeffa", "😀"), ("field\r", "\u2581")]


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


def read_lines(path: Path) -> list[str]:
    return path.read_bytes().decode().split("\n")[:-1]


def train(path: Path, texts: list[Path], *, vocab_size: int) -> Path:
    train_tokenizer(
        text_files=texts,
        output=path,
        vocab_size=vocab_size,
        character_coverage=1.0,
        byte_fallback=True,
        input_sentence_size=1000,
    )
    return path


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mt.data.encoded.CHUNK_PAIRS", CHUNK_PAIRS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two and a half chunks of pairs, some odd, and a joint and a target-only tokenizer."""
    folder = tmp_path_factory.mktemp("encoded")
    random = np.random.default_rng(0)
    pairs = [
        (" ".join(random.choice(ENGLISH, size=words[0])), " ".join(random.choice(GERMAN, size=words[1])))
        for words in random.integers(1, 12, size=(CHUNK_PAIRS * 5 // 2, 2))
    ]
    pairs[5:5] = pairs[CHUNK_PAIRS - 2 : CHUNK_PAIRS - 2] = ODD
    source = write_lines(folder / "source", [pair[0] for pair in pairs])
    target = write_lines(folder / "target", [pair[1] for pair in pairs])
    joint = train(folder / "joint.model", [source, target], vocab_size=420)
    german = train(folder / "german.model", [target], vocab_size=400)
    return {"source": source, "target": target, "shared_vocab": joint, "german": german}


def encode(made: dict[str, Path], cache_dir: Path, **changes: Any) -> Pairs:
    """Encode the pairs, or others given by `text`, with the joint tokenizer or others given by `tokenizers`."""
    source, target = (made[name] for name in changes.pop("tokenizers", ("shared_vocab", "shared_vocab")))
    settings: dict[str, Any] = {"max_tokens": None, "cache_dir": cache_dir, "num_threads": 2}
    text = changes.pop("text", None) or prepared(made["source"], made["target"])
    return encode_corpus(text, "train", tokenizer_paths=(source, target), **(settings | changes))


def prepared(source: Path, target: Path) -> PreparedText:
    """The two files as the text of a training; `fingerprint` is their content, as far as these tests are concerned."""
    folder = source.with_name(f"{source.name}-{target.name}.text")
    folder.mkdir(exist_ok=True)
    shutil.copyfile(source, folder / "train.source")
    shutil.copyfile(target, folder / "train.target")
    report = FilterReport(read=len(read_lines(source)), dropped={}, held_out={})
    return PreparedText(folder=folder, fingerprint=source.read_text() + target.read_text(), report=report)


def folder_of(made: dict[str, Path], cache_dir: Path, **changes: Any) -> Path:
    """The folder from which `encode` reads."""
    read: list[Path] = []
    mapped = mt.data.encoded._mapped
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mt.data.encoded._mapped", lambda folder, facts: read.append(folder) or mapped(folder, facts))
        encode(made, cache_dir, **changes)
    return read[0]


def contents(corpus: Pairs) -> list[tuple[list[int], list[int]]]:
    return [(corpus.source(i).tolist(), corpus.target(i).tolist()) for i in range(len(corpus.source_lengths))]


def folders(cache_dir: Path) -> list[Path]:
    return [path for path in cache_dir.iterdir() if path.name != WRITER]


def stamps(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_every_line_stays_a_pair_equal_to_direct_encoding(made: dict[str, Path], tmp_path: Path) -> None:
    corpus = encode(made, tmp_path, tokenizers=("shared_vocab", "german"))
    sources = Tokenizer.load(made["shared_vocab"]).encode_many(read_lines(made["source"]))
    targets = Tokenizer.load(made["german"]).encode_many(read_lines(made["target"]))
    assert contents(corpus) == list(zip(sources, targets, strict=True))
    assert corpus.source_lengths.tolist() == [len(ids) for ids in sources]
    assert corpus.target_lengths.tolist() == [len(ids) for ids in targets]
    assert corpus.dropped_too_long == 0
    assert len(folders(tmp_path)) == 1


def test_pairs_too_long_or_empty_on_a_side_are_dropped(made: dict[str, Path], tmp_path: Path) -> None:
    everything = contents(encode(made, tmp_path))
    longest = int(np.median([len(source) for source, _ in everything]))
    corpus = encode(made, tmp_path, max_tokens=longest)
    empty = [pair for pair in everything if not all(pair)]
    too_long = [pair for pair in everything if all(pair) and max(map(len, pair)) > longest]
    assert contents(corpus) == [pair for pair in everything if pair not in empty and pair not in too_long]
    assert corpus.dropped_too_long == len(too_long)
    assert 0 < len(empty) < 20 < len(too_long)


@pytest.mark.reliability(7)
@pytest.mark.parametrize("draws", [{}, {"bpe_dropout": 0.1}, {"augmentation": AS_TYPED}])
def test_the_number_of_threads_changes_nothing(made: dict[str, Path], tmp_path: Path, draws: dict[str, Any]) -> None:
    folders = [
        folder_of(made, tmp_path / str(n), num_threads=n, **draws, seed=(3, 1), max_tokens=30) for n in (1, 2, 5)
    ]
    assert len({folder.name for folder in folders}) == 1
    for name in ("source.ids", "source.offsets.npy", "target.ids", "target.offsets.npy", "manifest.json"):
        assert len({(folder / name).read_bytes() for folder in folders}) == 1


def test_dropout_is_decided_by_the_seed_and_keeps_the_text(made: dict[str, Path], tmp_path: Path) -> None:
    plain = encode(made, tmp_path / "plain")
    first, other = (encode(made, tmp_path / str(epoch), bpe_dropout=0.2, seed=(7, epoch)) for epoch in (1, 2))
    again = encode(made, tmp_path / "again", bpe_dropout=0.2, seed=(7, 1))
    assert contents(first) == contents(again) != contents(other)
    joined = encode(made, tmp_path / "joined", bpe_dropout=0.2, seed=(71,))
    assert contents(joined) != contents(first)
    assert int(first.source_lengths.sum()) > int(plain.source_lengths.sum())
    tokenizer = Tokenizer.load(made["shared_vocab"])
    for index in range(0, len(plain.source_lengths), 7):
        assert tokenizer.decode(first.source(index)) == tokenizer.decode(plain.source(index))
    # Chunks and sides draw from streams of their own.
    repeated = write_lines(tmp_path / "same", [" ".join(ENGLISH)] * (CHUNK_PAIRS + 1))
    corpus = encode(made, tmp_path / "twice", text=prepared(repeated, repeated), bpe_dropout=0.2, seed=(7,))
    assert corpus.source(0).tolist() != corpus.target(0).tolist()
    assert corpus.source(0).tolist() != corpus.source(CHUNK_PAIRS).tolist()


def test_pairs_change_by_seed_and_number_alone(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer.load(made["shared_vocab"])

    def texts(name: str, **changes: Any) -> list[tuple[str, str]]:
        corpus = encode(made, tmp_path / name, augmentation=AS_TYPED, **changes)
        return [(tokenizer.decode(source), tokenizer.decode(target)) for source, target in contents(corpus)]

    changed = texts("first", seed=(7, 1))
    plain = contents(encode(made, tmp_path / "plain"))
    kept = [tokenizer.decode(one[0]) == text[0] for one, text in zip(plain, changed, strict=True)]
    assert 0.3 < np.mean(kept) < 0.7
    assert texts("with dropout", seed=(7, 1), bpe_dropout=0.2) == changed
    assert texts("other", seed=(7, 2)) != changed
    monkeypatch.setattr("mt.data.encoded.CHUNK_PAIRS", 40)
    assert texts("other chunks", seed=(7, 1)) == changed


def test_pairs_are_joined_with_others_of_their_chunk(made: dict[str, Path], tmp_path: Path) -> None:
    plain = encode(made, tmp_path / "plain")
    joined = encode(made, tmp_path / "joined", augmentation=JOINED, seed=(7,))
    pairs = set(map(str, contents(plain)))
    for whole, first in zip(contents(joined), contents(plain), strict=True):
        assert str(tuple(long[len(short) :] for long, short in zip(whole, first, strict=True))) in pairs


def test_a_pair_with_which_another_would_be_too_long_stays_alone(made: dict[str, Path], tmp_path: Path) -> None:
    plain = contents(encode(made, tmp_path / "plain"))
    longest = max(len(side) for pair in plain for side in pair)
    corpus = encode(made, tmp_path / "joined", augmentation=JOINED, seed=(7,), max_tokens=longest)
    alone = [str(whole) == str(first) for whole, first in zip(contents(corpus), plain, strict=True)]
    assert corpus.dropped_too_long == 0
    assert 0.2 < np.mean(alone) < 1


def test_an_unchanged_corpus_is_reused(made: dict[str, Path], tmp_path: Path) -> None:
    first = encode(made, tmp_path, max_tokens=40)
    [folder] = folders(tmp_path)
    before = stamps(folder)
    again = encode(made, tmp_path, max_tokens=40, num_threads=1, seed=(4,))
    assert folders(tmp_path) == [folder]
    assert stamps(folder) == before
    assert contents(again) == contents(first)


def test_a_flipped_bit_is_never_served(made: dict[str, Path], tmp_path: Path) -> None:
    whole = contents(encode(made, tmp_path))
    for name in ("source.ids", "target.offsets.npy"):
        path = folders(tmp_path)[0] / name
        damaged = bytearray(path.read_bytes())
        damaged[-8] ^= 1
        path.write_bytes(damaged)
        assert contents(encode(made, tmp_path)) == whole


def test_any_change_makes_another_folder(made: dict[str, Path], tmp_path: Path) -> None:
    changed = write_lines(tmp_path / "changed", ["!", *read_lines(made["source"])[1:]])
    folders = {
        folder_of(made, tmp_path / "ids", **changes)
        for changes in (
            {},
            {"tokenizers": ("shared_vocab", "german")},
            {"tokenizers": ("german", "shared_vocab")},
            {"text": prepared(changed, made["target"])},
            {"max_tokens": 40},
            {"bpe_dropout": 0.1, "seed": (1, 1)},
            {"bpe_dropout": 0.1, "seed": (11,)},
            {"bpe_dropout": 0.2, "seed": (11,)},
            {"augmentation": AS_TYPED, "seed": (11,)},
            {"augmentation": AS_TYPED, "seed": (12,)},
            {"augmentation": replace(AS_TYPED, typos=0.0), "seed": (11,)},
        )
    }
    assert len(folders) == 11


def test_the_samples_of_the_two_newest_epochs_are_kept(made: dict[str, Path], tmp_path: Path) -> None:
    plain = folder_of(made, tmp_path)
    draws = [{"bpe_dropout": 0.1, "seed": (1, epoch)} for epoch in (0, 1, 2, 3, 1)]
    samples = [encode(made, tmp_path, **draw) for draw in draws]
    left = set(folders(tmp_path))
    assert left == {plain, *(folder_of(made, tmp_path, **draw) for draw in draws[3:])}
    assert contents(samples[4]) == contents(samples[1])


def test_a_larger_vocabulary_takes_wider_ids(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = encode(made, tmp_path / "narrow")
    load = Tokenizer.load

    def large(path: Path) -> Tokenizer:
        tokenizer = load(path)
        tokenizer.vocab_size = (1 << 16) + 1
        return tokenizer

    monkeypatch.setattr(Tokenizer, "load", large)
    wide = encode(made, tmp_path / "wide")
    assert (narrow.source(0).dtype, wide.source(0).dtype) == (np.uint16, np.uint32)
    assert contents(narrow) == contents(wide)


def test_an_empty_corpus_and_one_without_subwords_open(made: dict[str, Path], tmp_path: Path) -> None:
    for name, lines in (("empty", []), ("blank", ["", "\u2028"])):
        text = write_lines(tmp_path / f"{name}.txt", lines)
        corpus = encode(made, tmp_path / name, text=prepared(text, text))
        assert contents(corpus) == [([], [])] * len(lines)
        assert corpus.source_lengths.tolist() == [0] * len(lines)


def damage_truncate(folder: Path, name: str) -> None:
    (folder / name).write_bytes((folder / name).read_bytes()[:-3])


def damage_empty(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"")


def damage_remove(folder: Path, name: str) -> None:
    (folder / name).unlink()


def damage_foreign(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"PK\x03\x04" + bytes(300))


@pytest.mark.parametrize(
    "name", ["source.ids", "target.ids", "source.offsets.npy", "target.offsets.npy", "manifest.json"]
)
@pytest.mark.parametrize("damage", [damage_truncate, damage_empty, damage_remove, damage_foreign])
def test_a_damaged_folder_is_made_again(made: dict[str, Path], tmp_path: Path, damage: Any, name: str) -> None:
    short = write_lines(tmp_path / "short", read_lines(made["source"])[:20])
    sound = encode(made, tmp_path / "ids", text=prepared(short, short))
    expected = contents(sound)
    [folder] = folders(tmp_path / "ids")
    damage(folder, name)
    assert contents(encode(made, tmp_path / "ids", text=prepared(short, short))) == expected
    assert folders(tmp_path / "ids") == [folder]


def test_a_folder_that_cannot_be_written_is_named(made: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DiskError, match=r"cannot write .*file/ids-.*: File exists.* another data.cache_dir"):
        encode(made, tmp_path / "file")


def test_a_failure_in_the_middle_leaves_nothing(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(DiskError, match="No space left on device"):
        encode(made, tmp_path)
    assert folders(tmp_path) == []
