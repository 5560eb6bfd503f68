"""What a system's memory is measured to be."""

import mmap
import sys

import pytest
import torch

from mt.benchmark.worker import measured
from mt.fast.memory import give_back_freed_memory
from mt.fast.workers import WorkerProcesses

MEBIBYTE = 2**20
CPU = torch.device("cpu")
ALLOCATED: list[torch.Tensor] = []

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from Linux's /proc")


def test_memory_that_is_freed_within_the_action_is_measured() -> None:
    def action() -> None:
        with mmap.mmap(-1, 2**28) as region:  # of the system: what torch frees, an earlier test may have let us keep
            region[:: mmap.PAGESIZE] = b"1" * (2**28 // mmap.PAGESIZE)

    before, during, after = (measured(one, CPU) for one in (lambda: None, action, lambda: None))
    assert during["peak_bytes"] - before["peak_bytes"] == pytest.approx(2**28, rel=0.1)
    assert after["peak_bytes"] - before["peak_bytes"] < 2**26
    assert during["seconds"] > 0


def test_memory_that_worker_processes_share_is_counted_once() -> None:
    """A fork of a process that has 200 MiB, which allocates 100 MiB more, adds those 100."""
    shared = torch.ones(200 * MEBIBYTE, dtype=torch.int8)
    give_back_freed_memory()  # of earlier tests, which the fork would give back
    before = measured(lambda: None, CPU)["peak_bytes"]
    workers = WorkerProcesses(allocate, count=1)
    try:
        added = measured(lambda: check(workers.map([(100,)]) == [100]), CPU)["peak_bytes"] - before
    finally:
        workers.close()
    assert 90 * MEBIBYTE < added < 160 * MEBIBYTE
    assert shared.numel() == 200 * MEBIBYTE


def allocate(mebibytes: int) -> int:
    ALLOCATED.append(torch.ones(mebibytes * MEBIBYTE, dtype=torch.int8))
    return mebibytes


def check(allocated: bool) -> None:
    assert allocated
