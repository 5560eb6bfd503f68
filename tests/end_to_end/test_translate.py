"""mt-translate on files: what a line holds is kept, shards make the whole, an interrupted file is continued."""

import gzip
import json
import os
import re
import shutil
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import small_runs
from mt.api import Translator
from mt.commands.attention import attention
from mt.commands.entry_point import run
from mt.commands.translate import translate
from mt.data.tokenizer import EOS
from mt.errors import UserError
from mt.runs.delivery import model_file, read_model
from mt.runs.folder import run_identity
from mt.translation.segments import Translation
from mt.translation.translator import Translator as LineTranslator

SENTENCES = ["house tree.", "", "water light window.", "bread", "letter bridge house stone.", "morning.", "tree river."]
ROWS = [f"{number}\t{sentence}\tx" for number, sentence in enumerate(SENTENCES)]
OBJECTS = [json.dumps({"id": number, "text": sentence}) for number, sentence in enumerate(SENTENCES)]
FEW = ["decoding.max_output_tokens=6", "device=cpu"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder."""
    folder = tmp_path_factory.mktemp("finished")
    words = [f"run_dir={folder}/run", "training.max_steps=4", "training.validate_every_steps=9", "data.test=null"]
    assert small_runs.train(small_runs.write_corpus(folder / "corpus"), *words) == 0
    return folder / "run"


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sentences in every format."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("a.txt", SENTENCES), ("a.tsv", ROWS), ("b.tsv", ["id\ten\tx", *ROWS]), ("a.jsonl", OBJECTS)):
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def translated(finished: Path, *words: str, code: int = 0) -> None:
    assert run("translate", translate, [f"run_dir={finished}", *FEW, *words]) == code


def lines_of(name: str) -> list[str]:
    text = Path(name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text.split("\n")[:-1]


@pytest.mark.usefixtures("inputs")
def test_every_format_gives_the_same_translations(finished: Path) -> None:
    translated(finished, "input=a.txt", "output=plain")
    plain = lines_of("plain")
    assert len(plain) == len(SENTENCES)
    translated(finished, "input=a.tsv", "column=2", "output=tsv")
    assert lines_of("tsv") == [f"{row}\t{text}" for row, text in zip(ROWS, plain, strict=True)]
    translated(finished, "input=b.tsv", "column=en", "output=named", "translation_field=de")
    assert lines_of("named") == ["id\ten\tx\tde", *lines_of("tsv")]
    translated(finished, "input=a.jsonl", "field=text", "output=jsonl", "scores=true", "alignments=true", "n_best=2")
    objects = [json.loads(line) for line in lines_of("jsonl")]
    assert [one["translation"] for one in objects] == plain
    assert [(one["id"], one["text"]) for one in objects] == list(enumerate(SENTENCES))
    assert all(one["n_best"][0]["score"] == one["score"] and "alignment" in one for one in objects)


@pytest.mark.usefixtures("inputs")
def test_words_that_training_never_saw_are_reported(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    translated(finished, "source='House elephant, tree zebra and House.'")
    reported = capfd.readouterr().err.splitlines()
    assert reported == ["words that training never saw, so their translation is a guess: elephant, zebra, and"]
    Path("new.txt").write_text("".join(f"{word} tree\n" for word in ["house", "a", "tree", "b"]), encoding="utf-8")
    translated(finished, "input=new.txt", "output=out")
    guess = "lines with words that training never saw, a guess: "
    assert f"{guess}2 of 4, lines 2, 4\n" in capfd.readouterr().err
    Path("many.txt").write_text("house\n" + "x1\n" * 12, encoding="utf-8")
    translated(finished, "input=many.txt", "output=out2", "shard=1/1")
    assert f"{guess}12 of 13, lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …\n" in capfd.readouterr().err
    translated(finished, "input=a.txt", "output=out3")
    assert "never saw" not in capfd.readouterr().err
    translated(finished, "source='Briddge, brigde and stone.'")
    reported = capfd.readouterr().err.splitlines()
    read = "words that training never saw: 'Briddge' was read as 'Bridge', 'brigde' was read as 'bridge'"
    assert reported == [read, "words that training never saw, so their translation is a guess: and"]
    translated(finished, "source='Briddge, brigde.'", "decoding.spelling=false")
    assert "a guess: Briddge, brigde" in capfd.readouterr().err
    Path("typos.txt").write_text("house\nbriddge\nstone\nbrigde\n", encoding="utf-8")
    translated(finished, "input=typos.txt", "output=out4")
    read = "saw in 2 of 4 lines: 'briddge' was read as 'bridge', 'brigde' was read as 'bridge'\n"
    assert read in capfd.readouterr().err
    words = (finished / "data/source_words.txt").rename(finished / "hidden")
    translated(finished, "source=elephant")
    words.rename(finished / "data/source_words.txt")
    assert "never saw" not in capfd.readouterr().err


@pytest.mark.usefixtures("inputs")
def test_an_output_that_cannot_be_opened_is_named(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        translated(finished, "input=a.txt", "output=socket", code=2)
    assert capfd.readouterr().err == "error: socket: No such device or address; check the path\n"


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("choice", ["decoding.beam_size=1", "decoding.beam_size=4", "decoding=sampling"])
def test_no_sentence_is_left_empty_unless_asked_for(finished: Path, tmp_path: Path, choice: str) -> None:
    """The model would end every translation at once: what its last layer gives is the embedding of EOS."""
    run_folder = Path(shutil.copytree(finished, tmp_path / "ends at once"))
    weights = read_model(run_folder)
    weights["decoder.layers.0.feed_forward_residual.norm.weight"].zero_()
    last = weights["decoder.layers.0.feed_forward_residual.norm.bias"]
    last.copy_(100 * weights["target_embedding.weight"][EOS] / weights["target_embedding.weight"][EOS].norm() ** 2)
    file = model_file(weights, averaged_steps=[4], run=run_identity(run_folder))
    (run_folder / "model.safetensors").write_bytes(file)
    translated(run_folder, choice, "input=a.txt", "output=default")
    assert [bool(line) for line in lines_of("default")] == [bool(line) for line in SENTENCES]
    translated(run_folder, choice, "decoding.min_output_tokens=null", "input=a.txt", "output=empty")
    assert not any(lines_of("empty"))


def test_there_are_not_more_translations_than_the_beam_has(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("translate", translate, [f"run_dir={finished}", "source=a", "n_best=5"]) == 2
    assert "n_best=5 exceeds decoding.beam_size=4" in capfd.readouterr().err


@pytest.mark.usefixtures("inputs")
def test_n_best_rows_carry_line_rank_and_score(finished: Path) -> None:
    translated(finished, "input=a.txt", "output=best")
    translated(finished, "input=a.txt", "output=several", "n_best=3", "alignments=true")
    rows = [line.split("\t") for line in lines_of("several")]
    assert [(int(number), int(rank)) for number, rank, *_ in rows] == [
        (number, rank) for number, text in enumerate(SENTENCES, start=1) for rank in range(1, 4 if text else 2)
    ]
    assert [text for _, rank, text, _, _ in rows if rank == "1"] == lines_of("best")
    assert all(float(score) <= 0 for *_, score, _ in rows)
    assert all(re.fullmatch(r"(\d+-\d+( \d+-\d+)*)?", links) for *_, links in rows)
    translated(finished, "input=a.txt", "output=aligned", "alignments=true")
    assert lines_of("aligned") == ["\t".join([row[2], row[4]]) for row in rows if row[1] == "1"]


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("words", "count"),
    [(["input=a.txt"], 10), (["input=b.tsv", "column=en", "n_best=2"], 3), (["input=a.txt", "decoding=sampling"], 2)],
    ids=["plain", "n-best of columns", "samples"],
)
def test_shards_in_order_are_the_whole(finished: Path, words: list[str], count: int) -> None:
    translated(finished, *words, "output=whole")
    for number in range(1, count + 1):
        translated(finished, *words, "output=part", f"shard={number}/{count}")
    parts = sorted(path.name for path in Path().glob("part*"))
    assert parts == [f"part.{number:0{len(str(count))}}-of-{count}" for number in range(1, count + 1)]
    assert b"".join(Path(part).read_bytes() for part in parts) == Path("whole").read_bytes()


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("words", [["input=a.txt"], ["input=b.tsv", "column=en", "n_best=2", "shard=1/1"]], ids=str)
def test_an_interrupted_file_is_continued(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """Nothing finished is translated again, and the whole is what it would have been."""
    translated(finished, *words, "output=whole")
    [whole] = Path().glob("whole*")
    asked: list[str] = []
    real = LineTranslator._translate_window

    def dying(self: LineTranslator, lines: list[tuple[int, str, str]]) -> object:
        if len(asked) > 1:
            raise KeyboardInterrupt
        asked.extend(text for _, text, _ in lines)
        return real(self, lines)

    monkeypatch.setattr(LineTranslator, "_translate_window", dying)
    translated(finished, *words, "output=out", code=130)
    assert not [path for path in Path().glob("out*") if not path.name.endswith(".part")]
    assert "the same command continues there" in capfd.readouterr().err
    again: list[str] = []
    monkeypatch.setattr(
        LineTranslator, "_translate_window", lambda self, lines: again.extend(lines) or real(self, lines)
    )
    translated(finished, *words, "output=out", "decoding.batch_tokens=500")
    [out] = Path().glob("out*")
    assert out.read_bytes() == whole.read_bytes()
    assert len(again) < len(whole.read_bytes().split(b"\n")) - 1
    assert "finished lines: " in capfd.readouterr().err


@pytest.mark.usefixtures("inputs")
def test_a_line_that_does_not_fit_is_named(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("bad.jsonl").write_text("\n".join([*OBJECTS[:3], "{", *OBJECTS[3:]]), encoding="utf-8")
    translated(finished, "input=bad.jsonl", "field=text", "output=out", code=2)
    assert "bad.jsonl, line 4: not a JSON object" in capfd.readouterr().err
    Path("bad.txt").write_bytes(b"house\n\xff\n")
    translated(finished, "input=bad.txt", "output=other", code=2)
    assert "bad.txt, line 2: byte 0xff" in capfd.readouterr().err


@pytest.mark.usefixtures("inputs")
def test_a_table_without_its_column_is_asked_for_it(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("d.TSV.gz").write_bytes(gzip.compress(Path("b.tsv").read_bytes()))
    asked = {
        "b.tsv": "give column=, the column to translate; in its first line are 1: 'id', 2: 'en', 3: 'x'",
        "d.TSV.gz": "give column=, the column to translate; in its first line are 1: 'id', 2: 'en', 3: 'x'",
        "a.jsonl": "give field=, the field to translate; in its first line are 1: 'id', 2: 'text'",
    }
    for name, message in asked.items():
        translated(finished, f"input={name}", "output=out", code=2)
        assert f"error: input: {name} is not plain text; {message}\n" == capfd.readouterr().err
    assert not list(Path().glob("out*"))


@pytest.mark.usefixtures("inputs")
def test_a_split_line_is_named_by_its_number_in_the_file(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("long.txt").write_text("house\n" + "tree house " * 40 + "\n", encoding="utf-8")
    for words in ([], ["shard=2/2"]):
        translated(finished, "input=long.txt", "output=out", "decoding.max_source_tokens=30", *words)
        assert "line 2: longer than decoding.max_source_tokens, translated in" in capfd.readouterr().err


@pytest.mark.usefixtures("inputs")
def test_a_line_that_comes_out_empty_is_named(
    finished: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(_: LineTranslator, texts: Iterable[str], **__: object) -> Iterator[Translation]:
        return (Translation("", 0.0, [], segments=1 if text else 0) for text in texts)

    monkeypatch.setattr(LineTranslator, "translate", nothing)
    Path("two.txt").write_text("house\n\nbread\n", encoding="utf-8")
    translated(finished, "input=two.txt", "output=out")
    reported = capfd.readouterr().err
    assert "line 1: the model ended its translation before the first word" in reported
    assert "line 3: the model ended" in reported
    assert "line 2" not in reported


@pytest.mark.usefixtures("inputs")
def test_runs_decide_together_and_outputs_begin_with_their_prefix(
    finished: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["source=house tree.", "target_prefix=Haus, 'Baum' = {x}", f"ensemble=[{finished}]"]
    assert run("translate", translate, [f"run_dir={finished}", *words]) == 0
    assert capfd.readouterr().out.startswith("Haus, 'Baum' = {x}")


def test_a_pipe_is_read_once_and_written_as_it_comes(finished: Path, inputs: Path) -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=(b"house\ntree\n",), daemon=True)
    writer.start()
    translated(finished, "input=pipe", "output=out")
    assert len(lines_of("out")) == 2


def test_a_pipe_has_no_shards(finished: Path, inputs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    translated(finished, "input=pipe", "output=out", "shard=1/2", code=2)
    assert "shard: needs an input that is a regular file" in capfd.readouterr().err


def test_a_run_gives_a_translator(finished: Path) -> None:
    translator = Translator.from_run(
        finished, device="cpu", decoding={"max_output_tokens": 6}, n_best=3, alignments=True
    )
    [empty, one] = translator.translate(["", "house tree."], target_prefixes="Haus")
    assert (empty.text, empty.score, empty.tokens, empty.alignment, empty.others) == ("", 0.0, [], [], [])
    assert one.text.startswith("Haus")
    assert len(one.others) == 2
    assert one.alignment
    sampling = {"beam_size": 1, "sampling": {"temperature": 0.5, "seed": 1}}
    sampled = Translator.from_run(str(finished), ensemble=[finished], decoding=sampling, n_best=9)
    assert len(sampled.translate(["house"])[0].others) == 8
    assert len(sampled._lines.decoders) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decoding": {"beamsize": 2}}, "unknown option beamsize; did you mean beam_size"),
        ({"decoding": {"beam_size": 0}}, "beam_size: must be at least 1"),
        ({"decoding": {"beam_size": 2}, "n_best": 3}, "n_best=3 exceeds decoding.beam_size=2"),
        ({"ensemble": ["nowhere"]}, "ensemble: nowhere does not exist"),
        ({"ensemble": ["."]}, "ensemble: . is not a finished run, it lacks config.yaml"),
    ],
)
def test_wrong_options_of_the_translator_are_refused(finished: Path, options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Translator.from_run(finished, **options)
    with pytest.raises(TypeError, match="a list of texts"):
        Translator.from_run(finished).translate("house")
    with pytest.raises(ValueError, match="shorter"):
        Translator.from_run(finished).translate(["house", "tree"], target_prefixes=["Haus"])


@pytest.mark.parametrize(
    "name",
    [
        "config.yaml",
        "tokenizer.model",
        "model.safetensors",
        "identity.json",
        "metrics.jsonl",
        "loss.png",
        "report.html",
        "README.md",
        "checkpoints/step-4/x",
    ],
)
def test_no_output_replaces_a_file_that_the_run_needs(
    finished: Path, inputs: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    Path("link").symlink_to(finished)
    Path("file.png").symlink_to(finished / name)
    translated(finished, f"output=link/{name}", "input=a.txt", code=2)
    for output in ("file.png", "link/report.png"):
        assert run("attention", attention, [f"run_dir={finished}", "source=house", f"output={output}"]) == 2
    Path("another").mkdir()
    Path("another/identity.json").touch()
    translated(finished, f"output=another/{name.partition('/')[0]}", "input=a.txt", code=2)
    assert capsys.readouterr().err.count("is among the run's own files") == 4
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


def test_an_output_that_is_a_link_stays_one(finished: Path, inputs: Path) -> None:
    (inputs / "link").symlink_to(inputs / "elsewhere")
    translated(finished, "source=house", "output=link")
    assert (inputs / "link").is_symlink()
    assert (inputs / "elsewhere").read_bytes().count(b"\n") == 1


@pytest.mark.usefixtures("inputs")
def test_a_document_is_translated(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("a.md").write_text("# house\n\n- water *light*\n  window.\n", encoding="utf-8")
    translated(finished, "document=a.md", "output=b.md")
    assert re.fullmatch(r"# .+\n\n- .*\*.+\*.*\n.*\n", Path("b.md").read_text(encoding="utf-8"))
    Path("a.txt").write_text("house tree.\n\nbread\n", encoding="utf-8")
    translated(finished, "document=a.txt", "output=b.txt")
    translated(finished, "input=a.txt", "output=c.txt")
    assert lines_of("b.txt") == lines_of("c.txt")
    capfd.readouterr()
    for name, message in (("a.jsonl", "a.jsonl: not a document that can be translated"), ("a.docx", "a.docx: damaged")):
        Path(name).touch()
        translated(finished, f"document={name}", f"output=o{Path(name).suffix}", code=2)
        assert f"error: {message}" in capfd.readouterr().err
    assert not list(Path().glob("o.*"))
    os.mkfifo("pipe.md")
    for name, limit, message in (("pipe.md", 9, "not a regular file"), ("a.md", 9, "larger than 0 MiB")):
        monkeypatch.setattr("mt.commands.translate._LARGEST_DOCUMENT", limit)
        translated(finished, f"document={name}", "output=d.md", code=2)
        assert f"error: document={name}: {message}" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "mt.documents.formats", None)
    translated(finished, "document=a.md", "output=d.md", code=2)
    assert "pip install -e '.[documents]'" in capfd.readouterr().err
