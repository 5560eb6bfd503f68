"""The kernels as functions: compiled by the machine's C compiler at their first use, then cached on disk."""

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))
_EXACT = ("-fno-fast-math", "-fno-unsafe-math-optimizations", "-fno-finite-math-only")  # also where CC asks for them
_OPTIONS = ("-O3", "-march=native", "-fPIC", "-shared", *_EXACT, "-fno-math-errno")
_SECONDS = 60
_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_long
_TYPES = {"p": _POINTER, "n": _NUMBER, "i": ctypes.c_int, "f": ctypes.c_float}
_SIGNATURES = {  # a letter of _TYPES for each argument
    **dict.fromkeys(("attend_float", "attend_bf16"), "pnppnnnpnnpnpnnnn"),
    **dict.fromkeys(("norm_of_sum_float", "norm_of_sum_bf16"), "ppppfpnn"),
    "best_extensions": "pnpnnnpnnpnpp",
    "tiles_permitted": "",
    "types_multiplied": "",
    "decoder_layers": "pipnppnnpnnnn",
    "linear_in_tiles": "pinpipi",
    "structures_have_sizes": "p",
}


class Linear(ctypes.Structure):
    """`struct linear` of kernels.h."""

    _fields_ = (
        *((name, _POINTER) for name in ("weight", "scales", "bias", "sums")),
        *((name, _NUMBER) for name in ("inner", "columns", "limbs")),
    )


class Norm(ctypes.Structure):
    """`struct norm` of layers.c."""

    _fields_ = (("gain", _POINTER), ("bias", _POINTER), ("epsilon", ctypes.c_double))


class Cache(ctypes.Structure):
    """`struct cache` of layers.c."""

    _fields_ = (
        ("start", _POINTER),
        *((f"{name}_stride", _NUMBER) for name in ("layer", "value", "slot", "head", "entry")),
        ("counts", _POINTER),
    )


class DecoderLayer(ctypes.Structure):
    """`struct decoder_layer` of layers.c."""

    _fields_ = (*((f"linear_{i}", Linear) for i in range(6)), *((f"norm_{i}", Norm) for i in range(3)))


_STRUCTURES = (Linear, Norm, Cache, DecoderLayer)


@functools.cache
def kernels() -> Any | None:
    """The compiled functions; None where MT_NATIVE=0 asks not to use them.

    None also where they cannot be built or loaded, which one line on standard error reports.
    """
    if os.environ.get("MT_NATIVE") == "0":
        return None
    try:
        return _loaded(os.environ.get("CC", "cc"))
    except (OSError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:  # also without a home folder
        reason = f"compiled kernels are not available ({error}); torch's operations are used, more slowly"
        print(reason, file=sys.stderr, flush=True)
        return None


def _loaded(compiler: str) -> ctypes.CDLL:
    """The library from the user's cache, or compiled into it; if it cannot be cached, compiled for this process.

    Its name ends in a digest of its bytes: loading a damaged one would end the process. A folder or a file that others
    may write is not used, because a library runs code when it is loaded. Raises OSError, RuntimeError, ValueError or
    TimeoutExpired.
    """
    command = shlex.split(compiler)
    if not command or shutil.which(command[0]) is None:
        raise OSError(f"no C compiler {compiler!r}; install one, or name it in CC")
    name = f"kernels-{_mark(command)}"
    chosen, caches = (os.environ.get(name) for name in ("MT_KERNELS_DIR", "XDG_CACHE_HOME"))
    cache = Path(chosen or Path(caches or Path.home() / ".cache") / "mt" / "kernels")
    with contextlib.suppress(OSError):  # the disk is full, or the folder above is read-only
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = _is_private(cache)
    if os.path.exists(cache) and not private:  # noqa: PTH110  Path.exists raises where a folder may not be entered
        cure = "make it yours with mode 700, or name another in MT_KERNELS_DIR"
        print(f"{cache}: open to others, so kernels are compiled for this process only; {cure}", file=sys.stderr)
    for cached in sorted(cache.glob(f"{name}-*.so")) if private else ():
        with contextlib.suppress(OSError):
            if _is_private(cached) and cached.stem == f"{name}-{_digest(cached.read_bytes())}":
                return _opened(cached)
    if private:
        with contextlib.suppress(OSError):  # the disk is full
            return _built(command, name, cache)
    return _built(command, name, None)


def _built(command: Sequence[str], name: str, cache: Path | None) -> ctypes.CDLL:
    """The library, compiled in the folder where it stays, or without one in /tmp, from which some systems load nothing.

    Raises OSError or TimeoutExpired.
    """
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        built = Path(folder) / "kernels.so"
        sources = [str(path) for path in _SOURCES if path.suffix == ".c"]
        done = _ran([*command, *_OPTIONS, "-o", str(built), *sources, "-lm"])
        if done.returncode:
            first_line = done.stderr.decode(errors="replace").strip().partition("\n")[0]
            raise OSError(f"{command[0]} failed: {first_line or done.returncode}")
        library = _opened(built)
        if cache is not None:
            built.chmod(0o700)
            built.replace(cache / f"{name}-{_digest(built.read_bytes())}.so")
        return library


def _ran(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, check=False, capture_output=True, timeout=_SECONDS)  # noqa: S603  the machine's


def _is_private(path: Path) -> bool:
    """Whether it is the user's own folder or file, no link, and closed to others."""
    try:
        found = path.lstat()
    except OSError:
        return False
    own = found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return own and (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode))


def _opened(path: Path) -> ctypes.CDLL:
    """The library with its functions' arguments declared. Raises OSError if a function or a structure differs."""
    library = ctypes.CDLL(str(path))
    for name, arguments in _SIGNATURES.items():
        if not hasattr(library, name):
            raise OSError(f"{path} has no {name}")
        getattr(library, name).argtypes = [_TYPES[letter] for letter in arguments]
    sizes = (_NUMBER * len(_STRUCTURES))(*map(ctypes.sizeof, _STRUCTURES))
    if not library.structures_have_sizes(sizes):
        raise OSError(f"{path} has structures of other sizes")
    return library


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _mark(command: Sequence[str]) -> str:
    """Differs with the source, the compiler, its version and the processor, for which alone the library is built."""
    processors = Path("/proc/cpuinfo")
    lines = processors.read_text(encoding="utf-8").split("\n") if processors.exists() else []
    processor = sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    sources = (path.read_text(encoding="utf-8") for path in _SOURCES)
    machine = (platform.machine(), *platform.libc_ver(), *processor)
    return _digest("\n".join((*sources, *command, *_OPTIONS, *machine)).encode() + _ran([*command, "--version"]).stdout)
