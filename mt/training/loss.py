"""Section 5.4: label smoothing, and the loss as one sum over real target tokens."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional


@dataclass
class LossSums:
    """Sums over the real target tokens of a batch, in nats; divided once, after all batches are in."""

    smoothed: Float[Tensor, ""]
    nll: Float[Tensor, ""]  # negative log-likelihood


def label_smoothed_loss(
    logits: Float[Tensor, "tokens vocabulary"], labels: Int[Tensor, " tokens"], *, label_smoothing: float
) -> LossSums:
    """Cross-entropy against (1 - ε) · one-hot + ε / V · ones, summed; ε is `label_smoothing`.

    This is form B of three in use (PyTorch's, Marian's and Hugging Face's; Szegedy et al. 2016, equation 5): every
    class, the label included, gets ε / V. With z the logits it equals
    logsumexp(z) - (1 - ε) z_label - ε mean(z), which needs no table of log-probabilities.
    `logits` hold real positions only, so padding can never count.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    normaliser = logits.logsumexp(dim=-1)
    label_logit = logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    smoothed = normaliser - (1 - label_smoothing) * label_logit - label_smoothing * logits.mean(dim=-1)
    return LossSums(smoothed.sum(), (normaliser - label_logit).detach().sum())


def projected_loss(
    states: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    labels: Int[Tensor, " tokens"],
    *,
    label_smoothing: float,
) -> LossSums:
    """The sums of `label_smoothed_loss` over the logits `states @ weight.T + bias`, all logits at once."""
    return label_smoothed_loss(functional.linear(states, weight, bias), labels, label_smoothing=label_smoothing)


ProjectedLoss = Callable[..., LossSums]  # with the arguments of `projected_loss`
