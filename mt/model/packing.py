"""Several sentences in one row: the model over packed tiles, by one rule in place of three.

Each position knows the number of its sentence within the row, its *segment*, counted alike on both sides; padding is
segment -1. A position may attend to the positions of its own segment and, in the decoder, to none that lies
ahead. That keeps sentences apart in self-attention, leads each target sentence to its own source, and hides
padding. Positions count from 0 in every sentence. The result is that of the padded form
(`tests/model/test_packing.py`), in rows that are nearly full.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.model.masks import causal_mask
from mt.model.transformer import Transformer


def packed_hidden(
    model: Transformer,
    source: Int[Tensor, "batch source"],
    target: Int[Tensor, "batch target"],
    source_segments: Int[Tensor, "batch source"],
    target_segments: Int[Tensor, "batch target"],
) -> Float[Tensor, "batch target d_model"]:
    """What `Transformer.hidden` gives for the same sentences in rows of their own."""
    memory = model.encode(
        source, segment_mask(source_segments, source_segments), places=places_in_segments(source_segments)
    )
    return model.decode(
        target,
        memory,
        segment_mask(target_segments, target_segments) & causal_mask(target.shape[1], device=target.device),
        segment_mask(target_segments, source_segments),
        places=places_in_segments(target_segments),
    )


def segment_mask(
    query_segments: Int[Tensor, "batch query"], memory_segments: Int[Tensor, "batch memory"]
) -> Bool[Tensor, "batch query memory"]:
    """Let each position see its own sentence.

    Padding asks as if it belonged to the row's last sentence, so that no row of scores is empty (a softmax over
    nothing is not a number); nobody reads what comes of it.
    """
    last = query_segments.amax(dim=1, keepdim=True)
    asking = torch.where(query_segments < 0, last, query_segments)
    return asking.unsqueeze(2) == memory_segments.unsqueeze(1)


def places_in_segments(segments: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """The position of each token in its sentence, from 0; a segment's tokens lie side by side."""
    place = torch.arange(segments.shape[1], device=segments.device).expand_as(segments)
    begins = torch.ones_like(segments, dtype=torch.bool)
    begins[:, 1:] = segments[:, 1:] != segments[:, :-1]
    return place - torch.where(begins, place, 0).cummax(dim=1).values
