"""Figures as the formulas say, and reports that say what they were measured on."""

import json
from pathlib import Path

import pytest

from mt.benchmark.report import environment, label, ratio, spread, table, write_report
from mt.errors import DiskError


def test_a_spread_is_median_and_range_and_ratios_are_taken_round_by_round() -> None:
    assert spread([3.0, 1.0, 10.0]).text(1) == "3.0 (1.0–10.0)"
    slow_machine = [100.0, 10.0, 100.0]
    assert ratio([2 * value for value in slow_machine], slow_machine).text(2) == "2.00 (2.00–2.00)"
    with pytest.raises(ValueError, match="nothing was measured"):
        spread([])


def test_systems_are_named_as_their_users_name_them() -> None:
    assert label("hf_marian_compiled") == "HF MarianMT, compiled"
    assert label("ctranslate2_int8, 1 x 2") == "CTranslate2, int8, 1 x 2"


def test_a_report_names_machine_date_command_and_commit(tmp_path: Path) -> None:
    about = environment(["mt-benchmark", "data.train=[{source: a}]"])
    assert {"date", "command", "processor", "cores"} <= about.keys()
    body = table(["who", "speed"], [["ours", "2"], ["theirs", "1"]])
    page = write_report(
        tmp_path / "new", "training", title="Speed", body=body, results={"answers": {"a": [1]}}, about=about
    )
    text = page.read_text(encoding="utf-8")
    assert "| who | speed |\n| --- | ---: |\n| ours | 2 |" in text
    assert "- command: `mt-benchmark 'data.train=[{source: a}]'`" in text
    written = json.loads((tmp_path / "new/training.json").read_bytes())
    assert written["about"]["date"] == about["date"]
    assert written["answers"] == {"a": [1]}
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DiskError, match="choose another output=DIR"):
        write_report(tmp_path / "file", "x", title="", body="", results={}, about={})
