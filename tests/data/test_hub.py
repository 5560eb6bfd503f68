"""Data sets through `datasets`, on local folders of the Hub's layouts and without any network."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from mt.data.hub import HubCorpus, _explained
from mt.errors import StoppedError, UserError

PAIRS = [(f"Satz\u2028{i}", f"sentence {i}\r") for i in range(20)]


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets  # noqa: PLC0415 - takes seconds
    import huggingface_hub  # noqa: PLC0415

    for module in (datasets.config, huggingface_hub.constants):
        monkeypatch.setattr(module, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")  # `datasets` takes "test" in a folder's name for the split


@pytest.fixture
def translation(folder: Path) -> Path:
    for subset in ("de-en", "en-fr"):
        (folder / subset).mkdir(parents=True)
        for split, count in (("train", 20), ("validation", 3), ("test", 2)):
            rows = [{"translation": dict(zip(subset.split("-"), pair, strict=True))} for pair in PAIRS[:count]]
            pa.parquet.write_table(pa.Table.from_pylist(rows), folder / subset / f"{split}-00000-of-00001.parquet")
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: de-en\n  data_dir: de-en\n- config_name: en-fr\n  data_dir: en-fr\n---\n"
    )
    return folder


def corpus(path: Path | str, **changed: str | None) -> HubCorpus:
    settings: dict[str, str | None] = {"subset": None, "revision": None, "split": "train"}
    settings |= {"source_language": "de", "target_language": "en", "source_column": None, "target_column": None}
    return HubCorpus(path=str(path), **{**settings, **changed})


def test_translation_feature(translation: Path) -> None:
    train = corpus(translation, subset="de-en")
    assert list(train.pairs()) == PAIRS
    assert train.count_pairs() == 20
    turned = corpus(translation, subset="de-en", split="validation", source_language="en", target_language="de")
    assert list(turned.pairs()) == [(target, source) for source, target in PAIRS[:3]]


def test_two_columns_of_jsonl(folder: Path) -> None:
    rows = [json.dumps({"german": source, "english": target, "id": 1}) + "\n" for source, target in PAIRS]
    (folder / "train.jsonl").write_text("".join(rows))
    assert list(corpus(folder, source_column="german", target_column="english").pairs()) == PAIRS
    with pytest.raises(UserError, match=r"train, row 1: needs columns 'de' and 'en' but has 'german', 'english', 'id'"):
        corpus(folder).count_pairs()


def test_fingerprints_tell_data_apart_and_a_changed_file_is_read_anew(translation: Path, tmp_path: Path) -> None:
    prints = {
        corpus(translation, subset="de-en").fingerprint(),
        corpus(translation, subset="en-fr").fingerprint(),
        corpus(translation, subset="de-en", split="test").fingerprint(),
        corpus(translation, subset="de-en", source_language="en", target_language="de").fingerprint(),
        corpus(translation, subset="de-en", target_language="de").fingerprint(),
        corpus(translation, subset="de-en", source_column="translation").fingerprint(),
    }
    assert len(prints) == 6
    assert corpus(translation, subset="de-en").fingerprint() in prints
    (translation / "de-en" / "around").symlink_to(translation)
    (translation / ".git").mkdir()
    (translation / ".git" / "index").write_text("of another program")
    assert corpus(translation, subset="de-en").fingerprint() in prints
    (translation / "de-en" / "around").unlink()
    moved = shutil.copytree(translation, tmp_path / "moved", copy_function=shutil.copyfile)
    assert corpus(moved, subset="de-en").fingerprint() in prints
    assert list(corpus(translation, subset="de-en").pairs()) == PAIRS
    rows = [{"translation": {"de": "neu", "en": "new"}}]
    pa.parquet.write_table(pa.Table.from_pylist(rows), translation / "de-en" / "train-00000-of-00001.parquet")
    assert corpus(translation, subset="de-en").fingerprint() not in prints
    assert list(corpus(translation, subset="de-en").pairs()) == [("neu", "new")]


@pytest.mark.reliability(22)
def test_what_cannot_be_loaded_says_what_to_do(translation: Path, tmp_path: Path) -> None:
    for name in ("scripted", "empty", "damaged"):
        (tmp_path / name).mkdir()
    (tmp_path / "scripted" / "scripted.py").write_text("raise SystemExit('run')")
    (tmp_path / "damaged" / "train.parquet").write_bytes(b"PAR1 no more")
    cases = [
        (corpus(translation, subset="de-en", split="dev"), r"Unknown split .*'test'.*names of the splits"),
        (
            corpus(translation, subset="de-nl"),
            r"'de-nl' not found. Available: \['de-en', 'en-fr'\].* data.subset",
        ),
        (corpus(translation), r"Config name is missing.*data.subset"),
        (corpus(translation, subset="en-fr"), r"needs columns 'de' and 'en' but has 'en', 'fr'; set source_column"),
        (corpus(tmp_path / "scripted"), "scripts are no longer supported.*data.revision=refs/convert/parquet"),
        (corpus(tmp_path / "empty"), "cannot be loaded .*doesn't contain any data files"),
        (corpus(tmp_path / "damaged"), "cannot be loaded .*check data.path"),
        (corpus(tmp_path / "missing"), "cannot be loaded .*Couldn't find any data file"),
        (corpus("someone/something"), "the Hugging Face Hub cannot be reached and the local cache has no copy"),
    ]
    for broken, message in cases:
        with pytest.raises(UserError, match=message) as error:
            broken.count_pairs()
        assert str(error.value).startswith(broken.path)
        assert "\n" not in str(error.value)


def test_a_stop_while_data_are_loaded_is_a_stop() -> None:
    """`datasets` wraps what is raised while it writes."""
    stopped, wrapped = StoppedError("stopped", signal_number=15), RuntimeError("cannot write")
    wrapped.__cause__ = stopped
    assert _explained("a", wrapped) is stopped


def test_heavy_libraries_are_loaded_only_when_used() -> None:
    program = (
        "import sys, mt.data.hub, mt.data.text_cache, mt.data.corpus\n"
        "print(sorted({'datasets', 'pyarrow', 'pandas', 'torch'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
