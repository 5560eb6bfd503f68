"""Scores of several runs with their intervals, as a picture."""

from collections.abc import Mapping, Sequence
from typing import Any

from mt.runs.metrics import png


def comparison_picture(runs: Sequence[str], found: Mapping[str, Mapping[str, Sequence[Any]]]) -> bytes:
    """A PNG with one panel for each metric: a point with its interval for each run on each test set.

    `found` has, by test set and metric, sacreBLEU's result for each run.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and needed once

    metrics = list(next(iter(found.values())))
    figure = Figure(figsize=(5 * len(metrics), 1.5 + 0.4 * len(runs) * len(found)), layout="constrained")
    labels = [f"{split}: {run}" for split in found for run in runs]
    for panel, metric in zip(figure.subplots(1, len(metrics), sharey=True), metrics, strict=True):
        results = [result for one in found.values() for result in one[metric]]
        intervals = [result.ci for result in results]
        panel.errorbar([result.mean for result in results], range(len(results)), xerr=intervals, fmt="o", capsize=3)
        panel.set_yticks(range(len(labels)), labels, parse_math=False)
        panel.set_xlabel(f"{metric}, 95 % interval")
        panel.grid(alpha=0.3)
    panel.invert_yaxis()  # of all panels, which share it
    return png(figure)
