"""Rows as an encoder alone reads them, each with its class: BOS, a text and EOS, or two texts, each with its EOS.

What is asked for is the first position of a row, which represents all of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from mt.data.batch import Batch, Ids, Pairs, source_tensor
from mt.data.tokenizer import BOS, EOS, Tokenizer


def rows_of_texts(texts: Sequence[Sequence[str]], tokenizer: Tokenizer, *, max_tokens: int) -> list[Ids]:
    """Each text or pair as BOS, text, or BOS, source, EOS, target; `make_row_batch` adds the last EOS.

    Of a longer text its beginning of `max_tokens` counts.
    """
    sides = (tokenizer.encode_many(side, num_threads=-1) for side in zip(*texts, strict=True))
    rows = ([token for ids in row for token in (EOS, *ids[:max_tokens])] for row in zip(*sides, strict=True))
    return [np.array([BOS, *row[1:]], np.int32) for row in rows]


def labelled_rows(rows: Sequence[Ids], classes: Sequence[int]) -> Pairs:
    """Rows as sources, and their classes as targets, each of which counts as one token."""
    pairs = Pairs.listed(rows, [[number] for number in classes])
    return replace(pairs, target_lengths=np.zeros_like(pairs.source_lengths), make_batch=make_row_batch)


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
