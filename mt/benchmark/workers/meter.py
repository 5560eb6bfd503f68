"""Time, peak memory and versions, alike for every contestant."""

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

    On a GPU that is what tensors took at most; on a CPU the most that the process and its children held, each counted
    whole although they share some (Linux tells; elsewhere it is left out).
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
    for process in _processes():
        (process / "clear_refs").write_text("5", encoding="ascii")  # proc(5): the peak becomes what is held now


def _peak_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    statuses = [(process / "status").read_text(encoding="ascii") for process in _processes()]
    peaks = [re.search(r"VmHWM:\s*(\d+) kB", status) for status in statuses]
    return sum(int(peak[1]) * 1024 for peak in peaks if peak) or None


def _processes() -> list[Path]:
    """The folders in which Linux tells of this process and of those that it has made."""
    own = _PROCESSES / str(os.getpid())
    children = own / "task" / str(os.getpid()) / "children"
    if not own.exists():
        return []
    return [own, *(_PROCESSES / number for number in _words(children))]


def _words(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split() if path.exists() else []
