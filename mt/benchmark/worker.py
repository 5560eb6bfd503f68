"""A system's side of a contest: one JSON request a line in, one answer a line out, all measured alike."""

import contextlib
import importlib.metadata
import json
import os
import platform
import re
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

_PROCESSES = Path("/proc")

Request = dict[str, Any]
Answer = dict[str, Any]
Handler = Callable[[Request], Answer]


def serve(prepare: Callable[[Request], tuple[Answer, Handler]]) -> None:
    """Answer requests until standard input ends.

    The first request describes the task: `prepare` answers it and returns the function for all later ones. What
    libraries print goes to standard error, so that standard output has only answers. A request that fails is
    answered by `{"error": "..."}` with its traceback on standard error; a task that fails ends the process.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    handle: Handler | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if handle is None:
                answer, handle = prepare(request)
            else:
                answer = handle(request)
        except Exception as error:  # noqa: BLE001  the contest goes on without this entry
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if handle is None:
            return


def task_device(task: Request) -> torch.device:
    """The device of a task; a GPU multiplies fp32 numbers as TF32 for every system, as `mt.runtime` lets it."""
    device = torch.device(task["device"])
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    return device


def measured(action: Callable[[], None], device: torch.device) -> dict[str, float]:
    """Seconds of an action, the device's queue included, and the peak of memory meanwhile in bytes.

    On a GPU that is the most that tensors took. On a CPU it is the peak of the process, and what its children have at
    the end without sharing it, so that pages of several processes count once (from Linux's /proc; elsewhere 0).
    """
    own = _PROCESSES / str(os.getpid())
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
    else:
        with contextlib.suppress(OSError):  # proc(5): the peak becomes the current value
            (own / "clear_refs").write_text("5", encoding="ascii")
    start = time.perf_counter()
    action()
    if device.type == "cuda":
        torch.cuda.synchronize()
        return {"seconds": time.perf_counter() - start, "peak_bytes": float(torch.cuda.max_memory_allocated())}
    seconds = time.perf_counter() - start
    children = _text(own / "task" / own.name / "children").split()
    private = sum(_bytes(_PROCESSES / number / "smaps_rollup", r"Private_\w+") for number in children)
    return {"seconds": seconds, "peak_bytes": float(_bytes(own / "status", "VmHWM") + private)}


def versions(*packages: str) -> dict[str, Any]:
    """Python, these packages, the threads that torch uses, and the GPU where there is one."""
    found: dict[str, Any] = {"python": platform.python_version(), "threads": torch.get_num_threads()}
    found |= {package: importlib.metadata.version(package) for package in packages}
    if torch.cuda.is_available():
        found |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
    return found


def _bytes(path: Path, name: str) -> int:
    """The sum of the file's entries of that name."""
    return sum(1024 * int(kilobytes) for kilobytes in re.findall(rf"(?m)^{name}:\s*(\d+) kB", _text(path)))


def _text(path: Path) -> str:
    """The content; nothing of a process that has ended, and elsewhere than on Linux."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
