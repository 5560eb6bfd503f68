"""Section 3.2.3: which positions may be attended, and which position each token has.

In every mask True means *may be attended*. Each token belongs to a segment, the number of its sentence within its
row; padding is segment -1. One rule covers packing and padding: a token may attend to the tokens of its own segment
and, in the decoder, to none after it. A padded row is a row of one segment.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """Where the tokens of a batch are, what each may attend to, and which have no embedding."""

    source_position_ids: Int[Tensor, "#batch source"]
    target_position_ids: Int[Tensor, "#batch target"]
    source_mask: Bool[Tensor, "batch #source source"]
    target_mask: Bool[Tensor, "batch target target"] | None  # None: all
    memory_mask: Bool[Tensor, "batch #target source"]
    source_cut: Bool[Tensor, "batch source"] | None = None  # tokens whose embeddings are zero (training/consistency.py)
    target_cut: Bool[Tensor, "batch target"] | None = None


def padded(source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"], *, pad: int) -> Layout:
    """The layout of rows with one sentence each."""
    mask = padding_mask(source, pad=pad)
    return Layout(
        source_position_ids=torch.arange(source.shape[1], device=source.device)[None],
        target_position_ids=torch.arange(target.shape[1], device=target.device)[None],
        source_mask=mask,
        target_mask=padding_mask(target, pad=pad) & causal_mask(target.shape[1], device=target.device),
        memory_mask=mask,
    )


def packed(source_segments: Int[Tensor, "batch source"], target_segments: Int[Tensor, "batch target"]) -> Layout:
    """The layout of rows with several sentences each, counted alike on both sides.

    Sentences stay apart in self-attention, each target sentence finds its own source, and padding is hidden: the
    result for a sentence is that of a row of its own (`tests/model/test_packing.py`).
    """
    own = segment_mask(target_segments, target_segments)
    return Layout(
        source_position_ids=position_ids(source_segments),
        target_position_ids=position_ids(target_segments),
        source_mask=segment_mask(source_segments, source_segments),
        target_mask=own & causal_mask(target_segments.shape[1], device=target_segments.device),
        memory_mask=segment_mask(target_segments, source_segments),
    )


def joined(layout: Layout) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length length"]]:
    """Position ids and mask of rows that hold their source and then their target, each token seeing no later one.

    A target's positions continue where those of its own source end: after as many as it may attend to.
    """
    own, to_source = layout.target_mask, layout.memory_mask
    assert own is not None
    batch, target, source = *own.shape[:2], to_source.shape[2]
    of_source = layout.source_mask & causal_mask(source, device=own.device)
    above = torch.cat([of_source, own.new_zeros(batch, source, target)], dim=2)
    below = torch.cat([to_source.expand(batch, target, source), own], dim=2)
    both = [layout.source_position_ids.expand(batch, source), layout.target_position_ids + to_source.sum(dim=2)]
    return torch.cat(both, dim=1), torch.cat([above, below], dim=1)


def padding_mask(tokens: Int[Tensor, "batch memory"], *, pad: int) -> Bool[Tensor, "batch 1 memory"]:
    """Let every query see the real tokens of its sentence: `segment_mask` for rows of one segment."""
    return (tokens != pad).unsqueeze(1)


def causal_mask(length: int, *, device: torch.device | None = None) -> Bool[Tensor, "query memory"]:
    """Let position i see positions up to and including i, "to preserve the auto-regressive property"."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def segment_mask(
    query_segments: Int[Tensor, "batch query"], memory_segments: Int[Tensor, "batch memory"]
) -> Bool[Tensor, "batch query memory"]:
    """Let each position see its own sentence.

    Padding asks as if it belonged to the row's last sentence, so that no row of scores is empty (a softmax over
    nothing is not a number); nobody reads the result.
    """
    last = query_segments.amax(dim=1, keepdim=True)
    asking = torch.where(query_segments < 0, last, query_segments)
    return asking.unsqueeze(2) == memory_segments.unsqueeze(1)


def position_ids(segments: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """The position of each token in its sentence, from 0, and 0 for padding; the tokens of a segment are adjacent."""
    position = torch.arange(segments.shape[1], device=segments.device).expand_as(segments)
    begins = torch.ones_like(segments, dtype=torch.bool)
    begins[:, 1:] = segments[:, 1:] != segments[:, :-1]
    return (position - torch.where(begins, position, 0).cummax(dim=1).values).masked_fill(segments < 0, 0)
