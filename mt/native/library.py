"""The kernels as functions: compiled by the machine's C compiler when they are first asked for, then kept on disk."""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("kernels.c")
_OPTIONS = ("-O3", "-march=native", "-fno-math-errno", "-fPIC", "-shared")
_SECONDS = 60
_POINTER, _NUMBER, _FLAG = ctypes.c_void_p, ctypes.c_long, ctypes.c_int
_ATTEND = [
    *(_POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER, _NUMBER, _NUMBER, _POINTER, _NUMBER, _NUMBER, _POINTER),
    *(_NUMBER, _POINTER, _NUMBER, _NUMBER, _NUMBER, _NUMBER),
]
_NORM = [_POINTER, _POINTER, _POINTER, _POINTER, ctypes.c_float, _POINTER, _NUMBER, _NUMBER]
_SIGNATURES: dict[str, list[Any]] = {
    "attend_float": _ATTEND,
    "attend_bf16": _ATTEND,
    "norm_of_sum_float": _NORM,
    "norm_of_sum_bf16": _NORM,
    "best_extensions": [
        *(_POINTER, _POINTER, _NUMBER, _NUMBER, _NUMBER, _POINTER, _NUMBER, _NUMBER, _POINTER, _NUMBER),
        *(_POINTER, _POINTER),
    ],
    "tiles_permitted": [],
    "decoder_layers": [
        *(_POINTER, _FLAG, _POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER, _NUMBER, _POINTER),
        *(_NUMBER, _NUMBER, _NUMBER, _NUMBER),
    ],
    "linear_in_tiles": [
        *(_POINTER, _FLAG, _NUMBER, _NUMBER, _POINTER, _POINTER, _POINTER, _FLAG, _POINTER, _FLAG, _NUMBER)
    ],
}


@functools.cache
def kernels() -> Any | None:
    """The compiled functions of kernels.c; None where they cannot be had or MT_NATIVE=0 says not to use them."""
    if os.environ.get("MT_NATIVE") == "0":
        return None
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None
    try:
        library = _loaded(compiler)
    except (OSError, subprocess.SubprocessError):
        return None
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    return library


def _loaded(compiler: str) -> ctypes.CDLL:
    """The library from the user's cache, or compiled into it; where nothing can be kept, compiled for this process."""
    name = f"kernels-{_mark(compiler)}.so"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    kept = Path(os.environ.get("MT_CACHE_DIR") or Path(home) / "mt") / name
    if kept.exists():
        return ctypes.CDLL(str(kept))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / name
        command = [compiler, *_OPTIONS, "-o", str(made), str(_SOURCE), "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603  the machine's compiler
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            beside = kept.with_name(f"{name}.{os.getpid()}")
            shutil.copyfile(made, beside)
            beside.replace(kept)
        except OSError:
            return ctypes.CDLL(str(made))
    return ctypes.CDLL(str(kept))


def _mark(compiler: str) -> str:
    """Differs with the source, the compiler and the processor, for which alone the library is made."""
    processors = Path("/proc/cpuinfo")
    lines = processors.read_text(encoding="utf-8").split("\n") if processors.exists() else []
    processor = sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    parts = (_SOURCE.read_text(encoding="utf-8"), compiler, *_OPTIONS, platform.machine(), *processor)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
