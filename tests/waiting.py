"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable
from typing import Any


def until(condition: Callable[[], Any], *, seconds: float = 60) -> Any:
    """What `condition` returns once it is true. Fails when it is not within these seconds."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found
