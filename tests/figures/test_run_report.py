"""`report.html`: it is made from what a run has, its text stays text, and the same run gives the same bytes."""

import json
from pathlib import Path

import pytest
import torch
from lxml import html

import small_runs
from mt.config.schema import TrainConfig
from mt.errors import BadFileError
from mt.figures import run_report
from mt.runs.metrics import kept_sentences

HOSTILE = "<img src=x onerror=alert(1)></td><script>alert(2)</script> & {title}"


@pytest.fixture
def config(tmp_path: Path) -> TrainConfig:
    return small_runs.train_config([*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/run"])


def left_behind(run_dir: Path, *, validations: int, sentences: int = 25) -> None:
    """The metrics and the validation text of a run that still learns up to step 3, and in the last one."""
    (run_dir / "data").mkdir(parents=True, exist_ok=True)
    for side in ("source", "target"):
        text = "".join(f"{side} {number} {HOSTILE}\n" for number in range(sentences))
        (run_dir / "data" / f"validation.{side}").write_text(text, encoding="utf-8")
    lines = [{"step": step, "kind": "train", "loss": 2.0, "gradient_norm": None} for step in range(1, 5)]
    for step in range(1, validations + 1):
        learned = step if step == validations else min(step, 3)
        texts = [f"{number} at {learned}{HOSTILE}" for number in kept_sentences(sentences)]
        lines.append({"step": step, "kind": "validation", "loss": 1.5, "bleu": 3.0, "translations": texts})
    lines += [{"step": 9, "kind": "validation", "bleu": 4.0}, {"step": 9, "kind": "validation", "translations": [3]}]
    (run_dir / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_ten_sentences_are_kept_evenly_spread() -> None:
    assert [kept_sentences(count) for count in (0, 3, 10)] == [[], [0, 1, 2], list(range(10))]
    assert kept_sentences(25) == [0, 2, 5, 7, 10, 12, 15, 17, 20, 22]


def test_translations_are_beside_their_references_and_any_text_stays_text(config: TrainConfig) -> None:
    run_dir = Path(config.run_dir)
    left_behind(run_dir, validations=40)
    run_report.write_report(run_dir, config)
    content = (run_dir / "report.html").read_bytes()
    page = html.fromstring(content)
    tables = page.findall(".//table")
    assert [title.text for title in page.findall(".//h3")] == [f"source {n} {HOSTILE}" for n in kept_sentences(25)]
    for number, table in zip(kept_sentences(25), tables, strict=True):
        rows = [[cell.text for cell in row] for row in table.findall("tr")]
        assert rows == [  # of 40 validations every fourth and the last; what stays the same once
            ["step 1", f"{number} at 1{HOSTILE}"],
            ["step 5", f"{number} at 3{HOSTILE}"],
            ["step 40", f"{number} at 40{HOSTILE}"],
            ["reference", f"target {number} {HOSTILE}"],
        ]
    assert not page.findall(".//script")
    assert not page.findall(".//img")
    assert [link.get("href") for link in page.findall(".//a")] == ["metrics.jsonl", "data"]
    assert len(page.findall(".//svg")) == 2
    run_report.write_report(run_dir, config)
    assert (run_dir / "report.html").read_bytes() == content


def test_damaged_scores_are_named(config: TrainConfig) -> None:
    run_dir = Path(config.run_dir)
    left_behind(run_dir, validations=1)
    for content, message in ((b"{", "not readable as JSON"), (b"[]", "not a JSON object")):
        (run_dir / "evaluation.json").write_bytes(content)
        with pytest.raises(BadFileError, match=rf"evaluation\.json: {message}"):
            run_report.write_report(run_dir, config)


def test_the_table_of_positions_is_drawn_where_there_is_one(
    config: TrainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = Path(config.run_dir)
    left_behind(run_dir, validations=0, sentences=0)
    monkeypatch.setattr(run_report, "read_model", lambda _: {"positions.weight": torch.eye(7, 3).bfloat16()})
    drawn = []
    for positions in ("sinusoidal", "learned", "rotary"):
        monkeypatch.setitem(vars(config.model), "positions", positions)
        run_report.write_report(run_dir, config)
        page = (run_dir / "report.html").read_text(encoding="utf-8")
        assert f">positions: {positions}<" in page
        drawn.append(page.partition("data:image/png;base64,")[2][:200])
    assert drawn[0]
    assert drawn[1]
    assert drawn[0] != drawn[1]
    assert not drawn[2]
