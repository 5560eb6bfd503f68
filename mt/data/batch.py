"""Pairs of encoded sentences, and batches of them: padded or packed tensors, the target shifted for the decoder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

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

    def __getstate__(self) -> dict[str, Any]:
        """With arrays, of which a pickle has only what a view shows."""
        return {name: value.numpy() if isinstance(value, Tensor) else value for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = {name: torch.from_numpy(value) for name, value in state.items() if isinstance(value, np.ndarray)}
        vars(self).update(state | arrays)

    @classmethod
    def of(
        cls,
        source: Int[Tensor, "batch source"],
        target_input: Int[Tensor, "batch target"],
        target_output: Int[Tensor, "batch target"],
    ) -> "Batch":
        """The batch of these tensors, of which all but padding is real."""
        label_indices = target_output.flatten().nonzero().flatten()
        return cls(
            source=source,
            target_input=target_input,
            target_output=target_output,
            label_indices=label_indices,
            source_tokens=int(source.count_nonzero()),
            target_tokens=len(label_indices),
        )

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device, copied without waiting where the memory is pinned."""
        return self.with_tensors(lambda tensor: tensor.to(device, non_blocking=True))

    def without_targets(self) -> "Batch":
        """The same shapes with nothing to learn: its loss and its gradient are zero."""
        return Batch(**vars(self) | {"label_indices": self.label_indices[:0], "source_tokens": 0, "target_tokens": 0})

    def pinned(self) -> "Batch":
        """The same batch in page-locked memory, from which a GPU copies by itself."""
        return self.with_tensors(Tensor.pin_memory)

    def with_tensors(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """The same batch with each of its tensors changed."""
        changed = {name: change(value) for name, value in vars(self).items() if isinstance(value, Tensor)}
        return Batch(**vars(self) | changed)


def source_tensor(sentences: Sequence[Ids]) -> Int[Tensor, "batch source"]:
    """Sentences as subwords + EOS, padded on the right to the longest."""
    table = padded(sentences, room=1)
    for row, sentence in zip(table, sentences, strict=True):
        row[len(sentence)] = EOS
    return torch.from_numpy(table)


def padded(rows: Sequence[Ids], *, room: int = 0) -> Int[np.ndarray, "rows longest"]:
    """Rows of ids as a table, padded on the right to the longest and `room` more."""
    table = np.full((len(rows), max(map(len, rows), default=0) + room), PAD, dtype=np.int64)
    for padded_row, row in zip(table, rows, strict=True):
        padded_row[: len(row)] = row
    return table


def make_batch(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Pairs of sentences as one batch; token counts include the EOS."""
    return _batch(source_tensor(sources), source_tensor(targets))


def make_packed_batch(packed_rows: Sequence[Sequence[tuple[Ids, Ids]]], *, pack_length: int, rows: int) -> Batch:
    """Packed rows of pairs as one batch, each `pack_length` long on either side, with empty ones up to `rows`."""
    tokens = np.full((2, rows, pack_length), PAD, dtype=np.int64)
    segments = np.full_like(tokens, -1)
    for row, pairs in enumerate(packed_rows):
        for side, sentences in enumerate(zip(*pairs, strict=True)):
            end = 0
            for number, sentence in enumerate(sentences):
                start, end = end, end + len(sentence) + 1
                tokens[side, row, start : end - 1] = sentence
                tokens[side, row, end - 1] = EOS
                segments[side, row, start:end] = number
    source_segments, target_segments = torch.from_numpy(segments)
    batch = _batch(*torch.from_numpy(tokens))
    return replace(batch, source_segments=source_segments, target_segments=target_segments)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Encoded pairs: by their index the subword ids of each side, the lengths of all, and what makes batches of them.

    Ids and lengths are without BOS and EOS.
    """

    source: Callable[[int], Ids]
    target: Callable[[int], Ids]
    source_lengths: Int[np.ndarray, " pairs"]
    target_lengths: Int[np.ndarray, " pairs"]
    make_batch: Callable[[Sequence[Ids], Sequence[Ids]], Batch] = make_batch
    dropped_too_long: int = 0

    @classmethod
    def listed(cls, sources: Sequence[Ids], targets: Sequence[Ids]) -> "Pairs":
        """Pairs in memory."""
        of_sources, of_targets = (np.array([len(ids) for ids in side], np.int32) for side in (sources, targets))
        return cls(sources.__getitem__, targets.__getitem__, of_sources, of_targets)

    def token_lengths(self) -> Int[np.ndarray, "side pairs"]:
        """The lengths of both sides in tokens, with the EOS."""
        return np.stack((self.source_lengths, self.target_lengths)) + 1

    def batch(self, indices: Int[np.ndarray, "_"]) -> Batch:
        """These pairs as one batch."""
        return self.make_batch([self.source(int(i)) for i in indices], [self.target(int(i)) for i in indices])


def _batch(source: Int[Tensor, "batch source"], target_output: Int[Tensor, "batch target"]) -> Batch:
    """Before each token comes the one before it, before the first of a sentence BOS."""
    before = functional.pad(target_output, (1, -1), value=EOS)
    target_input = before.masked_fill(before == EOS, BOS).masked_fill(target_output == PAD, PAD)
    return Batch.of(source, target_input, target_output)
