"""The diagnosis on paper: text for a terminal, values for `report.json`, and `report.html` without a network."""

import base64
import html
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np

from mt.doctor.examination import EXAMPLES, SIDES, Examined
from mt.doctor.examine_all import Diagnosis
from mt.doctor.findings import unseen_characters
from mt.doctor.shifts import WINDOW_LINES

mpl.use("Agg")
from matplotlib import pyplot as plt  # the backend comes first

QUANTILES = (0.0, 0.05, 0.5, 0.95, 0.99, 1.0)
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td,th{padding:.15rem .7rem;border-bottom:1px solid #ddd;text-align:left}
td+td{text-align:right;font-variant-numeric:tabular-nums}img{max-width:100%}pre{background:#f4f4f4;padding:.7rem}
li.finding{margin:.4rem 0}.calm{color:#060}code{overflow-wrap:anywhere}"""


def values(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the whole diagnosis as what JSON can hold."""
    return {
        "findings": [vars(finding) for finding in diagnosis.findings],
        "proposals": [{"override": override, "reason": reason} for override, reason in diagnosis.proposals],
        "pieces": None
        if diagnosis.pieces is None
        else {side: _quantiles(lengths) for side, lengths in zip(SIDES, diagnosis.pieces, strict=True)},
        "corpora": [_corpus_values(one, diagnosis.examined) for one in diagnosis.examined],
    }


def _corpus_values(one: Examined, examined: Sequence[Examined]) -> dict[str, Any]:
    sides = {}
    for index, (name, side) in enumerate(zip(SIDES, one.sides(), strict=True)):
        sides[name] = {
            "characters": side.characters,
            "words": side.words,
            "distinct_characters": int(np.count_nonzero(side.code_points)),
            "length_characters": _quantiles(one.lengths[index]),
            "blank_lines": side.blank,
            **{f"{kind} lines".replace(" ", "_"): count for kind, count in side.counts.items()},
        }
        if one.split != "train":
            sides[name]["characters_not_in_training"] = dict(unseen_characters(examined, one, index))
    return {
        "split": one.split,
        "name": one.name,
        "pairs": one.pairs,
        "source_lines": one.source_lines,
        "target_lines": one.target_lines,
        **{f"{kind} pairs".replace(" pair pairs", " pairs").replace(" ", "_"): n for kind, n in one.counts.items()},
        "length_correlation": round(one.alignment.correlation, 4),
        "shifts": [vars(shift) for shift in one.alignment.shifts],
        "unrelated_lines": one.alignment.unrelated,
        **sides,
        "examples": [vars(suspect) for suspect in _examples(one)],
    }


def _examples(one: Examined) -> list[Any]:
    """Return the first few suspects of each kind and side."""
    taken: Counter[tuple[str, str]] = Counter()
    chosen = []
    for suspect in one.suspects:
        taken[suspect.kind, suspect.side] += 1
        if taken[suspect.kind, suspect.side] <= EXAMPLES:
            chosen.append(suspect)
    return sorted(chosen, key=lambda suspect: (suspect.kind, suspect.side, suspect.line))


def _quantiles(lengths: np.ndarray) -> dict[str, int]:
    if not len(lengths):
        return {}
    return {f"{100 * q:g}%": int(value) for q, value in zip(QUANTILES, np.quantile(lengths, QUANTILES), strict=True)}


def rows(one: Examined) -> list[tuple[str, str]]:
    """Return the table of one corpus; where a row has two values, they are source / target."""
    table = [("pairs", f"{one.pairs:,}")]
    if one.source_lines != one.target_lines:
        table.append(("lines", f"{one.source_lines:,} / {one.target_lines:,}"))
    sides = [_side_rows(one, index) for index in range(len(SIDES))]
    table += [(name, f"{value} / {sides[1][name]}") for name, value in sides[0].items()]
    table += [(f"pairs: {kind}", f"{count:,}") for kind, count in one.counts.items()]
    return [*table, ("correlation of lengths", f"{one.alignment.correlation:.3f}")]


def _side_rows(one: Examined, index: int) -> dict[str, str]:
    side = one.sides()[index]
    return {
        "characters": f"{side.characters:,}",
        "words": f"{side.words:,}",
        "distinct characters": f"{np.count_nonzero(side.code_points):,}",
        "length in characters: 5 %, median, 95 %, longest": _spread(one.lengths[index]),
        "lines: blank": f"{side.blank:,}",
        **{f"lines: {kind}": f"{count:,}" for kind, count in side.counts.items()},
    }


def _spread(lengths: np.ndarray) -> str:
    marks = np.quantile(lengths, (0.05, 0.5, 0.95, 1.0)) if len(lengths) else np.zeros(4)
    return " ".join(f"{mark:.0f}" for mark in marks)


def text(diagnosis: Diagnosis) -> str:
    """Return findings, one table per corpus (source / target) and the proposed command for a terminal."""
    several = len(diagnosis.examined) > 1
    lines = ["findings:" if diagnosis.findings else "no findings"]
    for finding in diagnosis.findings:
        where = f"{finding.split} ({finding.corpus}): " if several else ""
        lines.append(f"  - {where}{finding.message}")
    for one in diagnosis.examined:
        table = rows(one)
        width = max(len(name) for name, _ in table)
        lines += ["", f"{one.split}: {one.name}", *(f"  {name:<{width}}  {value:>26}" for name, value in table)]
    if diagnosis.pieces is not None:
        lines += ["", f"pieces (5 %, median, 95 %, longest): {' / '.join(map(_spread, diagnosis.pieces))}"]
    lines += ["", "proposed for training:"]
    lines += [f"  {override:<38} # {reason}" for override, reason in diagnosis.proposals]
    return "\n".join(lines)


def page(diagnosis: Diagnosis, title: str) -> str:
    """Return one HTML page with everything in it, pictures too."""
    parts = [f"<!doctype html><meta charset=utf-8><title>{_safe(title)}</title><style>{STYLE}</style>"]
    parts.append(f"<h1>{_safe(title)}</h1>")
    if not diagnosis.findings:
        parts.append("<p class=calm>No findings.</p>")
    items = (
        f"<li class=finding><b>{_safe(one.split)}</b> {_safe(one.message)}<br><small>{_safe(one.corpus)}</small>"
        for one in diagnosis.findings
    )
    parts += ["<ul>", *items, "</ul>", "<h2>Proposed for training</h2><pre>"]
    parts += [f"{_safe(override):<38} # {_safe(reason)}\n" for override, reason in diagnosis.proposals]
    parts.append("</pre>")
    for one in diagnosis.examined:
        parts.append(f"<h2>{_safe(one.split)}</h2><p><code>{_safe(one.name)}</code></p>")
        cells = (f"<tr><td>{_safe(name)}<td>{_safe(value)}" for name, value in rows(one))
        parts += ["<table><tr><th>source / target<th>", *cells, "</table>"]
        parts.append(f'<img alt="lengths and alignment" src="data:image/png;base64,{picture(one)}">')
        examples = _examples(one)
        if examples:
            cells = (
                f"<tr><td>{_safe(each.kind)}, {each.side}, line {each.line:,} {_safe(each.note)}"
                f"<td style='text-align:left'>{_safe(each.text[:300])}"
                for each in examples
            )
            parts += ["<h3>Examples</h3><table>", *cells, "</table>"]
    return "\n".join(parts) + "\n"


def picture(one: Examined) -> str:
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
