"""The names of what is in a run folder are decided in one file."""

import ast

import pytest
from sources import MODULES, ROOT, tree

from mt.runs import folder

DECIDES = ROOT / "mt/runs/folder.py"
NAMES = {value for name, value in vars(folder).items() if name.isupper() and isinstance(value, str)}
# A folder of Hugging Face's layout and that of an examined corpus have a file of this name too.
ELSEWHERE = {
    "mt/export/huggingface.py": {folder.MODEL},
    "mt/export/marian_folder.py": {folder.PRETRAINED_TOKENIZER},
    "mt/export/pretrained_folder.py": {folder.PRETRAINED_TOKENIZER},
    "mt/export/reading.py": {folder.MODEL},
    "mt/commands/inspect_corpus.py": {folder.REPORT},
}


def names_used(source: ast.AST) -> set[str]:
    """File names of a run folder that stand as text anywhere, and words such as "data" where a path is made of them."""
    found: set[str] = set()
    for node in ast.walk(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {name for name in NAMES if "." in name and node.value.split("/")[-1] == name}
        operands = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else []
        for operand in operands:
            if isinstance(operand, ast.Constant):
                found |= NAMES.intersection(str(operand.value).split("/"))
            if isinstance(operand, ast.JoinedStr) and "step-" in ast.unparse(operand):
                found.add("step-N")
    return found


def test_no_other_file_names_what_is_in_a_run_folder() -> None:
    found = {str(path.relative_to(ROOT)): names_used(tree(path)) for path in MODULES if path != DECIDES}
    assert {path: names for path, names in found.items() if names} == ELSEWHERE


@pytest.mark.parametrize(
    "source",
    [
        'path = run_dir / "checkpoints"',
        'path = run_dir / "data" / f"{split}.source"',
        'path = run_dir / "evaluations/validation"',
        'NAME = "metrics.jsonl"',
        'open("run/config.yaml")',
        'path = folder / f"step-{step}"',
    ],
)
def test_a_name_is_seen(source: str) -> None:
    assert names_used(ast.parse(source))


def test_words_that_are_not_file_names_are_ignored() -> None:
    assert not names_used(ast.parse('array["data"], package("export"), f"data.{split}", {"checkpoints": 3}'))
