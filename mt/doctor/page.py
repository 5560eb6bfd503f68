"""The diagnosis as text for a terminal, and as one HTML page with pictures and examples that needs no network."""

import base64
import html
import io
from collections import Counter
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np

from mt.doctor.examination import SIDES, Examined, Suspect
from mt.doctor.examine_all import Diagnosis
from mt.doctor.shifts import WINDOW_LINES

mpl.use("Agg")
from matplotlib import pyplot as plt  # the backend comes first

EXAMPLES = 5  # of each kind and side
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td{padding:.15rem .7rem;border-bottom:1px solid #ddd}
img{max-width:100%}pre{background:#f4f4f4;padding:.7rem;overflow-x:auto}"""


def text(diagnosis: Diagnosis) -> str:
    """Return findings, one table per corpus (source / target) and the proposed command for a terminal."""
    several = len(diagnosis.examined) > 1
    lines = ["findings:" if diagnosis.findings else "no findings"]
    for finding in diagnosis.findings:
        where = f"{finding.split} ({finding.corpus}): " if several else ""
        lines.append(f"  - {where}{finding.message}")
    for one in diagnosis.examined:
        table = list(_rows(one))
        width = max(len(name) for name, _ in table)
        lines += ["", f"{one.split}: {one.name}", *(f"  {name:<{width}}  {value:>26}" for name, value in table)]
    if diagnosis.subwords is not None:
        lines += ["", f"subwords (5 %, median, 95 %, longest): {' / '.join(map(_spread, diagnosis.subwords))}"]
    lines += ["", "proposed for training:"]
    lines += [f"  {override:<38} # {reason}" for override, reason in diagnosis.proposals]
    return "\n".join(lines)


def _rows(one: Examined) -> Iterator[tuple[str, str]]:
    """Yield the table of one corpus; where a row has two values, they are source / target."""
    source, target = one.sides()
    yield "pairs", f"{one.pairs:,}"
    if one.source_lines != one.target_lines:
        yield "lines", f"{one.source_lines:,} / {one.target_lines:,}"
    yield "characters", f"{source.characters:,} / {target.characters:,}"
    yield "words", f"{source.words:,} / {target.words:,}"
    distinct = [f"{np.count_nonzero(side.code_points):,}" for side in one.sides()]
    yield "distinct characters", " / ".join(distinct)
    yield "length in characters: 5 %, median, 95 %, longest", " / ".join(map(_spread, one.lengths))
    yield "lines: blank", f"{source.blank:,} / {target.blank:,}"
    for kind, count in source.counts.items():
        yield f"lines: {kind}", f"{count:,} / {target.counts[kind]:,}"
    for kind, count in one.counts.items():
        yield f"pairs: {kind}", f"{count:,}"
    yield "correlation of lengths", f"{one.alignment.correlation:.3f}"


def _spread(lengths: np.ndarray) -> str:
    marks = np.quantile(lengths, (0.05, 0.5, 0.95, 1.0)) if len(lengths) else np.zeros(4)
    return " ".join(f"{mark:.0f}" for mark in marks)


def page(diagnosis: Diagnosis, title: str) -> str:
    """Return the text as an HTML page, with a picture and examples of each corpus."""
    parts = [f"<!doctype html><meta charset=utf-8><title>{_safe(title)}</title><style>{_STYLE}</style>"]
    parts.append(f"<h1>{_safe(title)}</h1><pre>{_safe(text(diagnosis))}</pre>")
    for one in diagnosis.examined:
        parts.append(f"<h2>{_safe(one.split)}: {_safe(one.name)}</h2>")
        parts.append(f'<img alt="lengths and alignment" src="data:image/png;base64,{_picture(one)}">')
        cells = (
            f"<tr><td>{each.kind}, {each.side}, line {each.line:,} {each.note}<td>{_safe(each.text[:300])}"
            for each in _examples(one)
        )
        parts += ["<table>", *cells, "</table>"]
    return "\n".join(parts) + "\n"


def _examples(one: Examined) -> list[Suspect]:
    """Return the first few suspects of each kind and side."""
    taken: Counter[tuple[str, str]] = Counter()
    chosen = []
    for suspect in one.suspects:
        taken[suspect.kind, suspect.side] += 1
        if taken[suspect.kind, suspect.side] <= EXAMPLES:
            chosen.append(suspect)
    return sorted(chosen, key=lambda suspect: (suspect.kind, suspect.side, suspect.line))


def _picture(one: Examined) -> str:
    """Return a base64 PNG: sentence lengths, length ratios, and the correlation of lengths along the file."""
    figure, panels = plt.subplots(1, 3, figsize=(15, 3.4), layout="constrained")
    if one.pairs:
        longest = max(10, int(np.quantile(one.lengths, 0.995)))
        for name, lengths in zip(SIDES, one.lengths, strict=True):
            panels[0].hist(np.minimum(lengths, longest), bins=min(60, longest), histtype="step", label=name)
        panels[0].legend()
        ratios = np.log2((one.lengths[1] + 1) / (one.lengths[0] + 1))
        panels[1].hist(np.clip(ratios, -3, 3), bins=60)
        panels[1].set_yscale("log")
        starts = 1 + WINDOW_LINES * np.arange(len(one.alignment.correlations))
        panels[2].plot(starts, one.alignment.correlations, marker="." if len(starts) < 100 else "", linewidth=1)
        for shift in one.alignment.shifts:
            panels[2].axvline(shift.line, color="red", linestyle="--")
    panels[0].set(xlabel="length in characters", ylabel="lines")
    panels[1].set(xlabel="log₂ of target length / source length", ylabel="pairs")
    panels[2].set(xlabel="line", ylabel="correlation of lengths", ylim=(-0.35, 1.05))
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=90)
    plt.close(figure)
    return base64.b64encode(stream.getvalue()).decode("ascii")


def _safe(content: str) -> str:
    return html.escape(content.encode("utf-8", "replace").decode("utf-8"))
