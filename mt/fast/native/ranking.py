"""The best extensions of a beam in C: log-probabilities of the few that matter, without storing all of them."""

import functools
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.fast.native.library import kernels


def can_rank(logits: Float[Tensor, "rows vocabulary"]) -> bool:
    """Whether `ranked_extensions` takes these scores."""
    suitable = logits.dtype == torch.float32 and logits.is_cpu and logits.is_contiguous()
    return suitable and kernels() is not None


def ranked_extensions(
    logits: Float[Tensor, "rows vocabulary"],
    totals: Float[np.ndarray, "sentences beam"],
    count: int,
    *,
    forbidden: Sequence[int],
    eos: int,
    end_only: Bool[Tensor, " rows"] | None,
) -> tuple[Float[np.ndarray, "sentences chosen"], Int[np.ndarray, "sentences chosen"]]:
    """Extend the prefixes of each sentence's beam, which have the log-probabilities `totals`, by every token.

    Return the log-probabilities of the `count` best permitted extensions, best first, and which they are: rank in the
    beam times size of the vocabulary plus token. Of equals the lower rank, then the lower token comes first; where
    there are fewer, the rest is minus infinity and extension 0. `forbidden` tokens, and in the rows of `end_only` all
    but `eos`, are excluded and keep their share of the probability.
    """
    sentences = len(totals)
    starts = np.ascontiguousarray(totals, dtype=np.float32)
    excluded, excluded_at = _as_array(tuple(forbidden))
    values = np.empty((sentences, count), dtype=np.float32)
    extensions = np.empty((sentences, count), dtype=np.int64)
    library = kernels()
    assert library is not None
    scores = (logits.data_ptr(), _address(starts), *totals.shape, logits.shape[1])
    ending = (eos, None if end_only is None else end_only.data_ptr())
    excluding = (excluded_at, len(excluded), *ending)
    library.best_extensions(*scores, *excluding, count, _address(values), _address(extensions))
    return values, extensions


@functools.cache
def _as_array(tokens: tuple[int, ...]) -> tuple[Int[np.ndarray, " tokens"], int]:
    """The tokens as C reads them, and their address."""
    array = np.array(tokens, dtype=np.int64)
    return array, _address(array)


def _address(array: np.ndarray) -> int:
    """Where its numbers are; `ctypes.data` returns it too, in several microseconds."""
    return int(array.__array_interface__["data"][0])
