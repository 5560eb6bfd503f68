"""The results of the training benchmark: a row for each system and precision."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from mt.benchmark.contest import About, Outcome
from mt.benchmark.report import label, ratio, spread, table
from mt.benchmark.workers.training_task import TokenBatch

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
range, and a ratio is taken round by round. Fill is real tokens over all positions, padding included. MFU is the
arithmetic of real tokens (three times the forward pass) over the best matrix product measured in the same round. Peak
memory is that of the whole process on a CPU, of tensors on a GPU. Every system has dropout after each sublayer and on
the embeddings, label smoothing, tied embeddings and the fused Adam. HF MarianMT is MarianMTModel of transformers."""


def training_table(
    outcome: Outcome, *, systems: Sequence[str], precisions: Sequence[str], flop: float, about: About
) -> str:
    """The contest as a Markdown table; `flop` is the arithmetic of a round, `about` says why one did not start."""
    rows = []
    for name, precision in itertools.product(systems, precisions):
        entry = f"{name} {precision}"
        shown = [label(name), precision]
        if entry in outcome.answers:
            rows.append([*shown, *_figures(outcome, name, precision, flop)])
        else:
            why = about.get(name, {}).get("failed") or outcome.failures.get(entry, "not started")
            rows.append([*shown, *["–"] * 5, why.replace("|", "/")])
    return table(COLUMNS, rows)


def speeds(outcome: Outcome, precisions: Sequence[str], *, steps_per_round: int, max_steps: int) -> str:
    """In sentences: the machine's best matrix products, our gain from bf16, and how long a training would take."""
    best = []
    hours = []
    for precision in precisions:
        if products := outcome.answers.get(f"{PEAK} {precision}"):
            best.append(f"{precision} {spread([answer['flop_per_second'] / 1e9 for answer in products]).text()}")
        if f"ours {precision}" in outcome.answers:
            seconds = spread(outcome.values(f"ours {precision}", "seconds")).median / steps_per_round * max_steps
            hours.append(f"{seconds / 3600:,.2f} h in {precision}")
    sentences = [f"Matrix products, GFLOP/s: {', '.join(best)}."] if best else []
    if {"ours fp32", "ours bf16"} <= outcome.answers.keys():
        gain = ratio(_rates(outcome, "ours bf16"), _rates(outcome, "ours fp32"))
        sentences.append(f"Ours in bf16 over ours in fp32: {gain.text(2)}.")
    if hours:
        sentences.append(f"Projected, not run: {max_steps:,} such steps of ours take {', '.join(hours)}.")
    return " ".join(sentences)


def _rates(outcome: Outcome, entry: str) -> list[float]:
    """Real tokens of source and target a second, round by round."""
    source, target, seconds = (outcome.values(entry, name) for name in ("source_tokens", "target_tokens", "seconds"))
    return [(one + other) / time for one, other, time in zip(source, target, seconds, strict=True)]


def flop_per_round(batches: Sequence[TokenBatch], sizes: Mapping[str, Any]) -> float:
    """The arithmetic of all these batches for a model of these sizes."""
    names = ("num_layers", "d_model", "d_ff", "vocab_size")
    lengths = [(np.sum(batch.source != 0, 1), np.sum(batch.target_output != 0, 1)) for batch in batches]
    return sum(training_flop(*pair, **{name: sizes[name] for name in names}) for pair in lengths)


def training_flop(
    source_lengths: Int[np.ndarray, " pairs"],
    target_lengths: Int[np.ndarray, " pairs"],
    *,
    num_layers: int,
    d_model: int,
    d_ff: int,
    vocab_size: int,
) -> float:
    """Floating-point operations of one step over these pairs, by the formulas of section 3: three forward passes.

    A multiplication with its addition counts as two. Only matrix products of real tokens count, and in the decoder's
    self-attention only what its mask allows. For base with 37,000 subwords and sentences of 27 tokens that is 380
    million per pair-token.
    """
    source, target = source_lengths.astype(float), target_lengths.astype(float)
    matrix, feed_forward = 2.0 * d_model * d_model, 2.0 * 2.0 * d_model * d_ff
    encoder = source.sum() * (4 * matrix + feed_forward) + 4 * d_model * (source * source).sum()
    decoder = target.sum() * (6 * matrix + feed_forward) + 2 * matrix * source.sum()
    decoder += 4 * d_model * ((target * (target + 1) / 2).sum() + (source * target).sum())
    output = 2.0 * d_model * vocab_size * target.sum()
    return float(3 * (num_layers * (encoder + decoder) + output))


def _figures(outcome: Outcome, name: str, precision: str, flop: float) -> list[str]:
    entry, ours = f"{name} {precision}", f"ours {precision}"
    seconds, rate = outcome.values(entry, "seconds"), _rates(outcome, entry)
    best = outcome.values(f"{PEAK} {precision}", "flop_per_second")
    use = spread([100 * flop / second / most for second, most in zip(seconds, best, strict=True)])
    first = outcome.answers[entry][0]
    fill = (first["source_tokens"] + first["target_tokens"]) / first["positions"]
    memory = f"{max(outcome.values(entry, 'peak_bytes')) / 2**30:.2f}" if "peak_bytes" in first else "–"
    ahead = ratio(_rates(outcome, ours), rate).text(2) if ours in outcome.answers else "–"
    aimed = [tokens / second for tokens, second in zip(outcome.values(entry, "target_tokens"), seconds, strict=True)]
    return [spread(rate).text(), f"{spread(aimed).median:,.0f}", f"{fill:.1%}", f"{use.text(1)} %", memory, ahead]
