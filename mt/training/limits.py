"""What a limit leaves of a training: the time for its steps, and the intervals that fit into them."""

import math
import time
from collections import deque
from dataclasses import dataclass, field
from statistics import median_low

from mt.reporting import format_seconds

_LEAST_STEPS, _LEAST_SECONDS = 10, 3.0  # that show the speed; the first step, which warms up or compiles, not counted
_REMEMBERED_STEPS, _UNUSUAL = 5, 2  # a step that takes so many times as long as the median waits for something else
_UNMEASURED_SHARE = 0.1  # of the time, kept for the end until a validation shows how long it takes


@dataclass(eq=False)
class Clock:
    """When the steps must end for what follows them to end within `max_minutes` (None: no limit).

    With `paces` it limits the whole run instead of one command, and the learning rate follows it.
    """

    max_minutes: float | None = None
    started: float = field(default_factory=time.monotonic)  # seconds, by `time.monotonic`
    validations_at_end: float = 1.0  # how long validation, averaging and evaluation take, in validations
    validation_seconds: float | None = None  # of the newest; None before the first
    paces: bool = False
    _first: tuple[int, float] | None = None  # a step and when it ended
    _steps: deque[float] | None = None  # the seconds of the newest; None before the first

    def seconds_left(self) -> float:
        """For steps, infinite without a limit."""
        if self.max_minutes is None:
            return math.inf
        end = _UNMEASURED_SHARE * 60 * self.max_minutes
        if self.validation_seconds is not None:
            end = self.validations_at_end * self.validation_seconds
        return self.started + 60 * self.max_minutes - end - time.monotonic()

    def progress(self, before: float, seconds: float) -> float:
        """The share of the time for steps that is over after a step of `seconds`, before which it was `before`.

        It is 1 when no time is left. What is left of the share goes with what is left of the time, so that it never
        falls and always ends at 1, even when a larger budget is given or the end turns out to need less time. Steps
        that are compiled or wait, for a validation or a machine that slept, count as usual ones: a warm-up would be
        over before the weights have moved.
        """
        left, seconds = max(self.seconds_left(), 0.0), self._usual(seconds)
        return 1.0 if left == 0 else before + (1 - before) * seconds / (seconds + left)

    def _usual(self, seconds: float) -> float:
        """The seconds of a step, at most twice the median of the newest; those of the first follow when it is known."""
        if self._steps is None:  # the first always warms up or is compiled
            self._steps = deque(maxlen=_REMEMBERED_STEPS)
            return 0.0
        known = len(self._steps) == _REMEMBERED_STEPS
        self._steps.append(seconds)
        usual = median_low(self._steps)
        if known:
            return min(seconds, _UNUSUAL * usual)
        return usual * _REMEMBERED_STEPS if len(self._steps) == _REMEMBERED_STEPS else 0.0

    def __str__(self) -> str:
        minutes = self.max_minutes or 0
        return f"the budget of {format_seconds(60 * minutes)}" if self.paces else f"training.max_minutes={minutes:g}"

    def lacks_validation(self) -> bool:
        """Whether half of the time is over, and no validation has shown yet how long the end will take."""
        return self.validation_seconds is None and self.seconds_left() < 30 * (self.max_minutes or 0)

    def expected_steps(self, step: int) -> int | None:
        """Called after every step: at the one that makes the speed known, which step will be the last; else None.

        None too where it `paces`: then nothing depends on the steps.
        """
        if self.max_minutes is None or self.paces or (self._first is not None and self._first[0] < 0):
            return None
        now = time.monotonic()
        self._first = self._first or (step, now)
        made, seconds = step - self._first[0], now - self._first[1]
        if made < _LEAST_STEPS or seconds < _LEAST_SECONDS:
            return None
        self._first = (-1, now)
        return step + max(0, int(self.seconds_left() * made / seconds))


def unfitting_intervals(
    steps: int, *, warmup_steps: int, validate_every_steps: int, checkpoint_every_steps: int, average_checkpoints: int
) -> dict[str, tuple[int, int]]:
    """The options that do not fit a run of `steps`, each with its value and one that would fit.

    The warm-up fits in the first half, two validations in the whole, the checkpoints that are averaged after the
    warm-up.
    """
    found: dict[str, tuple[int, int]] = {}
    warmup = warmup_steps if warmup_steps <= steps / 2 else max(1, steps // 4)
    if warmup != warmup_steps:
        found["warmup_steps"] = warmup_steps, warmup
    if validate_every_steps > max(1, steps / 2):
        found["validate_every_steps"] = validate_every_steps, max(1, steps // 5)
    if checkpoint_every_steps > max(1, (steps - warmup) / average_checkpoints):
        found["checkpoint_every_steps"] = checkpoint_every_steps, max(1, steps // (2 * average_checkpoints))
    return {option: values for option, values in found.items() if values[1] < values[0]}
