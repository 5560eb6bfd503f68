"""What a job has computed reaches the person also where the disk does not take it; a wrong order loses nothing."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from composed import composed

from mt.commands import attention, evaluate
from mt.config.schema import AttentionConfig, Decoding, EvaluateConfig, Expected, TrainConfig
from mt.data.tokenizer import Tokenizer
from mt.errors import DiskError, UserError
from mt.search.search import Search
from mt.translation import scoring
from mt.translation.output import StreamOutput
from mt.translation.scoring import is_scored, own_folder, score_split
from mt.translation.segments import Translation
from mt.translation.translator import Translator

FULL = Path("/dev/full")
DECODING = Decoding(
    beam_size=1,
    length_penalty=0.6,
    length_penalty_form="gnmt",
    max_extra_tokens=5,
    batch_tokens=100,
    max_source_tokens=100,
    min_output_tokens=None,
    max_output_tokens=None,
    no_repeat_ngram_size=None,
    early_stopping=False,
    as_typed=False,
    spelling=False,
    precision="auto",
    sampling=None,
)


class Echo(Translator):
    """A translator whose translation of a line is the line."""

    def __init__(self) -> None:
        self.search = cast(Search, SimpleNamespace(beam_size=1))
        self.source_tokenizer = cast(Tokenizer, SimpleNamespace(encode=str.split))

    def translate_all(self, lines: Sequence[str]) -> list[Translation]:
        return [Translation(line, 0.0, []) for line in lines]


def toy_run() -> TrainConfig:
    return cast(TrainConfig, composed("train"))


def split_of(run_dir: Path) -> Path:
    (run_dir / "data").mkdir(parents=True)
    for side in ("source", "target"):
        (run_dir / "data" / f"test.{side}").write_text("ein kleiner Hund schläft\n\nja\n", encoding="utf-8")
    return run_dir


def test_scores_are_saved_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score_split(split_of(tmp_path / "run"), Echo(), "test", toy_run(), language="zh", decoding=DECODING)
    saved = json.loads((tmp_path / "run/evaluations/test/evaluation.json").read_bytes())
    assert "tok:zh" in saved["signature"]
    assert saved["bleu"] == pytest.approx(100)
    assert saved["sentences"] == 3
    assert (tmp_path / "run/evaluations/test/hypotheses.txt").read_bytes().count(b"\n") == 3
    assert not is_scored(tmp_path / "run", "test", toy_run().decoding)
    assert "BLEU 100.00" in capsys.readouterr().out


def test_what_a_training_scores_has_its_folder_for_itself(tmp_path: Path) -> None:
    """Another text with the name of a test set, or another search, would be taken for its scores."""
    run = toy_run()
    run_dir = split_of(tmp_path / "run")
    for options in ({"decoding": DECODING, "language": "de"}, {"decoding": run.decoding, "language": "zh"}):
        score_split(run_dir, Echo(), "test", run, **options)
        assert not is_scored(run_dir, "test", run.decoding)
    score_split(run_dir, Echo(), "test", run, language="de", decoding=run.decoding)
    assert is_scored(run_dir, "test", run.decoding)


def test_a_file_with_the_name_of_a_test_set_is_another_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "load_run", lambda _: toy_run())
    monkeypatch.setattr(scoring, "scored_splits", lambda _: ["test", "news", "news-2"])
    (tmp_path / "config.yaml").touch()
    about, reserved = {"scored": "a.en against news"}, tmp_path / "evaluations/news"
    assert own_folder(tmp_path, "news", about).name == "news-3"
    assert own_folder(tmp_path, "news", {"scored": "news split"}, first=reserved) == reserved
    reserved.mkdir(parents=True)
    (reserved / "evaluation.json").write_text("{}", encoding="utf-8")  # made again
    assert own_folder(tmp_path, "news", {"scored": "news split"}, first=reserved) == reserved


def test_scores_of_before_are_made_again_in_their_place(tmp_path: Path) -> None:
    """Batches of another size change no translation, and another search is not the run's own."""
    run = toy_run()
    run_dir = split_of(tmp_path / "run")
    score_split(run_dir, Echo(), "test", run, language="de", decoding=replace(run.decoding, batch_tokens=4096))
    assert is_scored(run_dir, "test", run.decoding)
    narrower = replace(run, decoding=replace(run.decoding, beam_size=1))
    assert not is_scored(run_dir, "test", narrower.decoding)
    score_split(run_dir, Echo(), "test", narrower, language="de", decoding=narrower.decoding)
    assert is_scored(run_dir, "test", narrower.decoding)
    assert not (run_dir / "evaluations").exists()


@pytest.mark.parametrize("damage", ["nothing", "{", "{}", '{"sentences": 3, "bleu": null}', "hypotheses"])
def test_damaged_scores_count_as_none(tmp_path: Path, damage: str) -> None:
    run = toy_run()
    run_dir = split_of(tmp_path / "run")
    score_split(run_dir, Echo(), "test", run, language="de", decoding=run.decoding)
    if damage == "hypotheses":
        (run_dir / "hypotheses.txt").write_text("one\n", encoding="utf-8")
    elif damage != "nothing":
        (run_dir / "evaluation.json").write_text(damage, encoding="utf-8")
    assert is_scored(run_dir, "test", run.decoding) == (damage == "nothing")
    score_split(run_dir, Echo(), "test", run, language="de", decoding=run.decoding)
    assert is_scored(run_dir, "test", run.decoding)


NOTHING_ELSE: dict[str, Any] = {"perplexity": None, "parameters_millions": None}


@pytest.mark.parametrize(
    ("bleu", "form", "verdict"),
    [
        (99.5, "sacrebleu", "\nreproduced: BLEU 100.00, expected 99.50 ± 1.00"),
        (101.5, "sacrebleu", "NOT reproduced: BLEU 100.00, 1.50 below; expected 101.50 ± 1.00"),
        (27.3, "tokenised_compound_split", "NOT reproduced: BLEU 100.00, 72.70 above"),
    ],
)
def test_the_test_split_is_compared_with_what_the_recipe_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bleu: float, form: Any, verdict: str
) -> None:
    run = replace(toy_run(), expected=Expected(bleu=bleu, tolerance=1.0, form=form, **NOTHING_ELSE))
    run_dir = split_of(tmp_path / "run")
    score_split(run_dir, Echo(), "test", run, language="de", decoding=replace(run.decoding, batch_tokens=1))
    assert verdict in capsys.readouterr().out
    score_split(run_dir, Echo(), "test", run, language="de", decoding=replace(run.decoding, spelling=False))
    printed = capsys.readouterr()
    assert "reproduced" not in printed.out.lower()
    assert f"expected BLEU {bleu:.2f}, which is of the run's own search: decoding.spelling=true\n" in printed.err


def test_scores_are_printed_where_they_cannot_be_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = split_of(tmp_path / "run")
    (run_dir / "hypotheses.txt").mkdir()  # as good as a full disk, and root is refused too
    with pytest.raises(DiskError):
        score_split(run_dir, Echo(), "test", toy_run(), language="de", decoding=toy_run().decoding)
    assert "BLEU 100.00" in capsys.readouterr().out


def test_a_language_that_cannot_be_scored_is_refused_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(language: str) -> None:
        raise UserError(f"no tokeniser for {language}")

    monkeypatch.setattr(evaluate, "check_scorable", refuse)
    monkeypatch.setattr(evaluate, "load_run", lambda _: toy_run())
    config = EvaluateConfig(
        run_dir=str(tmp_path),
        device="cpu",
        split="test",
        source=None,
        reference=None,
        hypothesis=None,
        robustness=False,
        target_language="ja",
        decoding=DECODING,
    )
    with pytest.raises(UserError, match="no tokeniser for ja"):
        evaluate.evaluate(config)


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_a_full_disk_is_named() -> None:
    with pytest.raises(DiskError, match="cannot write /dev/full: No space"), StreamOutput(str(FULL)) as output:
        output.write(["Hallo"])


def test_a_sentence_too_long_for_a_picture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "model_and_translator", lambda *_: (None, Echo()))
    config = AttentionConfig(run_dir="run", source="word " * 101, output="a.png", decoding=DECODING)
    with pytest.raises(UserError, match="101 subwords, but a picture holds 100"):
        attention.attention(config)
