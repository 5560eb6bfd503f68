"""What the doctor found as text for a terminal, and as one HTML page with examples, without a network."""

import html
from collections.abc import Sequence

import numpy as np

from mt.data.text_cache import SIDES
from mt.doctor.checks import CHECKS
from mt.doctor.examination import Examined
from mt.doctor.findings import Finding

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td{padding:.15rem .7rem;border-bottom:1px solid #ddd}
pre{background:#f4f4f4;padding:.7rem;overflow-x:auto}"""


def text(corpora: Sequence[Examined], findings: Sequence[Finding]) -> str:
    """Return the findings, and a table of counts for each corpus."""
    lines = ["findings:" if findings else "no findings"]
    lines += [f"  - {finding.split} ({finding.corpus}): {finding.message}" for finding in findings]
    for one in corpora:
        counts = [("pairs", f"{one.lengths.shape[1]:,}")]
        for side, lengths in zip(SIDES, one.lengths, strict=True):
            marks = np.quantile(lengths, (0.05, 0.5, 0.95, 1.0))
            spread = " ".join(f"{mark:.0f}" for mark in marks)
            counts.append((f"{side}: characters of a line; 5 %, median, 95 %, longest", spread))
        for kind in CHECKS:
            sides = {side: len(suspects) for (each, side), suspects in one.suspects.items() if each == kind}
            counts += [(f"{kind} ({side})", f"{count:,}") for side, count in sides.items() if count]
        lines += ["", f"{one.split}: {one.name}", *(f"  {name:<62} {value:>26}" for name, value in counts)]
    return "\n".join(lines)


def page(corpora: Sequence[Examined], findings: Sequence[Finding], title: str) -> str:
    """Return the text as an HTML page, with examples from each corpus."""
    parts = [f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{_STYLE}</style>"]
    parts.append(f"<h1>{html.escape(title)}</h1><pre>{html.escape(text(corpora, findings))}</pre>")
    for one in corpora:
        parts.append(f"<h2>{html.escape(one.split)}: {html.escape(one.name)}</h2><table>")
        for (kind, side), examples in one.examples.items():
            for line, example in zip(one.suspects[kind, side], examples, strict=False):
                parts.append(f"<tr><td>{kind}, {side}, line {line:,}<td>{html.escape(example[:300])}")
        parts.append("</table>")
    return "\n".join(parts) + "\n"
