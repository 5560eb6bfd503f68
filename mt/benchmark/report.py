"""A contest's result: JSON with every answer, Markdown with a table, and what both were measured on."""

import datetime as dt
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mt.errors import DiskError

_PROCESSORS, _MEMORY = Path("/proc/cpuinfo"), Path("/proc/meminfo")
_INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")
_NAMES = {"hf_marian": "HF MarianMT", "huggingface": "HF MarianMT", "ctranslate2": "CTranslate2"}


@dataclass(frozen=True)
class Spread:
    """The median of several measurements with the least and the greatest."""

    median: float
    low: float
    high: float

    def text(self, digits: int = 0) -> str:
        """Such as `4,380 (4,310–4,420)`."""
        return f"{self.median:,.{digits}f} ({self.low:,.{digits}f}–{self.high:,.{digits}f})"


def spread(values: Sequence[float]) -> Spread:
    """Median and range. Raises ValueError without values."""
    if not values:
        raise ValueError("nothing was measured")
    return Spread(statistics.median(values), min(values), max(values))


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Ours over theirs, round by round: what disturbed a whole round disturbs its ratio least."""
    return spread([mine / other for mine, other in zip(ours, theirs, strict=True)])


def label(system: str) -> str:
    """A system's name in tables, such as `HF MarianMT, compiled`; "Marian" alone would be read as Marian NMT."""
    for name, written in _NAMES.items():
        system = system.replace(name, written)
    return system.replace("_", ", ")


def environment(command: Sequence[str] | None = None) -> dict[str, Any]:
    """Machine, system, date, commit and command of this run; what cannot be found out is left out.

    A commit ends in `+` where the checkout has uncommitted changes.
    """
    processors = _PROCESSORS.read_text(encoding="utf-8") if _PROCESSORS.exists() else ""
    model = re.search(r"model name\s*:\s*(.+)", processors)
    flags = re.search(r"flags\s*:\s*(.+)", processors)
    memory = re.search(r"MemTotal:\s*(\d+)", _MEMORY.read_text(encoding="utf-8")) if _MEMORY.exists() else None
    found = {
        "processor": model[1] if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "instructions": [name for name in _INSTRUCTIONS if flags and name in flags[1].split()],
        "memory_gib": round(int(memory[1]) / 2**20) if memory else None,
        "system": platform.platform(),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": _commit(),
        "command": shlex.join(command or [Path(sys.argv[0]).name, *sys.argv[1:]]),
    }
    return {key: value for key, value in found.items() if value}


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others numbers."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_report(
    folder: Path, name: str, *, title: str, body: str, results: Mapping[str, Any], about: Mapping[str, Any]
) -> Path:
    """Write `name.json` (`results` and `about`) and `name.md` (`body`, then `about` as a list); returns the latter.

    Raises DiskError.
    """
    facts = "\n".join(f"- {key.replace('_', ' ')}: {_words(value)}" for key, value in about.items())
    page = f"# {title}\n\n{body.strip()}\n\n## Measured on\n\n{facts}\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        values = json.dumps({"about": about, **results}, indent=1)
        (folder / f"{name}.json").write_text(values + "\n", encoding="utf-8", newline="\n")
        (folder / f"{name}.md").write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DiskError(f"cannot write {folder}/{name}.md: {error.strerror}; choose another output=DIR") from error
    return folder / f"{name}.md"


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    return f"`{value}`" if isinstance(value, str) and " " in value else str(value)


def _commit() -> str | None:
    folder = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    try:
        return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None
