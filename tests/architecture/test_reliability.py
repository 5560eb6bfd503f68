"""What must never break: every row has tests that name it, and docs/reliability.md names them."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from reliability import ROWS, Table, Trials

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")


def marked_rows() -> dict[str, set[int]]:
    """`tests/file.py::test` and the rows it is marked with, read from the source without running it."""
    found: dict[str, set[int]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                marks = [
                    mark for mark in node.decorator_list if ast.unparse(mark).startswith("pytest.mark.reliability(")
                ]
                rows = {number for mark in marks for number in map(ast.literal_eval, mark.args)}  # type: ignore[attr-defined]
                found[f"{path.relative_to(ROOT).as_posix()}::{node.name}"] = rows
    return found


MARKED = marked_rows()


def test_every_mark_is_of_a_row() -> None:
    assert set().union(*MARKED.values()) <= ROWS.keys()


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_a_test_that_the_document_names(row: int) -> None:
    [line] = re.findall(rf"^\| {row} \|.*$", DOCUMENT, re.MULTILINE)
    named = re.findall(r"`(tests/[\w/]+\.py::\w+)`", line)
    assert named
    for test in named:
        assert test in MARKED, f"{test} does not exist"
        assert row in MARKED[test], f"{test} is not marked with row {row}"


def test_a_row_of_which_nothing_ran_is_not_called_good() -> None:
    table, counted = Table(), Trials([3, 4])
    list(counted(range(9), row=4))
    counted.add(1000, row=3)
    table.note(counted.counts, failed=False)
    table.note(Counter([5]), failed=True)
    lines = {line.split()[0]: line.split() for line in table.lines()}
    assert lines["1"][-3:] == ["not", "run", "-"]
    assert lines["3"][-2:] == ["1,000", "0"]
    assert lines["4"][-5:] == ["of", "1,000", "owed:", "9", "0"]
    assert lines["5"][-2:] == ["1", "1"]


SOME_TESTS = """
import pytest

@pytest.mark.reliability(3, 4)
@pytest.mark.parametrize("number", range(4))
def test_counts(number, trials):
    trials.add(100, row=4)
    trials.add(1, row=3)

@pytest.mark.reliability(5)
@pytest.mark.parametrize("number", range(4))
def test_fails_once(number):
    assert number

@pytest.fixture
def broken():
    raise OSError

@pytest.mark.reliability(6)
def test_never_starts(broken):
    pass

@pytest.mark.reliability(7)
@pytest.mark.skip
def test_skipped():
    pass
"""


@pytest.mark.parametrize("workers", [[], ["--numprocesses=2"]])
def test_the_table_counts_what_several_workers_tried(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_some.py").write_text(SOME_TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "reliability", "-m", "", *workers]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    lines = {line.split()[0]: line.split() for line in done.stdout.split("\n") if line[:3].strip().isdecimal()}
    ends = {"3": "4 0", "4": "400 0", "5": "4 1", "6": "1 1", "7": "not run -", "8": "not run -"}
    for row, end in ends.items():
        assert " ".join(lines[row]).endswith(f" {end}"), done.stdout
