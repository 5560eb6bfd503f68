"""What a command says on standard error while it works: lines, and the progress of what takes long."""

import math
import sys
import time
from collections.abc import Callable

from tqdm import tqdm

LOG_EVERY_SECONDS = 10.0
_began = [time.monotonic()]


def begin_command() -> None:
    """Note that a command begins now, before what it imports."""
    _began[0] = time.monotonic()


def command_began() -> float:
    """When the command of this process began, by `time.monotonic`."""
    return _began[0]


def report(text: str) -> None:
    """Print a line at once, above the progress bars that are shown."""
    tqdm.write(text, file=sys.stderr)
    sys.stderr.flush()


class Progress:
    """How many of `total` things are done: a bar on a terminal, else a line every `LOG_EVERY_SECONDS`.

    What takes less than a second shows nothing.
    """

    def __init__(
        self,
        description: str,
        *,
        total: int,
        unit: str,
        done: int = 0,
        shown: bool = True,
        seconds_left: Callable[[], float] = lambda: math.inf,
    ) -> None:
        """Start the clock; `unit` is the plural of what is counted, of which `done` were done before.

        `seconds_left` is another limit than the `total`.
        """
        self.description, self.total, self.unit, self._shown = description, total, unit, shown
        self._seconds_left = seconds_left
        self._done = self._done_before = done
        self._start = self._last_line = time.monotonic()
        self._bar: tqdm | None = None
        if shown and sys.stderr.isatty():
            options = {"unit": f" {unit}", "unit_scale": True, "delay": 1.0}
            self._bar = tqdm(desc=description, total=total, initial=done, **options)

    def advance(self, count: int) -> None:
        """Count `count` more as done."""
        self.reach(self._done + count)

    def reach(self, done: int, **numbers: str) -> None:
        """Show that `done` are done, with numbers of interest; the last line always shows those."""
        count, self._done = done - self._done, done
        now = time.monotonic()
        rate = max(done - self._done_before, 1) / max(now - self._start, 1e-9)
        left = min(max(self.total - done, 0) / rate, max(self._seconds_left(), 0))
        if self._bar is not None:
            self._bar.total = min(self.total, done + round(left * rate))
            self._bar.set_postfix(numbers, refresh=False)
            self._bar.update(count)
        elif now - self._last_line >= LOG_EVERY_SECONDS or (numbers and done >= self.total):
            self._last_line = now
            shown = [f"{name} {number}" for name, number in numbers.items()] or [f"{rate:,.0f} {self.unit}/s"]
            remaining = f"{format_seconds(left)} left"
            self.line("  ".join([f"{self.description}: {done:,} of {self.total:,} {self.unit}", *shown, remaining]))

    def line(self, text: str) -> None:
        """Print a line above the bar."""
        if self._shown:
            report(text)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


def format_seconds(seconds: float) -> str:
    """Such as `1 h 02 min`, `3 min 20 s` or `8 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"
