"""What a limit leaves of a training: the time for its steps, and the intervals that fit into them."""

import math
import time
from dataclasses import dataclass, field

from mt.reporting import format_seconds

_LEAST_STEPS, _LEAST_SECONDS = 10, 3.0  # that show the speed; the first step, which warms up or compiles, not counted
_UNKNOWN_STEPS, _FIRST_STEPS, _UNUSUAL = 3, 10, 3  # the first, of which each may be compiled
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
    _steps: int = 0  # of those that `progress` has seen, up to the first ten, and the shortest of them in seconds
    _shortest: float = math.inf

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
        falls and always ends at 1, even when a larger budget is given or the end turns out to need less time. The
        first steps of a command, which may be compiled, count as usual ones: a warm-up would be over before the
        weights have moved.
        """
        left, seconds = max(self.seconds_left(), 0.0), self._usual(seconds)
        return 1.0 if left == 0 else before + (1 - before) * seconds / (seconds + left)

    def _usual(self, seconds: float) -> float:
        """The seconds that count: of the first steps no more than thrice the shortest, and together from the third."""
        if self._steps == _FIRST_STEPS:
            return seconds
        self._steps += 1
        self._shortest = min(self._shortest, seconds)
        if self._steps <= _UNKNOWN_STEPS:
            return self._shortest * _UNKNOWN_STEPS if self._steps == _UNKNOWN_STEPS else 0.0
        return min(seconds, _UNUSUAL * self._shortest)

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
