"""Figures as the formulas say, and reports that say what they were measured on."""

import json
from pathlib import Path

import pytest

from mt.benchmark.contest import Outcome
from mt.benchmark.report import environment, label, spread, write_report
from mt.errors import DiskError


def test_a_spread_is_median_and_range() -> None:
    assert spread([3.0, 1.0, 10.0], 1) == "3.0 (1.0–10.0)"


def test_systems_are_named_as_their_users_name_them() -> None:
    assert label("hf_marian_compiled") == "HF MarianMT, compiled"
    assert label("ctranslate2_int8, 1 x 2") == "CTranslate2, int8, 1 x 2"


def test_a_report_names_machine_date_command_and_commit(tmp_path: Path) -> None:
    about = environment(["mt-benchmark", "data.train=[{source: a}]"])
    assert {"date", "command", "processor", "cores"} <= about.keys()
    outcome = Outcome({"a": [{"seconds": 1}]}, {"third": "too slow"})
    write_report(tmp_path / "new", "training", title="Speed", body="a table", outcome=outcome, about=about, task={})
    text = (tmp_path / "new/training.md").read_text(encoding="utf-8")
    assert text.startswith("# Speed\n\na table\n\nLeft the contest:\n\n- third: too slow\n\n## Measured on\n\n- ")
    assert "- command: \"mt-benchmark 'data.train=[{source: a}]'\"" in text
    written = json.loads((tmp_path / "new/training.json").read_bytes())
    assert written["about"]["date"] == about["date"]
    assert written["answers"] == {"a": [{"seconds": 1}]}
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DiskError, match="choose another output=DIR"):
        write_report(tmp_path / "file", "x", title="", body="", outcome=outcome, about={})
