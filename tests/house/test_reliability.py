"""What must never break: every row has tests that name it, and docs/reliability.md names them."""

import ast
import re
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
