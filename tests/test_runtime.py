"""Device, precision, seeds."""

import pathlib
import platform
import subprocess
import sys

import pytest
import torch

from mt.errors import UserError
from mt.fast.engine.prepacked_linear import PrepackedLinear
from mt.runtime import autocast, bf16_factors, choose_device, choose_precision, seed_everything

CPU = torch.device("cpu")


def test_the_device_is_chosen_or_refused() -> None:
    assert choose_device("cpu") == CPU
    assert choose_device("auto").type in ("cpu", "cuda", "mps")
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="device=cuda is not available on this machine: use device=auto"):
            choose_device("cuda")


def test_precision_is_what_was_asked_for() -> None:
    assert choose_precision("bf16", CPU) == torch.bfloat16
    assert choose_precision("fp32", CPU) == torch.float32
    native = torch.cpu._is_avx512_bf16_supported()
    assert choose_precision("auto", CPU) == (torch.bfloat16 if native else torch.float32)
    a, b = torch.ones(2, 2), torch.ones(2, 2)
    for precision in (torch.bfloat16, torch.float32):
        with autocast(CPU, precision):
            assert (a @ b).dtype == precision


def test_seeds_repeat_and_differ() -> None:
    def draw(*numbers: int) -> tuple[float, ...]:
        seed_everything(*numbers)
        return tuple(torch.rand(4).tolist())

    assert draw(1, 2) == draw(1, 2)
    places = [(seed, step) for seed in (0, 1, 2, 2**31) for step in range(200)]
    assert len({draw(*place) for place in places}) == len(places)


FAULTS = """
import resource
import torch
from mt.runtime import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        first, second = torch.ones(10, 2**20), torch.ones(10, 2**20)  # 40 MiB each: glibc gives such back at once
        del first
        third = torch.ones(10, 2**20)
        del second, third
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(min(faults() for _ in range(3)), keep_freed_memory(), min(faults() for _ in range(3)))
"""


HUGE_PAGES = """
import re
import torch
from mt.runtime import keep_freed_memory

def huge():
    with open("/proc/self/smaps_rollup") as file:
        return int(re.search(r"AnonHugePages: +([0-9]+) kB", file.read())[1])

before = huge()
keep_freed_memory()
kept = [torch.ones(2**18) for _ in range(64)]  # 1 MiB each
print(before, huge())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
@pytest.mark.skipif(
    not pathlib.Path("/proc/self/smaps_rollup").exists()
    or "[never]" in pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="utf-8"),
    reason="a system without huge pages",
)
def test_tensors_lie_on_huge_pages() -> None:
    """Of 64 tensors of 1 MiB at least half lie on pages of 2 MiB."""
    done = subprocess.run([sys.executable, "-c", HUGE_PAGES], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert after - before >= 32 * 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_serves_the_next_tensors() -> None:
    """By the pages that the system had to clear; in a process of its own, because it is for the whole process."""
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    before, told, after = done.stdout.split()
    assert told == "True"
    assert int(after) < int(before) / 10


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")
def test_factors_may_be_rounded_inside_and_nowhere_else() -> None:
    """Inside, results are those of rounded factors on a processor with AMX, and elsewhere the same as outside."""
    torch.manual_seed(0)
    weight, x = torch.randn(96, 128), torch.randn(32, 128)
    packed = PrepackedLinear(weight, None, library="onednn")
    exact = packed(x)
    with bf16_factors(enabled=True):
        rounded = packed(x)
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(exact.double(), x.double() @ weight.double().T, rtol=0, atol=1e-4)
    if not torch.equal(rounded, exact):
        assert torch.cpu._is_amx_tile_supported()
        expected = x.bfloat16().double() @ weight.bfloat16().double().T
        torch.testing.assert_close(rounded.double(), expected, rtol=0, atol=1e-4)
    with bf16_factors(enabled=False):
        assert torch.equal(packed(x), exact)
    assert torch.equal(packed(x), exact)
