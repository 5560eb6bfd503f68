"""The changed text is scored against references that changed with it, and copied words are counted one by one."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mt.translation.robustness import COUNTED, score_robustness

WORDS = ["Ein", "kleiner", "Hund", "sieht", "den", "Ball", "nicht", "auf", "der", "Straße", "dort"]
PAIRS = [(line, line) for line in (" ".join(WORDS[i % 5 :]) + ".!?"[i % 3] for i in range(44))]


def scored(folder: Path, translate: Callable[[str], str], count: int) -> dict[str, Any]:
    """The saved scores of a translator that changes each sentence by a function."""
    score_robustness(
        folder,
        lambda texts: list(map(translate, texts)),
        PAIRS[:count],
        languages=("de", "de"),
        about={"scored": "test"},
    )
    values: dict[str, Any] = json.loads((folder / "evaluation.json").read_bytes())
    assert values["scored"] == "test"
    return values


def test_a_perfect_translator_suffers_from_typos_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mt.translation.robustness._WITH_TOKENS", 40)
    values = scored(tmp_path, str, 44)
    rows = {row["text"]: row for row in values["texts"]}
    perfect = {name for name, row in rows.items() if round(row["bleu"], 6) == 100}
    assert perfect == rows.keys() - {"one typo a sentence"}
    assert 50 < rows["one typo a sentence"]["bleu"] < 95
    assert {name: row["sentences"] for name, row in rows.items()} == {**dict.fromkeys(rows, 44), "a word to copy": 40}
    assert values["copied"] == {kind: [10, 10] for kind in COUNTED}
    out = capsys.readouterr().out
    assert "| clean | 44 | 100.00 | +0.00 | 100.00 | +0.00 |" in out
    assert "Copied exactly: 40 of 40 (100.0%): URLs 10 of 10, numbers 10 of 10" in out
    assert (tmp_path / "robustness.md").read_text(encoding="utf-8") == out
    assert (tmp_path / "robustness.png").read_bytes().startswith(b"\x89PNG")
    lines = [json.loads(line) for line in (tmp_path / "robustness.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 5 * 44 + 40
    texts = {name: [line for line in lines if line["text"] == name] for name in rows}
    assert texts["upper case"][0]["source"] == texts["upper case"][0]["reference"] == PAIRS[0][0].upper()
    assert texts["no end punctuation"][1]["reference"] == PAIRS[1][0][:-1]
    typos = [line["source"] != line["reference"] for line in texts["one typo a sentence"]]
    assert all(typos)


def test_what_is_not_copied_is_counted_and_what_is_small_is_said(tmp_path: Path) -> None:
    values = scored(tmp_path, lambda text: re.sub(r"\d", "", text.lower()), 6)
    assert values["copied"]["numbers"] == [0, 2]
    assert values["copied"]["emoji"] == [1, 1]
    rows = {row["text"]: row for row in values["texts"]}
    assert rows["upper case"]["bleu"] < 5 < rows["clean"]["bleu"] < 50
    assert rows["a word to copy"]["clean"]["bleu"] == rows["clean"]["bleu"]
    assert list(scored(tmp_path, str, 1)["copied"]) == ["URLs"]
