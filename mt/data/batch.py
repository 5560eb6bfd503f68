"""A batch: sentence pairs as padded tensors, with the target shifted as the decoder needs it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from mt.data.tokenizer import BOS, EOS, PAD


@dataclass
class Batch:
    """What one forward pass reads. Source = pieces + EOS; input = BOS + pieces; output = pieces + EOS."""

    source: Int[Tensor, "batch source"]
    target_input: Int[Tensor, "batch target"]
    target_output: Int[Tensor, "batch target"]
    source_tokens: int
    target_tokens: int

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device, copied without waiting where the memory is pinned."""
        return self._with_tensors(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> "Batch":
        """The same batch in page-locked memory, from which a GPU copies by itself."""
        return self._with_tensors(Tensor.pin_memory)

    def _with_tensors(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        return replace(
            self,
            source=change(self.source),
            target_input=change(self.target_input),
            target_output=change(self.target_output),
        )


def source_tensor(sentences: Sequence[np.ndarray | Sequence[int]]) -> Int[Tensor, "batch source"]:
    """Sentences as pieces + EOS, padded on the right to the longest."""
    return _padded(sentences, after=EOS)


def make_batch(sources: Sequence[np.ndarray | Sequence[int]], targets: Sequence[np.ndarray | Sequence[int]]) -> Batch:
    """Pairs of piece ids as one batch; lengths count the EOS."""
    return Batch(
        source=source_tensor(sources),
        target_input=_padded(targets, before=BOS),
        target_output=_padded(targets, after=EOS),
        source_tokens=sum(len(source) + 1 for source in sources),
        target_tokens=sum(len(target) + 1 for target in targets),
    )


def _padded(
    sentences: Sequence[np.ndarray | Sequence[int]], *, before: int | None = None, after: int | None = None
) -> Int[Tensor, "batch length"]:
    start = 0 if before is None else 1
    longest = max((len(sentence) for sentence in sentences), default=0)
    table = np.full((len(sentences), longest + 1), PAD, dtype=np.int64)
    if before is not None:
        table[:, 0] = before
    for row, sentence in zip(table, sentences, strict=True):
        row[start : start + len(sentence)] = sentence
        if after is not None:
            row[len(sentence)] = after
    return torch.from_numpy(table)
