"""Time, peak memory and versions, alike for every system."""

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

    On a GPU that is what tensors took at most; on a CPU the most that the process held, and what its children hold in
    the end without sharing it (Linux tells; elsewhere it is left out).
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
    with contextlib.suppress(OSError):  # elsewhere than on Linux; proc(5): the peak becomes what is held now
        (_PROCESSES / str(os.getpid()) / "clear_refs").write_text("5", encoding="ascii")


def _peak_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    own = _PROCESSES / str(os.getpid())
    children = _text(own / "task" / own.name / "children").split()
    held = _bytes(own / "status", "VmHWM")
    return held + sum(_bytes(_PROCESSES / number / "smaps_rollup", r"Private_\w+") for number in children) or None


def _bytes(path: Path, name: str) -> int:
    """All that the file says of what is called so."""
    return sum(1024 * int(kilobytes) for kilobytes in re.findall(rf"(?m)^{name}:\s*(\d+) kB", _text(path)))


def _text(path: Path) -> str:
    """What Linux tells there; nothing of a process that has ended, and elsewhere."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
