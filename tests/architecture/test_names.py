"""The habits that can be counted: names and sizes. That everything public says what it is, `make lint` checks."""

import ast
import re

from sources import MODULES, SCRIPTS, tree

FILES = [*MODULES, *SCRIPTS]

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


def test_names_are_whole_words() -> None:
    assert [path for path in FILES if VAGUE.search(path.stem)] == []
    found = {path: {name for name in names(tree(path)) if SIDES.search(name.lower())} for path in FILES}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_files_and_functions_fit_on_a_screen() -> None:
    assert [path for path in FILES if path.read_text(encoding="utf-8").count("\n") > LONGEST_FILE_LINES] == []
    found: dict[str, int] = {}
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
                found[f"{path}:{node.lineno}: {node.name}"] = node.end_lineno - node.lineno + 1 - docstring
    assert {name: lines for name, lines in found.items() if lines > LONGEST_FUNCTION_LINES} == {}


def test_annotations_are_real() -> None:
    """Postponed annotations would be text, which the shape checks cannot see."""
    postponed = "from __future__ import annotations"
    assert [path for path in FILES if postponed in path.read_text(encoding="utf-8")] == []


def test_text_is_split_at_newlines_only() -> None:
    """U+2028 and its like are text; split at \\n."""
    attributes = ((path, getattr(node, "attr", "")) for path in FILES for node in ast.walk(tree(path)))
    assert [path for path, name in attributes if name == "splitlines"] == []
