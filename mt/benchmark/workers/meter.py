"""Time, peak memory and versions, alike for every contestant."""

import importlib.metadata
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def measured(action: Callable[[], None], device: torch.device) -> dict[str, float]:
    """Seconds of an action, the device's queue included, and the peak of memory meanwhile in bytes.

    On a GPU that is what tensors took at most; on a CPU the most that the process held of the machine's memory
    (Linux tells; elsewhere it is left out).
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
    elif _CLEAR.exists():
        _CLEAR.write_text("5", encoding="ascii")  # proc(5): the peak becomes what is held now


def _peak_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    if not _STATUS.exists():
        return None
    found = re.search(r"VmHWM:\s*(\d+) kB", _STATUS.read_text(encoding="ascii"))
    return int(found[1]) * 1024 if found else None
