"""torch.compile, one layer at a time: all layers of a stack share one program, so that compiling takes seconds.

Batches of packed rows keep one shape (`mt/data/batching.py`), so a program compiled for it is never compiled again.
Validation has batches of any shape and runs uncompiled (`Trainer`).
"""

import importlib.util
import os
import shutil
import sysconfig
from pathlib import Path

import torch

from mt.model.decoder_only import AnyTransformer
from mt.model.stacks import Stack


def can_compile_for_gpu() -> bool:
    """Whether what torch.compile needs for a GPU is there: Triton, and what builds its launchers in C; no old GPU."""
    compilers = [os.environ["CC"]] if os.environ.get("CC") else ["gcc", "clang"]
    builds = any(map(shutil.which, compilers)) and Path(sysconfig.get_path("include"), "Python.h").exists()
    return builds and importlib.util.find_spec("triton") is not None and torch.cuda.get_device_capability() >= (7, 0)


def compile_layers(model: AnyTransformer, *, static_shapes: bool, backend: str = "inductor") -> None:
    """Let torch compile each encoder and decoder layer at its first use; parameters keep their names."""
    for layer in [layer for stack in model.modules() if isinstance(stack, Stack) for layer in stack.layers]:
        layer.compile(dynamic=not static_shapes, backend=backend)
