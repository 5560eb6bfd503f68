"""torch.compile, one layer at a time: all layers of a stack share one program, so that compiling takes seconds.

Batches of packed rows keep one shape (`mt/data/batching.py`), so a program compiled for it is never compiled again.
Validation has batches of any shape and runs uncompiled (`Trainer`).
"""

import importlib.util
import os
import shutil

from mt.model.decoder_only import AnyTransformer
from mt.model.stacks import Stack


def can_compile_for_gpu() -> bool:
    """Whether what torch.compile needs for a GPU is there: Triton, and the C compiler that builds its launchers."""
    has_compiler = "CC" in os.environ or any(map(shutil.which, ("gcc", "clang")))
    return has_compiler and importlib.util.find_spec("triton") is not None


def compile_layers(model: AnyTransformer, *, static_shapes: bool, backend: str = "inductor") -> None:
    """Let torch compile each encoder and decoder layer at its first use; parameters keep their names."""
    for layer in [layer for stack in model.modules() if isinstance(stack, Stack) for layer in stack.layers]:
        layer.compile(dynamic=not static_shapes, backend=backend)
