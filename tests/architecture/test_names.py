"""The habits that can be counted: names and sizes. That everything public says what it is, `make lint` checks."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "mt").rglob("*.py")) + sorted((ROOT / "scripts").glob("*.py"))
ids = [str(path.relative_to(ROOT)) for path in MODULES]

VAGUE = re.compile(r"(^|_)(utils?|helpers?|common|misc|managers?|base|tmp)(_|$)")
SIDES = re.compile(r"(^|_)(src|tgt|trg)(s?)(_|$)")  # source and target, everywhere
LONGEST_FILE_LINES = 450
LONGEST_FUNCTION_LINES = 50


def names(tree: ast.AST) -> set[str]:
    """Every name that a file gives to something."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_names_are_whole_words(path: Path) -> None:
    assert not VAGUE.search(path.stem)
    wrong = {name for name in names(ast.parse(path.read_text(encoding="utf-8"))) if SIDES.search(name.lower())}
    assert not wrong


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_files_and_functions_fit_on_a_screen(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST_FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
            lines = node.end_lineno - node.lineno + 1 - docstring
            assert lines <= LONGEST_FUNCTION_LINES, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_annotations_are_real(path: Path) -> None:
    """Postponed annotations would be text, which the shape checks cannot see."""
    assert "from __future__ import annotations" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_text_is_split_at_newlines_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr == "splitlines":
            pytest.fail("U+2028 and its like are text; split at \\n")
