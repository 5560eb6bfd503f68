"""A contest's result: JSON with every answer, Markdown with tables, and what both were measured on."""

import contextlib
import datetime as dt
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mt.benchmark.contest import Outcome
from mt.errors import DiskError
from mt.reporting import report
from mt.runtime import processor, processor_information

_INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")
_NAMES = {"hf_marian": "HF MarianMT", "huggingface": "HF MarianMT", "ctranslate2": "CTranslate2"}
_FIGURES = """Each figure is the median of the rounds with their range; a ratio is taken round by round. HF MarianMT is
MarianMTModel of transformers."""
TRAINING_LEGEND = f"""Tokens are real ones (no padding) of source and target. {_FIGURES} MFU is the arithmetic of
real tokens (three times the forward pass) over the best matrix product, measured after each round. Peak memory is that
of the whole process on a CPU, of tensors on a GPU. Every system has dropout after each sublayer and on the embeddings,
label smoothing, tied embeddings and the fused Adam."""
DECODING_LEGEND = f"""Generated tokens count the end of sentence. {_FIGURES} Latency is that of a call with one
sentence. Peak memory is that of the process and its worker processes, memory that they share counted once. The batch
is the number of sentences that each translator of CTranslate2, each thread of ours and each call of `generate` decodes
at a time. `1 x 2` is one translator of two threads, `2 x 1` two of one."""


def label(system: str) -> str:
    """A system's name in tables, such as `HF MarianMT, compiled`; "Marian" alone would be read as Marian NMT."""
    for name, written in _NAMES.items():
        system = system.replace(name, written)
    return system.replace("_", ", ")


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median of several measurements with the least and the greatest, such as `4,380 (4,310–4,420)`."""
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f}–{max(values):,.{digits}f})"


def training_table(outcome: Outcome, *, systems: Sequence[str], precisions: Sequence[str]) -> str:
    """The rows are `SYSTEM_PRECISION`, as the entries."""
    names = [f"{system}_{precision}" for system in systems for precision in precisions]
    columns: dict[str, Callable[[str], str]] = {
        "MFU, %": lambda entry: spread([100 * answer["mfu"] for answer in outcome.answers[entry]], 1),
        "peak memory, GiB": lambda entry: f"{_peak_bytes(outcome, entry) / 2**30:.2f}",
    }
    ours = [f"ours_{precision}" for precision in precisions]
    return _table(outcome, dict(zip(names, names, strict=True)), rate="tokens", ours=ours, columns=columns)


@dataclass(frozen=True)
class Setting:
    """What all systems are asked at once."""

    beam_size: int
    batch: int

    def entry(self, system: str) -> str:
        """The name of a system's entry."""
        return f"{system}; beam {self.beam_size}, batch {self.batch}"

    def request(self, sentences: int, single_sentences: int) -> dict[str, Any]:
        """What a worker is asked: with a batch of 1 only `single_sentences`."""
        count = min(sentences, single_sentences) if self.batch == 1 else sentences
        return {"beam_size": self.beam_size, "batch": self.batch, "sentences": count}


def decoding_tables(outcome: Outcome, *, systems: Sequence[str], settings: Sequence[Setting]) -> str:
    """A table for each setting."""
    columns: dict[str, Callable[[str], str]] = {
        "tokens/s": lambda entry: spread(outcome.rates(entry, "tokens")),
        "BLEU": lambda entry: f"{outcome.answers[entry][0]['bleu']:.2f}",
        "peak memory, MiB": lambda entry: f"{_peak_bytes(outcome, entry) / 2**20:,.0f}",
    }
    latency: dict[str, Callable[[str], str]] = {
        "median latency, ms": lambda entry: spread([1000 * one["latency"] for one in outcome.answers[entry]], 1),
    }
    ours = [name for name in systems if name.startswith("ours")]
    sections = []
    for setting in settings:
        entries = {name: setting.entry(name) for name in systems}
        shown = columns | latency if setting.batch == 1 else columns
        table = _table(outcome, entries, rate="sentences", ours=ours, columns=shown)
        sections.append(f"## Beam {setting.beam_size}, batch {setting.batch}\n\n{table}")
    return "\n\n".join(sections)


def _table(
    outcome: Outcome,
    entries: Mapping[str, str],
    *,
    rate: str,
    ours: Sequence[str],
    columns: Mapping[str, Callable[[str], str]],
) -> str:
    """A row for each system whose entry finished: `rate` per second, `columns`, how many times as fast `ours` are.

    Ratios are taken round by round: what disturbed a whole round disturbs its ratio least.
    """
    entries = {name: entry for name, entry in entries.items() if entry in outcome.answers}
    ours = [name for name in ours if name in entries]
    lines = [["system", f"{rate}/s", *columns, *(f"{label(name)} / this one" for name in ours)]]
    lines.append(["---", *["---:"] * (len(lines[0]) - 1)])
    for name, entry in entries.items():
        rates = outcome.rates(entry, rate)
        cells = [label(name), spread(rates, 1), *(cell(entry) for cell in columns.values())]
        for one in ours:
            pairs = zip(outcome.rates(entries[one], rate), rates, strict=True)
            cells.append(spread([mine / other for mine, other in pairs], 2))
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _peak_bytes(outcome: Outcome, entry: str) -> float:
    return max(answer["peak_bytes"] for answer in outcome.answers[entry])


def environment(command: Sequence[str] | None = None) -> dict[str, Any]:
    """Machine, system, date, commit and command of this run; what cannot be found out is left out."""
    git = ["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty", "--exclude=*"]
    commit = ""
    with contextlib.suppress(OSError):  # without git
        commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    found = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "instructions": [name for name in _INSTRUCTIONS if re.search(rf"\b{name}\b", processor_information())],
        "system": platform.platform(),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": commit,
        "command": shlex.join(command or [Path(sys.argv[0]).name, *sys.argv[1:]]),
    }
    return {key: value for key, value in found.items() if value}


def write_report(
    folder: Path, name: str, *, title: str, body: str, outcome: Outcome, about: Mapping[str, Any], **results: Any
) -> None:
    """Write `name.json` (all answers, `results`, `about`) and `name.md` (`body`, who left the contest, and `about`).

    Raises DiskError.
    """
    failures = "\n".join(f"- {entry}: {why}" for entry, why in outcome.failures.items())
    left = f"\n\nLeft the contest:\n\n{failures}" if failures else ""
    facts = "\n".join(f"- {label(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in about.items())
    values = json.dumps({"about": about, **results, **asdict(outcome)}, indent=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(values + "\n", encoding="utf-8")
        page = f"# {title}\n\n{body}{left}\n\n## Measured on\n\n{facts}\n"
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
    except OSError as error:
        raise DiskError(f"cannot write {folder}/{name}.md: {error.strerror}; choose another output=DIR") from error
    report(str(folder / f"{name}.md"))
