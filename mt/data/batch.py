"""A batch: sentence pairs as padded or packed tensors, with the target shifted as the decoder needs it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from mt.data.tokenizer import BOS, EOS, PAD

Ids = np.ndarray | Sequence[int]  # the subword ids of a sentence, without BOS and EOS


@dataclass
class Batch:
    """What one forward pass reads. Source = subwords + EOS; input = BOS + subwords; output = subwords + EOS.

    `label_indices` are the indices of the real target tokens in the flattened `target_output`; computed here, so that
    nobody waits for the device to find them. A packed batch has several sentences in a row; its segments say to
    which sentence of the row each token belongs, -1 for padding (`mt/data/batching.py`).
    """

    source: Int[Tensor, "batch source"]
    target_input: Int[Tensor, "batch target"]
    target_output: Int[Tensor, "batch target"]
    label_indices: Int[Tensor, " target_tokens"]
    source_tokens: int
    target_tokens: int
    source_segments: Int[Tensor, "batch source"] | None = None
    target_segments: Int[Tensor, "batch target"] | None = None

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device, copied without waiting where the memory is pinned."""
        return self._with_tensors(lambda tensor: tensor.to(device, non_blocking=True))

    def without_targets(self) -> "Batch":
        """The same shapes with nothing to learn: its loss and its gradient are zero."""
        return Batch(**vars(self) | {"label_indices": self.label_indices[:0], "source_tokens": 0, "target_tokens": 0})

    def doubled(self) -> "Batch":
        """Every row twice, the second copies after all the first: two passes of a model in one."""
        twice = self._with_tensors(lambda tensor: torch.cat([tensor, tensor]))
        second = self.label_indices + self.target_output.numel()
        return replace(
            twice,
            label_indices=torch.cat([self.label_indices, second]),
            source_tokens=2 * self.source_tokens,
            target_tokens=2 * self.target_tokens,
        )

    def pinned(self) -> "Batch":
        """The same batch in page-locked memory, from which a GPU copies by itself."""
        return self._with_tensors(Tensor.pin_memory)

    def _with_tensors(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        changed = {name: change(value) for name, value in vars(self).items() if isinstance(value, Tensor)}
        return Batch(**vars(self) | changed)


def source_tensor(sentences: Sequence[Ids]) -> Int[Tensor, "batch source"]:
    """Sentences as subwords + EOS, padded on the right to the longest."""
    return _padded(sentences, after=EOS)


def make_batch(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Pairs of sentences as one batch; token counts include the EOS."""
    target_output = _padded(targets, after=EOS)
    return Batch(
        source=source_tensor(sources),
        target_input=_padded(targets, before=BOS),
        target_output=target_output,
        label_indices=target_output.flatten().nonzero().flatten(),
        source_tokens=sum(len(source) + 1 for source in sources),
        target_tokens=sum(len(target) + 1 for target in targets),
    )


def make_packed_batch(packed_rows: Sequence[Sequence[tuple[Ids, Ids]]], *, pack_length: int, rows: int) -> Batch:
    """Packed rows of pairs as one batch, each `pack_length` long on either side, with empty ones up to `rows`."""
    tables = {side: np.full((rows, pack_length), PAD, dtype=np.int64) for side in ("source", "input", "output")}
    segments = {side: np.full((rows, pack_length), -1, dtype=np.int64) for side in ("source", "target")}
    for row, pairs in enumerate(packed_rows):
        source_end = target_end = 0
        for number, (source, target) in enumerate(pairs):
            start, source_end = source_end, source_end + len(source) + 1
            tables["source"][row, start : source_end - 1] = source
            tables["source"][row, source_end - 1] = EOS
            segments["source"][row, start:source_end] = number
            start, target_end = target_end, target_end + len(target) + 1
            tables["input"][row, start] = BOS
            tables["input"][row, start + 1 : target_end] = target
            tables["output"][row, start : target_end - 1] = target
            tables["output"][row, target_end - 1] = EOS
            segments["target"][row, start:target_end] = number
    label_indices = np.flatnonzero(tables["output"] != PAD)
    return Batch(
        source=torch.from_numpy(tables["source"]),
        target_input=torch.from_numpy(tables["input"]),
        target_output=torch.from_numpy(tables["output"]),
        label_indices=torch.from_numpy(label_indices),
        source_tokens=int((tables["source"] != PAD).sum()),
        target_tokens=len(label_indices),
        source_segments=torch.from_numpy(segments["source"]),
        target_segments=torch.from_numpy(segments["target"]),
    )


def _padded(
    sentences: Sequence[Ids], *, before: int | None = None, after: int | None = None
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
