"""What a system's memory is measured to be."""

import sys

import pytest
import torch

from mt.benchmark.workers.meter import measured
from mt.fast.workers import WorkerProcesses

MEGABYTE = 2**20
HELD: list[torch.Tensor] = []


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what processes hold")
def test_memory_that_copies_share_is_counted_once() -> None:
    """A copy of a process that holds 200 MB and takes 100 MB more adds those."""
    shared = torch.ones(200 * MEGABYTE, dtype=torch.int8)
    before = measured(lambda: None, torch.device("cpu"))["peak_bytes"]
    copies = WorkerProcesses(hold, count=1)
    try:
        figures = measured(lambda: check(copies.map([(100,)]) == [100]), torch.device("cpu"))
        added = figures["peak_bytes"] - before
    finally:
        copies.close()
    assert 90 * MEGABYTE < added < 160 * MEGABYTE
    assert shared.numel() == 200 * MEGABYTE


def hold(megabytes: int) -> int:
    HELD.append(torch.ones(megabytes * MEGABYTE, dtype=torch.int8))
    return megabytes


def check(held: bool) -> None:
    assert held
