"""Time, peak memory and versions, measured in the same way for every system."""

import contextlib
import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

_PROCESSES = Path("/proc")


def measured(action: Callable[[], None], device: torch.device) -> dict[str, float]:
    """Seconds of an action, the device's queue included, and the peak of memory meanwhile in bytes.

    On a GPU that is the most that tensors took. On a CPU it is the peak of the process, and what its children have at
    the end without sharing it, so that pages of several processes count once (from Linux's /proc; elsewhere left out).
    """
    _forget_peak(device)
    _synchronise(device)
    start = time.perf_counter()
    action()
    _synchronise(device)
    figures = {"seconds": time.perf_counter() - start}
    peak = _peak_bytes(device)
    return figures if peak is None else {**figures, "peak_bytes": float(peak)}


def versions(*packages: str) -> dict[str, Any]:
    """Python, these packages, the threads that torch uses, and the GPU where there is one."""
    found: dict[str, Any] = {"python": platform.python_version(), "threads": torch.get_num_threads()}
    found |= {package: importlib.metadata.version(package) for package in packages}
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
        found["cuda"] = torch.version.cuda
    return found


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _forget_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return
    with contextlib.suppress(OSError):  # elsewhere than on Linux; proc(5): the peak becomes the current value
        (_PROCESSES / str(os.getpid()) / "clear_refs").write_text("5", encoding="ascii")


def _peak_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    own = _PROCESSES / str(os.getpid())
    children = _text(own / "task" / own.name / "children").split()
    resident = _bytes(own / "status", "VmHWM")
    return resident + sum(_bytes(_PROCESSES / number / "smaps_rollup", r"Private_\w+") for number in children) or None


def _bytes(path: Path, name: str) -> int:
    """The sum of the file's entries of that name."""
    return sum(1024 * int(kilobytes) for kilobytes in re.findall(rf"(?m)^{name}:\s*(\d+) kB", _text(path)))


def _text(path: Path) -> str:
    """The content; nothing of a process that has ended, and elsewhere than on Linux."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
