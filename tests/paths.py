"""The last line of a test session: which of the ways to compute it tested on this processor."""

import ctypes

import pytest
import torch

from mt.fast.native.library import kernels
from mt.fast.native.tiled_linear import compute_types


def paths() -> str:
    """The instruction set torch chose, whether oneDNN multiplies bf16, and the kernels in C."""
    onednn = "no oneDNN"
    if torch.backends.mkldnn.is_available():
        onednn = f"oneDNN {'with' if torch.ops.mkldnn._is_mkldnn_bf16_supported() else 'without'} bf16"
    mkl = "MKL" if torch.backends.mkl.is_available() else "no MKL"
    library = kernels()
    if library is None:
        native = "no kernels in C: none compiled, so AMX neither used nor emulated"
    else:
        lanes = ctypes.c_int.in_dll(library, "lanes").value
        native = f"kernels in C with {lanes} lanes, AMX {'used' if 'int8x8' in compute_types() else 'emulated'}"
    return f"paths: torch {torch.backends.cpu.get_cpu_capability()}, {mkl}, {onednn}; {native}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it where a reader looks for what passed."""
    terminalreporter.write_line(paths())
