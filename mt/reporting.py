"""Progress of a long pass over data: a bar on a terminal, a plain line now and then in a log file."""

import sys
import time

from tqdm import tqdm

LOG_EVERY_SECONDS = 10.0


class Progress:
    """Shows on standard error how many of `total` things are done; a pass of a second shows nothing."""

    def __init__(self, description: str, *, total: int, unit: str) -> None:
        """Start the clock; `unit` is the plural of what is counted."""
        self.description, self.total, self.unit = description, total, unit
        self._done = 0
        self._start = self._last = time.monotonic()
        self._bar: tqdm | None = None
        if sys.stderr.isatty():
            self._bar = tqdm(desc=description, total=total, unit=f" {unit}", unit_scale=True, delay=1.0)

    def advance(self, count: int) -> None:
        """Count `count` more as done; without a terminal a line is printed every `LOG_EVERY_SECONDS`."""
        self._done += count
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(count)
        elif now - self._last >= LOG_EVERY_SECONDS:
            self._last = now
            rate = self._done / (now - self._start)
            line = f"{self.description}: {self._done:,} of {self.total:,} {self.unit}, {rate:,.0f} {self.unit}/s"
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the bar where it stands."""
        if self._bar is not None:
            self._bar.close()


def report(text: str) -> None:
    """Print a line at once."""
    print(text, file=sys.stderr, flush=True)
