"""Device, seeds, precision: what the machine gives and what makes a run repeatable."""

import contextlib
import ctypes
import os
import pathlib
import platform
from collections.abc import Mapping
from typing import Any

import torch

from mt.errors import UserError

_KEEP_FREED_MEMORY = ((-4, 0), (-1, -1))  # mallopt(3): M_MMAP_MAX, M_TRIM_THRESHOLD (-1: never give back)
_HEAP_BYTES = 16 * 2**30  # at most; a big model in training fits
_HUGE_PAGE_BYTES = 2**21
_MADV_HUGEPAGE = 14


def choose_device(name: str) -> torch.device:
    """`auto` takes CUDA, then MPS, then the CPU; a device that is not there raises UserError."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(name, False):
        raise UserError(f"device={name} is not available on this machine: use device=auto or device=cpu")
    return torch.device(name)


def launched_as() -> Mapping[str, str]:
    """The environment in which torchrun, or submitit for a job of several tasks, tells a process its rank."""
    if "SUBMITIT_EXECUTOR" not in os.environ or "WORLD_SIZE" in os.environ:
        return os.environ
    from submitit.helpers import TorchDistributedEnvironment  # noqa: PLC0415  an optional package, there in its jobs

    job = TorchDistributedEnvironment()
    names = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK")
    return {**os.environ, **{name: str(getattr(job, name.lower())) for name in names}}


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The type of matrix products: `bf16`, `fp32`, or `auto` for bf16 where the device computes it natively."""
    if name == "bf16" or (name == "auto" and _computes_bf16(device)):
        return torch.bfloat16
    return torch.float32


def search_arithmetic(name: str | None, device: torch.device) -> dict[str, Any]:
    """The `precision` of a translator and how its `products` are formed.

    `auto` and None are fp32 on a CPU: bf16 rounds scores to 8 bits. `int8` is a way to form the products of bf16
    numbers; without `products` they keep the precision.
    """
    unsaid = "fp32" if device.type == "cpu" else "auto"
    precision, products = {
        None: (unsaid, None),
        "auto": (unsaid, None),
        "int8": ("bf16", "int8"),
    }.get(name, (str(name), None))
    return {"precision": choose_precision(precision, device), "products": products}


def autocast(device: torch.device, precision: torch.dtype) -> contextlib.AbstractContextManager[None]:
    """Matrix products in `precision`, everything delicate in fp32; nothing happens for fp32."""
    return torch.autocast(device.type, dtype=precision, enabled=precision != torch.float32)


def seed_everything(*numbers: int) -> None:
    """Seed torch's generators by a tuple of numbers, such as (seed, step).

    A training that reseeds at every step needs no generator state in its checkpoints: the dropout of step s is
    the same whether the run came there in one go or after a restart.
    """
    state = 0
    for number in numbers:
        state = (state * 6364136223846793005 + number + 1442695040888963407) % 2**63
    torch.manual_seed(state)


def keep_freed_memory() -> bool:
    """Let the C library keep what tensors on the CPU leave for the next ones; whether it could be told so.

    Blocks of some megabytes, of which a training step takes hundreds, glibc otherwise asks of the system one by one
    and gives back at once, and the system clears every page anew. For the whole process; elsewhere nothing happens.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    kept = all(library.mallopt(option, value) for option, value in _KEEP_FREED_MEMORY)
    if kept:
        _ask_for_huge_pages(library)
    return kept


def _ask_for_huge_pages(library: ctypes.CDLL) -> None:
    """Grow the heap once, by addresses and not yet by memory, and let the system back it with pages of 2 MiB.

    Where a processor has to look up the address of each 4 KiB anew, most of all on a virtual machine, operations
    that only pass over memory take up to twice as long. Where the heap cannot grow so far, or the system counts
    addresses as memory (vm.overcommit_memory=2), it stays as it is.
    """
    counted = pathlib.Path("/proc/sys/vm/overcommit_memory")
    if counted.exists() and counted.read_text(encoding="ascii").strip() == "2":
        return
    size = min(_HEAP_BYTES, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    start = library.malloc(size)
    if start:
        first = -(-start // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES
        length = (start + size - first) // _HUGE_PAGE_BYTES * _HUGE_PAGE_BYTES
        library.madvise(first, length, _MADV_HUGEPAGE)
        library.free(start)


def _computes_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported())
    return False
