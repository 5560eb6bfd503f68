"""Every kernel under the compiler's sanitizers: no number is read or written outside what was given."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mt.fast.native.library import kernels

HERE = Path(__file__).parent
EMULATED = f"-include {shlex.quote(str(HERE / 'emulated_tiles.h'))}"
COMPILER = os.environ.get("CC", "cc")
SANITIZED = "-fsanitize=address,undefined -fno-sanitize-recover=all"


def sanitizer() -> str:
    """The sanitizer's own library, which has to be loaded before Python's; empty where there is none."""
    asked = subprocess.run([*shlex.split(COMPILER), "-print-file-name=libasan.so"], capture_output=True, check=False)
    found = asked.stdout.decode().strip()
    return found if Path(found).is_absolute() else ""


@pytest.mark.long
@pytest.mark.skipif(kernels() is None, reason="no C compiler here")
@pytest.mark.parametrize(
    ("options", "tests"),
    [
        (EMULATED, "attention or norm or ranking or nan or tiles or products or limbs"),
        ("-DLANES=8", "attention or norm or ranking or nan or tiles or products or makes_kernels"),
    ],
    ids=["tiles", "vectors of 8"],
)
def test_the_kernels_under_sanitizers(options: str, tests: str, tmp_path: Path) -> None:
    """The tests of the kernels again, with AMX emulated, and with vectors as processors without AVX-512 have them."""
    library = sanitizer()
    if not library:
        pytest.skip(f"{COMPILER} has no address sanitizer")
    settings = {"CC": f"{COMPILER} {options} {SANITIZED}", "MT_KERNELS_DIR": str(tmp_path), "LD_PRELOAD": library}
    settings |= {"ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": str(HERE.parents[1])}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n0",
        "-p",
        "no:cacheprovider",
        str(HERE / "test_native.py"),
        "-k",
        tests,
    ]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert len(list(tmp_path.glob("*.so"))) == 1  # which is what was tested
