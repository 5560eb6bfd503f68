"""The kernels as functions: compiled by the machine's C compiler when they are first asked for, then kept on disk."""

import contextlib
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

_SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))
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
    "encoder_layers": [_POINTER, _FLAG, _POINTER, _NUMBER, _POINTER, _NUMBER, _NUMBER, _NUMBER, _NUMBER],
    "decoder_layers": [
        *(_POINTER, _FLAG, _POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER, _NUMBER, _POINTER),
        *(_NUMBER, _NUMBER, _NUMBER, _NUMBER),
    ],
    "linear_in_tiles": [_POINTER, _FLAG, _NUMBER, _POINTER, _FLAG, _POINTER, _FLAG],
}


@functools.cache
def kernels() -> Any | None:
    """The compiled functions; None where they cannot be had or MT_NATIVE=0 says not to use them."""
    if os.environ.get("MT_NATIVE") == "0":
        return None
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None
    try:
        return _loaded(compiler)
    except (OSError, RuntimeError, subprocess.SubprocessError):  # also where nobody knows a home folder
        return None


def _loaded(compiler: str) -> ctypes.CDLL:
    """The library from the user's cache, or compiled into it; where nothing can be kept, compiled for this process.

    Its name ends in a digest of its bytes: loading a damaged one would end the process.
    """
    name = f"kernels-{_mark(compiler)}"
    cache = _cache_folder()
    for kept in sorted(cache.glob(f"{name}-*.so")):
        with contextlib.suppress(OSError):
            if kept.stem == f"{name}-{_digest(kept.read_bytes())}":
                return _opened(kept)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "kernels.so"
        sources = [str(path) for path in _SOURCES if path.suffix == ".c"]
        command = [compiler, *_OPTIONS, "-o", str(made), *sources, "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603  the machine's compiler
        library = _opened(made)
        with contextlib.suppress(OSError):  # no room, or nobody may write there
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=cache) as beside:
                Path(shutil.copy(made, beside)).replace(cache / f"{name}-{_digest(made.read_bytes())}.so")
        return library


def _opened(path: Path) -> ctypes.CDLL:
    """The library with its functions' arguments declared. Raises OSError where one is missing."""
    library = ctypes.CDLL(str(path))
    for name, arguments in _SIGNATURES.items():
        if not hasattr(library, name):
            raise OSError(f"{path} has no {name}")
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    return library


def _cache_folder() -> Path:
    chosen, caches = os.environ.get("MT_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    return Path(chosen) if chosen else Path(caches or Path("~/.cache").expanduser()) / "mt"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _mark(compiler: str) -> str:
    """Differs with the source, the compiler and the processor, for which alone the library is made."""
    processors = Path("/proc/cpuinfo")
    lines = processors.read_text(encoding="utf-8").split("\n") if processors.exists() else []
    processor = sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    parts = (
        *(path.read_text(encoding="utf-8") for path in _SOURCES),
        compiler,
        *_OPTIONS,
        platform.machine(),
        *platform.libc_ver(),
        *processor,
    )
    return _digest("\n".join(parts).encode())
