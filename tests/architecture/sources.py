"""The program's source files, each parsed once."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "mt").rglob("*.py"))
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))


@functools.cache
def tree(path: Path) -> ast.Module:
    """A file as it is parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    """The name by which a file of `mt` is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """Every module that a file imports, at the top or inside a function; `from a import b` counts as a and a.b."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)
