"""Memory that is kept for the next tensors: by the pages that the system hands out."""

import pathlib
import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import torch
from mt.fast.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        first, second = torch.ones(10, 2**20), torch.ones(10, 2**20)  # 40 MiB each: glibc gives such back at once
        del first
        third = torch.ones(10, 2**20)
        del second, third
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = min(faults() for _ in range(3))
print(before, keep_freed_memory(large={large}), min(faults() for _ in range(3)))
"""


HUGE = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
HUGE_PAGES = """
import re
import torch
from mt.fast.memory import keep_freed_memory
from mt.fast.workers import in_process

def huge():
    with open("/proc/self/smaps_rollup") as file:
        return int(re.search(r"AnonHugePages: +([0-9]+) kB", file.read())[1])

before = huge()
keep_freed_memory()
in_process(huge)  # as a training learns its subwords
kept = [torch.ones(2**18) for _ in range(64)]  # 1 MiB each
print(before, huge())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
@pytest.mark.skipif(
    not pathlib.Path("/proc/self/smaps_rollup").exists() or not HUGE.exists() or "[never]" in HUGE.read_text("utf-8"),
    reason="a system without huge pages",
)
def test_tensors_are_on_huge_pages() -> None:
    """Of 64 tensors of 1 MiB at least half are on pages of 2 MiB."""
    done = subprocess.run([sys.executable, "-c", HUGE_PAGES], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert after - before >= 32 * 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
@pytest.mark.parametrize("large", [True, False])
def test_freed_memory_serves_the_next_tensors(large: bool) -> None:
    """By the pages that the system had to clear; in a process of its own, because it is for the whole process."""
    script = FAULTS.replace("{large}", str(large))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    before, kept, after = done.stdout.split()
    assert kept == "True"
    assert (int(after) < int(before) / 10) is large
