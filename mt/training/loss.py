"""Section 5.4: label smoothing, and the loss as one sum over real target tokens."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass
class LossSums:
    """Sums over the real target tokens of a batch, in nats; divide by `tokens` once, after all batches are in."""

    smoothed: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    tokens: int


def label_smoothed_loss(
    logits: Float[Tensor, "tokens vocabulary"], gold: Int[Tensor, " tokens"], *, label_smoothing: float
) -> LossSums:
    """Cross-entropy against (1 - ε) · one-hot + ε / V · ones, summed; ε is `label_smoothing`.

    This is form B of three in use (PyTorch's, Marian's and Hugging Face's; Szegedy et al. 2016, equation 5): every
    class, the gold one included, gets ε / V. With z the logits it equals
    logsumexp(z) - (1 - ε) z_gold - ε mean(z), which needs no table of log-probabilities.
    `logits` hold real positions only, so padding can never count.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    normaliser = logits.logsumexp(dim=-1)
    gold_logit = logits.gather(-1, gold.unsqueeze(-1)).squeeze(-1)
    smoothed = normaliser - (1 - label_smoothing) * gold_logit - label_smoothing * logits.mean(dim=-1)
    return LossSums(smoothed.sum(), (normaliser - gold_logit).detach().sum(), gold.numel())
