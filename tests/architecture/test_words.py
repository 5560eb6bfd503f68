"""Code, options and documentation use the field's words; each word below has a plainer one that readers know."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "README.md"] + [
    path
    for folder in ("mt", "conf", "scripts", "docs")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".yaml", ".md", ".c", ".h", ".sh"}
]
NEVER = "(?!)"
FOUND_IN = {  # a word, and where it may be: a pattern that the path or the line matches
    r"places?": r"\b(in|takes?) place\b",
    r"tiles?": r"^mt/fast/(native|engine)/|AMX",
    r"copies": r"^mt/(data|doctor|fast/engine)/|^docs/(own_data|paper|reliability|results/kftt_ja_en)\.md",
    r"house": r'^README\.md:.*SRC="My uncle',
    r"pieces?": r"[*`]piece|calls it a piece|\b(model|each)\.piece|piece=",
    r"doors?|peers?|contestants?|kept cells?|listed cells?|packed linears?|further models?": NEVER,
    r"told|mends?|mended|anew|lies|stands|is no": NEVER,
}


@pytest.mark.parametrize("words", FOUND_IN)
def test_readers_meet_words_that_they_know(words: str) -> None:
    pattern, allowed = re.compile(rf"\b({words})\b", re.IGNORECASE), re.compile(FOUND_IN[words])
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        if pattern.search(line) and not allowed.search(f"{path.relative_to(ROOT)}:{line}")
    ]
    assert not found, "\n".join(found)
