"""What the training contest showed: a row for each system and precision."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mt.benchmark.contest import Outcome
from mt.benchmark.flops import training_flop
from mt.benchmark.report import table
from mt.benchmark.spread import ratio, spread
from mt.benchmark.workers.token_batches import TokenBatch

PEAK = "matrix products"  # the system that measures the machine
COLUMNS = [
    "system",
    "precision",
    "tokens/s",
    "target tokens/s",
    "fill",
    "MFU",
    "peak memory, GiB",
    "ours / this one",
]
LEGEND = """Tokens are real ones (no padding) of source and target; each figure is the median of the rounds with their
range, and a ratio is taken round by round. Fill is real tokens by places. MFU is the arithmetic of real tokens (three
times the forward pass) by the best matrix product measured in the same round. Peak memory is that of the whole process
on a CPU, of tensors on a GPU. Every system has dropout after each sublayer and on the embeddings, label
smoothing, tied embeddings and the fused Adam."""


def training_table(
    outcome: Outcome, *, systems: Sequence[str], precisions: Sequence[str], flop: float, absent: Mapping[str, str]
) -> str:
    """The contest as a Markdown table; `flop` is the arithmetic of a round, `absent` says why one is missing."""
    rows = []
    for name, precision in itertools.product(systems, precisions):
        entry = f"{name} {precision}"
        shown = [name.replace("_", ", "), precision]
        if entry in outcome.answers:
            rows.append([*shown, *_figures(outcome, name, precision, flop)])
        else:
            why = absent.get(name) or outcome.failures.get(entry, "not started")
            rows.append([*shown, *["–"] * 5, why.replace("|", "/")])
    return table(COLUMNS, rows)


def precision_gain(outcome: Outcome) -> str:
    """How much faster we are in bf16 than in fp32, where both were measured."""
    if not {"ours fp32", "ours bf16"} <= outcome.answers.keys():
        return ""
    gain = ratio(rates(outcome, "ours bf16"), rates(outcome, "ours fp32"))
    return f"Ours in bf16 over ours in fp32: {gain.text(2)}."


def projection(outcome: Outcome, precisions: Sequence[str], *, steps_per_round: int, max_steps: int) -> str:
    """How long a whole training would take at the speed of these rounds."""
    found = []
    for precision in precisions:
        if f"ours {precision}" in outcome.answers:
            hours = spread(outcome.values(f"ours {precision}", "seconds")).median / steps_per_round * max_steps / 3600
            found.append(f"{hours:,.2f} h in {precision}")
    return f"Projected, not run: {max_steps:,} such steps of ours take {', '.join(found)}." if found else ""


def peaks(outcome: Outcome, precisions: Sequence[str]) -> str:
    """The best matrix products of the rounds."""
    measured = {one: outcome.values(f"{PEAK} {one}", "flop_per_second") for one in precisions}
    return ", ".join(f"{one} {spread([value / 1e9 for value in found]).text()}" for one, found in measured.items())


def rates(outcome: Outcome, entry: str) -> list[float]:
    """Real tokens of source and target a second, round by round."""
    source, target, seconds = (outcome.values(entry, name) for name in ("source_tokens", "target_tokens", "seconds"))
    return [(one + other) / time for one, other, time in zip(source, target, seconds, strict=True)]


def flop_per_round(batches: Sequence[TokenBatch], sizes: Mapping[str, Any]) -> float:
    """The arithmetic of all these batches for a model of these sizes."""
    names = ("num_layers", "d_model", "d_ff", "vocab_size")
    lengths = [(np.sum(batch.source != 0, 1), np.sum(batch.target_output != 0, 1)) for batch in batches]
    return sum(training_flop(*pair, **{name: sizes[name] for name in names}) for pair in lengths)


def _figures(outcome: Outcome, name: str, precision: str, flop: float) -> list[str]:
    entry, ours = f"{name} {precision}", f"ours {precision}"
    seconds, rate = outcome.values(entry, "seconds"), rates(outcome, entry)
    best = outcome.values(f"{PEAK} {precision}", "flop_per_second")
    use = spread([100 * flop / second / most for second, most in zip(seconds, best, strict=True)])
    first = outcome.answers[entry][0]
    fill = (first["source_tokens"] + first["target_tokens"]) / first["places"]
    held = f"{max(outcome.values(entry, 'peak_bytes')) / 2**30:.2f}" if "peak_bytes" in first else "–"
    ahead = ratio(rates(outcome, ours), rate).text(2) if ours in outcome.answers else "–"
    aimed = [tokens / second for tokens, second in zip(outcome.values(entry, "target_tokens"), seconds, strict=True)]
    return [spread(rate).text(), f"{spread(aimed).median:,.0f}", f"{fill:.1%}", f"{use.text(1)} %", held, ahead]
