"""Scores are sacreBLEU's to the last digit; what cannot be scored is refused."""

import dataclasses
import json
import random
import subprocess
import sys

import pytest
import sacrebleu
from sacrebleu.tokenizers import tokenizer_ja_mecab

from mt.errors import UserError
from mt.translation import evaluation
from mt.translation.evaluation import (
    Scores,
    check_scorable,
    corpus_bleu,
    corpus_scores,
    format_scores,
    paired_bootstrap,
)

WORDS = (
    *("der", "Hund", "läuft", "Über", "die", "Straße", "ICH", "İstanbul", "„so“", "你好。", "▁x", ",", ".", "!"),
    *("rot-weiß", "Nord-Süd-Achse", "x-y", "3-4", "1,000.5", "&quot;Ja&quot;", "<skipped>", "\u2028", "\x85", "\r"),
)


def corpus(seed: int, sentences: int = 60) -> tuple[list[str], list[str]]:
    draw = random.Random(seed)
    references = [" ".join(draw.choices(WORDS, k=draw.randint(0, 15))) for _ in range(sentences)]
    noise = draw.uniform(0.0, 0.6)
    hypotheses = [
        " ".join(word.lower() if draw.random() < 0.1 else word for word in line.split(" ") if draw.random() > noise)
        for line in references
    ]
    return hypotheses, references


def command_line(folder, hypotheses, references, *options) -> dict:
    paths = folder / "hypotheses.txt", folder / "references.txt"
    for path, lines in zip(paths, (hypotheses, references), strict=True):
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    command = [sys.executable, "-m", "sacrebleu", paths[1], "-i", paths[0], "-w", "13", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)


@pytest.mark.reliability(21)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 20))])
def test_scores_and_signatures_are_those_of_the_command_line(seed, tmp_path):
    hypotheses, references = corpus(seed)
    scores = corpus_scores(hypotheses=hypotheses, references=references, target_language="de")
    bleu = command_line(tmp_path, hypotheses, references, "--confidence")
    assert scores.bleu == pytest.approx(bleu["score"], abs=1e-9)
    assert scores.bleu_signature == bleu["signature"]
    # sacreBLEU prints half the interval's width, computed in single precision.
    assert (scores.bleu_high - scores.bleu_low) / 2 == pytest.approx(bleu["confidence_var"], abs=1e-4)
    lowercase, chrf = (
        command_line(tmp_path, hypotheses, references, "--lowercase"),
        command_line(tmp_path, hypotheses, references, "-m", "chrf", "--chrf-word-order", "2", "--confidence"),
    )
    assert scores.bleu_lowercase == pytest.approx(lowercase["score"], abs=1e-9)
    assert scores.bleu_lowercase_signature == lowercase["signature"]
    assert scores.chrf == pytest.approx(chrf["score"], abs=1e-9)
    assert scores.chrf_signature == chrf["signature"]
    assert (scores.chrf_high - scores.chrf_low) / 2 == pytest.approx(chrf["confidence_var"], abs=1e-4)


def test_scores_are_sacrebleus_on_many_corpora():
    for seed in range(20):
        hypotheses, references = corpus(seed, sentences=seed + 1)
        language, tokenizer = [("de", "13a"), ("zh", "zh"), ("zh_CN", "zh"), ("fr", "13a")][seed % 4]
        scores = corpus_scores(hypotheses=hypotheses, references=references, target_language=language)
        metric = sacrebleu.BLEU(tokenize=tokenizer)
        assert scores.bleu == pytest.approx(metric.corpus_score(hypotheses, [references]).score, abs=1e-9)
        assert scores.bleu == corpus_bleu(hypotheses=hypotheses, references=references, target_language=language)
        assert f"tok:{tokenizer}|" in scores.bleu_signature
        assert scores.bleu_low <= scores.bleu_high
        assert scores.sentences == seed + 1


def test_the_interval_surrounds_the_score_and_large_corpora_draw_fewer_samples(monkeypatch):
    hypotheses, references = corpus(4)
    arguments = {"hypotheses": hypotheses, "references": references, "target_language": "de"}
    whole = corpus_scores(**arguments)
    assert whole.bleu_low < whole.bleu < whole.bleu_high
    assert whole.chrf_low < whole.chrf < whole.chrf_high
    assert "bs:1000|seed:12345" in whole.bleu_signature
    assert "bs:1000|seed:12345" in whole.chrf_signature
    monkeypatch.setattr(evaluation, "_MOST_COUNTS", 2400 * len(references))
    fewer = corpus_scores(**arguments)
    assert "bs:240|seed:12345" in fewer.bleu_signature
    assert "bs:100|seed:12345" in fewer.chrf_signature


def test_runs_of_the_same_score_do_not_differ():
    right, wrong = ["a small dog sleeps here"] * 20, ["ein Satz ganz ohne Treffer"] * 20
    systems = {"a": wrong, "same": list(wrong), "better": right}
    found = paired_bootstrap(systems, right, target_language="en", samples=100)
    for results in found.values():
        assert [one.p_value for one in results] == [None, 1.0, 1 / 101]


@pytest.mark.reliability(21)
@pytest.mark.parametrize(("num_hypotheses", "num_references"), [(7, 10), (10, 7), (0, 3)])
def test_unequal_counts_are_refused(num_hypotheses, num_references):
    with pytest.raises(UserError, match=f"{num_hypotheses} hypotheses against {num_references} references"):
        corpus_scores(hypotheses=["a"] * num_hypotheses, references=["a"] * num_references, target_language="de")


def test_nothing_to_score_is_refused():
    with pytest.raises(UserError, match="there are no sentences"):
        corpus_scores(hypotheses=[], references=[], target_language="de")


@pytest.mark.parametrize(
    ("language", "tokeniser", "reference", "hypothesis"),
    [
        ("th", "char", "แมวนั่งอยู่บนเสื่อในบ้าน", "แมวนอนอยู่บนเสื่อในบ้าน"),
        ("yue", "zh", "我今日好開心呀，你呢？", "我今日好開心呀，佢呢？"),
    ],
)
def test_languages_without_spaces_have_a_bleu_above_zero(language, tokeniser, reference, hypothesis):
    scores = corpus_scores(hypotheses=[hypothesis], references=[reference], target_language=language)
    assert f"|tok:{tokeniser}|" in scores.bleu_signature
    assert 50 < scores.bleu < 100
    assert corpus_scores(hypotheses=[hypothesis], references=[reference], target_language="en").bleu < 1


def test_a_missing_tokeniser_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    with pytest.raises(UserError, match=r"which is not installed: pip install 'sacrebleu\[ja\]'"):
        check_scorable("ja")
    check_scorable("de")
    with pytest.raises(UserError, match=r"ja-mecab tokeniser, which is not installed: pip install 'sacrebleu\[ja\]'"):
        corpus_scores(hypotheses=["猫"], references=["猫"], target_language="ja")


def test_paper_form_counts_the_parts_of_hyphenated_words():
    hypotheses, references = ["ein rot-weiß gestreiftes Boot"], ["ein rot-grün gestreiftes Boot"]
    scores = corpus_scores(hypotheses=hypotheses, references=references, target_language="de")
    split = ["ein rot ##AT##-##AT## weiß gestreiftes Boot"], ["ein rot ##AT##-##AT## grün gestreiftes Boot"]
    expected = sacrebleu.BLEU(tokenize="none").corpus_score(split[0], [split[1]]).score
    assert scores.bleu_compound_split == pytest.approx(expected, abs=1e-9)
    assert scores.bleu_compound_split > scores.bleu
    chinese = corpus_scores(hypotheses=["猫"], references=["猫"], target_language="zh")
    assert chinese.bleu_compound_split is None


@pytest.mark.parametrize("tokenised", [99, 100])
def test_sacrebleu_warns_once_of_tokenised_output(tokenised, caplog):
    hypotheses = ["ein Hund ."] * tokenised + ["ein Hund."] * 20
    corpus_scores(hypotheses=hypotheses, references=hypotheses, target_language="de")
    assert sum("tokenized period" in record.message for record in caplog.records) == (tokenised == 100)
    caplog.clear()
    corpus_bleu(hypotheses=hypotheses, references=hypotheses, target_language="de")
    assert not caplog.records


def test_an_exact_match_has_every_character():
    scores = corpus_scores(hypotheses=["a b", "a", "b ", ""], references=["a b", "A", "b", "c"], target_language="de")
    assert scores.exact_match == 25
    assert "exact match 25.00 %  (1 of 4)" in format_scores(scores)


def test_report_shows_every_score_with_its_signature():
    hypotheses, references = corpus(5)
    scores = corpus_scores(hypotheses=hypotheses, references=references, target_language="de")
    text = format_scores(scores)
    for field in dataclasses.fields(Scores):
        value = getattr(scores, field.name)
        if isinstance(value, float):
            assert f"{value:.2f}" in text
        if isinstance(value, str):
            assert value in text
