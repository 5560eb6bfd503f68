"""What a run tells while it goes: `metrics.jsonl`, a progress bar or plain lines, and pictures at the end."""

import contextlib
import io
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tqdm import tqdm

from mt.errors import UserError
from mt.runs.atomic import disk_error, replace_file

_PLAIN_LINE_SECONDS = 15.0


@runtime_checkable
class Metrics(Protocol):
    """Where the numbers of a run go."""

    def write(self, *, step: int, kind: str, **values: float | str | None) -> object:
        """Take one line."""

    def sync(self) -> None:
        """Make sure of all lines so far."""

    def close(self) -> None:
        """No more lines come."""


class NoMetrics:
    """Where the numbers of a rank go whose first one writes them."""

    def write(self, *, step: int, kind: str, **values: float | str | None) -> None:
        """Nowhere."""

    def sync(self) -> None:
        """Nothing to make sure of."""

    def close(self) -> None:
        """Nothing to close."""


class MetricsFile:
    """`metrics.jsonl`: one JSON object per line, each with its `step` and `kind`.

    Opening it for a resumed run drops the lines after that run's checkpoint, so that the file reads as if nothing
    had happened; those that stay are in `kept`, and `damaged` counts the unreadable ones. With `tensorboard` every
    number is also written as an event.
    """

    def __init__(self, path: Path, *, step: int, tensorboard: bool) -> None:
        lines, self.damaged = _lines(path)
        self.kept = [line for line in lines if line["step"] <= step]
        replace_file(path, "".join(json.dumps(line) + "\n" for line in self.kept).encode())
        self._path = path
        self._file = path.open("a", encoding="utf-8", newline="\n")
        self._events = _event_writer(path.parent / "tensorboard", step=step) if tensorboard else None

    def write(self, *, step: int, kind: str, **values: float | str | None) -> dict[str, Any]:
        """Append one line and return it; a number that is not finite, which JSON does not know, becomes null.

        Raises DiskError.
        """
        finite = {name: None if _not_finite(value) else value for name, value in values.items()}
        line = {"step": step, "kind": kind, **finite}
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
        """Close the files; what a full disk kept from being written was reported when it was written."""
        with contextlib.suppress(OSError):
            self._file.close()
        if self._events is not None:
            self._events.close()


class Progress:
    """A bar on a terminal; elsewhere a plain line every quarter of a minute; nothing where it is not `shown`."""

    def __init__(self, *, total_steps: int, step: int, shown: bool = True) -> None:
        self._shown = shown
        self._total = total_steps
        self._start_step = step
        self._start = self._last_line = time.monotonic()
        self._bar = tqdm(total=total_steps, initial=step, unit="step") if shown and sys.stderr.isatty() else None

    def update(self, step: int, **values: str) -> None:
        """Show the newest numbers."""
        if self._bar is not None:
            self._bar.set_postfix(values, refresh=False)
            self._bar.update(step - self._bar.n)
        elif time.monotonic() - self._last_line > _PLAIN_LINE_SECONDS or step == self._total:
            self._last_line = time.monotonic()
            seconds = (self._last_line - self._start) / max(1, step - self._start_step) * (self._total - step)
            numbers = "  ".join(f"{name} {value}" for name, value in values.items())
            self.line(f"step {step:,} of {self._total:,}  {numbers}  {format_seconds(seconds)} left")

    def line(self, text: str) -> None:
        """Print a line beside the bar."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        elif self._shown:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


def report_beside_progress(text: str) -> None:
    """Print a line on standard error that breaks no progress bar."""
    tqdm.write(text, file=sys.stderr)
    sys.stderr.flush()


def format_seconds(seconds: float) -> str:
    """Such as `1 h 02 min`, `3 min 20 s` or `8 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"


def draw_curves(metrics: Path, folder: Path) -> None:
    """Draw `loss.png` (nats per target token against steps) and `bleu.png` from `metrics.jsonl`. Raises DiskError."""
    import matplotlib as mpl  # noqa: PLC0415  slow to load, and needed once

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    lines, _ = _lines(metrics)
    curves = {
        "loss": [("train", "nll", "training"), ("validation", "nll", "validation")],
        "bleu": [("validation", "bleu", "validation, greedy")],
    }
    for picture, series in curves.items():
        figure, axes = plt.subplots(figsize=(7, 4))
        for kind, key, label in series:
            known = [line for line in lines if line["kind"] == kind and isinstance(line.get(key), int | float)]
            points = [(line["step"], line[key]) for line in known]
            if points:
                axes.plot(*zip(*points, strict=True), label=label, marker="o" if kind == "validation" else None)
        axes.set_xlabel("step (optimizer updates)")
        axes.set_ylabel("negative log-likelihood (nats per target token)" if picture == "loss" else "BLEU")
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        figure.tight_layout()
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=120)
        plt.close(figure)
        replace_file(folder / f"{picture}.png", content.getvalue())


def perplexity(nats: float) -> float:
    """e to the power of nats per token, infinite where that overflows."""
    return math.exp(nats) if nats < 700 else math.inf


def _lines(path: Path) -> tuple[list[Mapping[str, Any]], int]:
    """The whole lines of a metrics file, and how many are damaged; a last one cut short by a crash is left out."""
    lines: list[Mapping[str, Any]] = []
    texts = path.read_bytes().split(b"\n")[:-1] if path.is_file() else []
    for text in texts:
        with contextlib.suppress(ValueError, RecursionError):
            line = json.loads(text)
            if isinstance(line, dict) and type(line.get("step")) is int and isinstance(line.get("kind"), str):
                lines.append(line)
    return lines, len(texts) - len(lines)


def _not_finite(value: float | str | None) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _event_writer(folder: Path, *, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  an optional package
    except ImportError as error:
        raise UserError("training.tensorboard: needs the package tensorboard: pip install tensorboard") from error
    return SummaryWriter(str(folder), purge_step=step + 1)
