"""Tests that measure time run while no other does, also where several workers run tests (marker `alone`).

Every worker holds a lock while it runs a test: shared, or exclusive for one that is to be alone. A turnstile before the
lock keeps those that share it from coming and going for ever while one waits.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

WORKER = os.environ.get("PYTEST_XDIST_WORKER")  # none where there is one process
FOLDER = "TESTS_LOCK_FOLDER"  # the environment's name for where the locks lie


@contextmanager
def held(file: Path, kind: int) -> Iterator[None]:
    """A lock, given back expressly: processes that the test forked have inherited it."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, kind)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before the clock of pytest-timeout starts
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Waits for the others, or for the one that is alone."""
    with ExitStack() as stack:
        if WORKER is not None:
            folder = Path(os.environ[FOLDER])
            with held(folder / "turnstile", fcntl.LOCK_EX):
                kind = fcntl.LOCK_EX if "alone" in item.keywords else fcntl.LOCK_SH
                stack.enter_context(held(folder / "lock", kind))
        return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Make a folder for the locks before the workers start, and remove it when they are done."""
    if WORKER is None:
        folder = tempfile.mkdtemp(prefix="tests-")
        os.environ[FOLDER] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
