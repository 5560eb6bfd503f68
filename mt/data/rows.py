"""Rows as an encoder alone reads them, each with its class: BOS, a text and EOS, or two texts, each with its EOS.

What is asked for is the first position of a row, which represents all of it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int, Integer

from mt.data.batch import Batch, Ids, source_tensor
from mt.data.tokenizer import BOS, EOS, Tokenizer

Row = Integer[np.ndarray, " subwords"]


def rows_of_texts(texts: Sequence[Sequence[str]], tokenizer: Tokenizer, *, max_tokens: int) -> list[Ids]:
    """Each text or pair as BOS, text, or BOS, source, EOS, target; `make_row_batch` adds the last EOS.

    Of a longer text its beginning of `max_tokens` counts.
    """
    sides = (tokenizer.encode_many(side, num_threads=-1) for side in zip(*texts, strict=True))
    rows = ([token for ids in row for token in (EOS, *ids[:max_tokens])] for row in zip(*sides, strict=True))
    return [np.array([BOS, *row[1:]], np.int32) for row in rows]


class LabelledRows:
    """Rows and their classes as sources and targets of `Pairs`: a row counts its subwords, a class is one token."""

    dropped_too_long = 0

    def __init__(self, rows: Sequence[Ids], classes: Sequence[int]) -> None:
        self._rows, self._classes = rows, np.array(classes, dtype=np.int32)
        self.source_lengths: Int[np.ndarray, " rows"] = np.array([len(row) for row in rows], dtype=np.int32)
        self.target_lengths: Int[np.ndarray, " rows"] = np.zeros_like(self.source_lengths)

    def source(self, index: int) -> Row:
        """A row."""
        return np.asarray(self._rows[index])

    def target(self, index: int) -> Row:
        """Its class."""
        return self._classes[index : index + 1]


def make_row_batch(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Rows and their classes as one batch; of a longer target the first element counts, and none is class 0."""
    rows = source_tensor(sources)
    classes = torch.tensor([[int(target[0]) if len(target) else 0] for target in targets])
    return Batch(
        source=rows,
        target_input=torch.zeros_like(classes),
        target_output=classes,
        label_indices=torch.arange(len(classes)),
        source_tokens=int(rows.count_nonzero()),
        target_tokens=len(classes),
    )
