"""Metrics that are looked at as they are written."""

from collections.abc import Callable
from typing import Any

from mt.training.diagnosis import Diagnosis, Pace, Symptom
from mt.training.metrics import MetricsFile


class WatchedMetrics:
    """A metrics file whose lines are compared with those of a healthy run.

    What a line shows to be wrong is told, and stands in the file after it. What the clock shows is told alone, for it
    is another after a restart. `waited_seconds` says for how long the run has waited for batches so far.
    """

    def __init__(
        self,
        metrics: MetricsFile,
        diagnosis: Diagnosis,
        *,
        waited_seconds: Callable[[], float],
        tell: Callable[[str], None],
    ) -> None:
        self._metrics = metrics
        self._diagnosis = diagnosis
        self._waited_seconds = waited_seconds
        self._tell = tell
        self._pace = Pace()
        self._before: tuple[float, float] | None = None  # seconds of training and of waiting at the last line
        self._validating_seconds = 0.0  # since then

    def write(self, *, step: int, kind: str, **values: float | str | None) -> None:
        """Append a line, and what it shows to be wrong. Raises DiskError."""
        line = self._metrics.write(step=step, kind=kind, **values)
        symptoms = self._diagnosis.observe(line)
        for symptom in symptoms:
            self._metrics.write(step=step, kind="warning", symptom=symptom.kind, message=symptom.message)
        for symptom in [*symptoms, *self._clock(line)]:
            self._tell(f"step {step:,}: warning: {symptom.kind}: {symptom.message}")

    def sync(self) -> None:
        """Wait until the disk holds every line. Raises DiskError."""
        self._metrics.sync()

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()

    def _clock(self, line: dict[str, Any]) -> list[Symptom]:
        if line["kind"] == "validation":
            self._validating_seconds += line["seconds"]
        if line["kind"] != "train":
            return []
        before, self._before = self._before, (line["training_seconds"], self._waited_seconds())
        validating, self._validating_seconds = self._validating_seconds, 0.0
        if before is None:  # the first line of a life: the beginning is slow
            return []
        return self._pace.observe(
            tokens_per_second=line["target_tokens_per_second"],
            seconds=self._before[0] - before[0] - validating,
            waited_seconds=self._before[1] - before[1],
        )
