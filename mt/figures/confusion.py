"""Which label was found for which: the confusion of a text classifier as a picture."""

from collections.abc import Sequence

import numpy as np

from mt.runs.metrics import png

_MOST_NUMBERS = 20  # labels, up to which the numbers are written into the cells


def confusion_picture(confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> bytes:
    """A PNG: a row for each real label, a column for each label found, dark by the share of the row."""
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and needed once

    counts = np.array(confusion)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    side = 2.5 + 0.4 * min(len(labels), 60)
    figure = Figure(figsize=(side + 1, side), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    shown = [label[:30] for label in labels]
    axes.set_xticks(range(len(labels)), shown, rotation=70, ha="right", rotation_mode="anchor", parse_math=False)
    axes.set_yticks(range(len(labels)), shown, parse_math=False)
    axes.set(xlabel="label found", ylabel="real label")
    if len(labels) <= _MOST_NUMBERS:
        for (row, column), count in np.ndenumerate(counts):
            color = "white" if shares[row, column] > 0.5 else "black"
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=color, fontsize=8)
    figure.colorbar(image, ax=axes, label="share of the texts with the real label")
    return png(figure)
