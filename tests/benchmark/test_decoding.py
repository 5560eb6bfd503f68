"""The decoding benchmark: what is asked, what is counted, and how the table compares."""

import json
from pathlib import Path
from typing import Any

from mt.benchmark.contest import Outcome
from mt.benchmark.report import Setting, decoding_tables
from mt.benchmark.timed_translation import timed_translation

SENTENCES = [["a", "b", "c"], ["d"], ["e", "f"]]


def answers(tmp_path: Path, batch: int, count: int) -> tuple[list[Any], dict[str, Any]]:
    """What a system that repeats its sentences was asked, and the answer."""
    asked: list[Any] = []

    def translate(sentences: list[list[str]], **settings: Any) -> list[list[str]]:
        asked.append((sentences, settings))
        return sentences

    file = tmp_path / "sentences.json"
    file.write_text(json.dumps(SENTENCES), encoding="utf-8")
    answer = timed_translation(translate, {"sentences": str(file), "max_extra_tokens": 50, "device": "cpu"})
    return asked, answer({"beam_size": 4, "batch": batch, "sentences": count})


def test_all_sentences_are_given_at_once(tmp_path: Path) -> None:
    asked, answer = answers(tmp_path, batch=32, count=3)
    assert asked == [(SENTENCES, {"beam_size": 4, "batch": 32, "longest": 54})]
    assert (answer["sentences"], answer["tokens"], answer["outputs"]) == (3, 9, SENTENCES)
    assert "latency" not in answer


def test_one_by_one_has_latencies(tmp_path: Path) -> None:
    asked, answer = answers(tmp_path, batch=1, count=2)
    assert [sentences for sentences, _ in asked] == [SENTENCES[:1], SENTENCES[1:2]]
    assert (answer["sentences"], answer["tokens"]) == (2, 6)
    assert 0 <= answer["latency"] <= answer["seconds"]


def test_the_table_compares_round_by_round() -> None:
    setting = Setting(4, 32)

    def rounds(*seconds: float) -> list[dict[str, Any]]:
        figures = {"sentences": 100, "tokens": 1000, "bleu": 30.0, "peak_bytes": 2**30}
        return [{**figures, "seconds": time} for time in seconds]

    outcome = Outcome(
        {setting.entry("ours"): rounds(1, 2), setting.entry("huggingface"): rounds(2, 6)}, {"third": "too slow"}
    )
    shown = decoding_tables(outcome, systems=["ours", "huggingface"], settings=[setting])
    assert "| HF MarianMT | 33.3 (16.7–50.0) | 333 (167–500) | 30.00 | 1,024 | 2.50 (2.00–3.00) |" in shown
