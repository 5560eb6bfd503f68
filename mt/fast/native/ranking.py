"""The best extensions of a beam in C: log-probabilities of the few that matter, without storing all of them."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.fast.native.library import kernels
from mt.search.candidates import best_extensions


def ranked_extensions(
    logits: Float[Tensor, "rows vocabulary"],
    totals: Float[np.ndarray, "sentences beam"],
    count: int,
    *,
    forbidden: Sequence[int],
    eos: int,
    end_only: Bool[Tensor, " rows"] | None,
) -> tuple[Float[np.ndarray, "sentences chosen"], Int[np.ndarray, "sentences chosen"]]:
    """Rank extensions as `best_extensions` does: by the kernel where it takes the scores, else by the plain form.

    Where the kernel finds fewer extensions than `count`, it fills up with minus infinity and extension 0.
    """
    library = kernels()
    if library is None or not (logits.dtype == torch.float32 and logits.is_cpu and logits.stride(1) == 1):
        return best_extensions(logits, totals, count, forbidden=forbidden, eos=eos, end_only=end_only)
    sentences = len(totals)
    starts = np.ascontiguousarray(totals, dtype=np.float32)
    excluded = (ctypes.c_int64 * len(forbidden))(*forbidden)
    values = np.empty((sentences, count), dtype=np.float32)
    extensions = np.empty((sentences, count), dtype=np.int64)
    arrays: tuple[Any, ...] = (starts, values, extensions)
    first = [ctypes.byref(ctypes.c_char.from_buffer(each)) for each in arrays]  # sooner than ndarray.ctypes
    scores = (logits.data_ptr(), logits.stride(0), first[0], *totals.shape, logits.shape[1])
    excluding = (excluded, len(excluded), eos, None if end_only is None else end_only.data_ptr())
    library.best_extensions(*scores, *excluding, count, *first[1:])
    return values, extensions
