"""The numbers of a run: `metrics.jsonl` while it trains, and the curves at its end."""

import contextlib
import io
import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mt.errors import UserError
from mt.reporting import report
from mt.runs.atomic import disk_error, read_file, replace_file
from mt.runs.folder import ACCURACY_CURVE, BLEU_CURVE, LOSS_CURVE, METRICS, TENSORBOARD

UNSCHEDULED_VALIDATION = "unscheduled validation"  # the kind of a line that a resumed run drops

LARGEST_METRICS_BYTES = 1 << 28  # of more than half a million lines


class MetricsFile:
    """`metrics.jsonl`: one JSON object per line, each with its `step` and `kind`.

    Opening it for a resumed run drops the lines after that run's checkpoint and the unscheduled validations, as if the
    run had never been stopped; `kept` holds the others, and `damaged` counts the unreadable ones. With `tensorboard`
    every number is also written as an event.
    """

    def __init__(self, path: Path, *, step: int, tensorboard: bool) -> None:
        lines, self.damaged = all_lines(path)
        self.kept = [line for line in lines if line["step"] <= step and line["kind"] != UNSCHEDULED_VALIDATION]
        replace_file(path, "".join(json.dumps(line) + "\n" for line in self.kept).encode())
        self._path = path
        self._file = path.open("a", encoding="utf-8", newline="\n")
        self._events = _event_writer(path.parent / TENSORBOARD, step=step) if tensorboard else None

    def write(self, *, step: int, kind: str, **values: float | str | list[str] | None) -> dict[str, Any]:
        """Append one line and return it; a number that is not finite, which JSON does not know, becomes null.

        Raises DiskError.
        """
        line: dict[str, Any] = {"step": step, "kind": kind}
        for name, value in values.items():
            line[name] = None if isinstance(value, float) and not math.isfinite(value) else value
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as error:
            raise disk_error(self._path, error) from error
        if self._events is not None:
            for name, value in values.items():
                if isinstance(value, float | int):
                    self._events.add_scalar(f"{kind}/{name}", value, step)
        return line

    def sync(self) -> None:
        """Wait until the disk holds every line, before a checkpoint refers to them. Raises DiskError."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise disk_error(self._path, error) from error

    def close(self) -> None:
        """Close the files; a full disk was reported when the line was written."""
        with contextlib.suppress(OSError):
            self._file.close()
        if self._events is not None:
            self._events.close()


def draw_curves(run_dir: Path) -> None:
    """Draw the loss (nats per target token) and BLEU against steps from the run's metrics. Raises DiskError.

    Where the metrics have the accuracy of a task, it is drawn too, against the logarithm of the steps.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and needed once

    lines, _ = all_lines(run_dir / METRICS)
    curves = {
        LOSS_CURVE: [("train", "nll", "training"), ("validation", "nll", "validation")],
        BLEU_CURVE: [("validation", "bleu", "validation, greedy")],
    }
    units = {LOSS_CURVE: "negative log-likelihood (nats per target token)", BLEU_CURVE: "BLEU"}
    if any("exact_match" in line for line in lines):
        curves[ACCURACY_CURVE] = [
            ("validation", "training_exact_match", "training"),
            ("validation", "exact_match", "validation"),
        ]
        units[ACCURACY_CURVE] = "exact match (%)"
    for picture, series in curves.items():
        figure = Figure(figsize=(7, 4))
        axes = figure.add_axes((0.1, 0.13, 0.87, 0.83))  # a layout found by drawing takes as long again
        plot(axes, lines, series)
        axes.set_xlabel("step (optimizer updates)")
        axes.set_ylabel(units[picture])
        if picture == ACCURACY_CURVE:
            axes.set_xscale("log")
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        replace_file(run_dir / picture, png(figure, dpi=120))


def read_metrics(run_dir: Path, kind: str) -> list[Mapping[str, Any]]:
    """The lines of a kind (train, validation) in the metrics of a run, in the order of their steps."""
    return [line for line in all_lines(run_dir / METRICS)[0] if line["kind"] == kind]


def plot(axes: Any, lines: Sequence[Mapping[str, Any]], series: Iterable[tuple[str, str, str]]) -> None:
    """Add curves to matplotlib's axes, each of a kind of line, a number in it, and a label."""
    for kind, key, label in series:
        drawn = [line for line in lines if line["kind"].removeprefix("unscheduled ") == kind]
        points = [(line["step"], line[key]) for line in drawn if isinstance(line.get(key), int | float)]
        if points:
            axes.plot(*zip(*points, strict=True), label=label, marker="o" if kind == "validation" else None)


def png(figure: Any, **options: Any) -> bytes:
    """A figure of matplotlib as a PNG; a line says if its font lacks letters, such as Chinese ones."""
    content = io.BytesIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "Glyph .* missing from font")
        figure.savefig(content, format="png", **{"dpi": 110, **options})
    messages = {str(one.message) for one in caught}
    if lacking := [message for message in messages if message.startswith("Glyph ")]:
        report(f"the picture has boxes for letters that matplotlib's font lacks: {len(lacking):,}")
    for message in messages.difference(lacking):
        warnings.warn(message, stacklevel=2)
    return content.getvalue()


def kept_sentences(count: int) -> list[int]:
    """The numbers of the validation sentences whose translations are kept: ten, evenly spread."""
    kept = min(10, count)
    return [number * count // kept for number in range(kept)]


def perplexity(nats: float) -> float:
    """e to the power of nats per token, infinite where that overflows."""
    return math.exp(nats) if nats < 700 else math.inf


def all_lines(path: Path) -> tuple[list[Mapping[str, Any]], int]:
    """The whole lines of a metrics file and the number of damaged ones; a last line cut short by a crash is dropped."""
    lines: list[Mapping[str, Any]] = []
    texts = read_file(path, LARGEST_METRICS_BYTES).split(b"\n")[:-1] if path.exists() else []
    for text in texts:
        with contextlib.suppress(ValueError, RecursionError):
            line = json.loads(text)
            if isinstance(line, dict) and type(line.get("step")) is int and isinstance(line.get("kind"), str):
                lines.append(line)
    return lines, len(texts) - len(lines)


def _event_writer(folder: Path, *, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  an optional package
    except ImportError as error:
        raise UserError("training.tensorboard: needs the package tensorboard: pip install tensorboard") from error
    return SummaryWriter(str(folder), purge_step=step + 1)
