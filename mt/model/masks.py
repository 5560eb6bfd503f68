"""Section 3.2.3: which positions may be attended. In every mask True means *may be attended*."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(tokens: Int[Tensor, "batch memory"], *, pad: int) -> Bool[Tensor, "batch 1 memory"]:
    """Let every query see the real tokens of its own sentence and never the padding."""
    return (tokens != pad).unsqueeze(1)


def causal_mask(length: int, *, device: torch.device | None = None) -> Bool[Tensor, "query memory"]:
    """Let position i see positions up to and including i, "to preserve the auto-regressive property"."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def target_mask(tokens: Int[Tensor, "batch target"], *, pad: int) -> Bool[Tensor, "batch target target"]:
    """Both rules of the decoder's self-attention: real tokens only, and none that lies ahead."""
    return padding_mask(tokens, pad=pad) & causal_mask(tokens.shape[1], device=tokens.device)
