"""Section 5.4: label smoothing, and the loss as one sum over real target tokens, of one pass over a batch or of two."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional


@dataclass
class LossSums:
    """Sums over the real target tokens of a batch, in nats; divided once, after all batches are in."""

    smoothed: Float[Tensor, ""]  # what is minimised; of two passes, their divergence times its weight included
    nll: Float[Tensor, ""]  # negative log-likelihood
    divergence: Float[Tensor, ""] | None = None  # of two passes, unweighted


@dataclass(frozen=True)
class Divergence:
    """How two passes make one loss: the sum of each pass's cross-entropy plus `weight` times its KL to the other.

    `shares` is how much of that sum the first pass and the second contribute, 1 together.
    """

    weight: float
    shares: tuple[float, float]


def label_smoothed_loss(
    logits: Float[Tensor, "tokens vocabulary"], labels: Int[Tensor, " tokens"], *, label_smoothing: float
) -> LossSums:
    """Cross-entropy against (1 - ε) · one-hot + ε / V · ones, summed; ε is `label_smoothing`.

    The form of PyTorch, Marian and Hugging Face (Szegedy et al. 2016, equation 5): every class, the label included,
    gets ε / V. With z the logits it equals logsumexp(z) - (1 - ε) z_label - ε mean(z), which needs no table of
    log-probabilities. `logits` hold real positions only, so padding can never count.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    normaliser = logits.logsumexp(dim=-1)
    label_logit = logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    smoothed = normaliser - (1 - label_smoothing) * label_logit - label_smoothing * logits.mean(dim=-1)
    return LossSums(smoothed.sum(), (normaliser - label_logit).detach().sum())


def paired_loss(
    logits: Float[Tensor, "tokens_of_both vocabulary"],
    labels: Int[Tensor, " tokens"],
    *,
    label_smoothing: float,
    divergence: Divergence,
) -> LossSums:
    """`label_smoothed_loss` and KL(own ‖ other) of two passes over the same labels, with the shares of `divergence`.

    The gradient goes through both distributions. KL(p ‖ q) is Σ p (log p - log q) over the vocabulary.
    """
    passes = logits.unflatten(0, (2, len(labels))).unbind()
    first, second = (label_smoothed_loss(one, labels, label_smoothing=label_smoothing) for one in passes)
    wide = torch.promote_types(logits.dtype, torch.float32)
    log_p, log_q = (one.log_softmax(dim=-1, dtype=wide) for one in passes)

    def shared(of_first: Float[Tensor, ""], of_second: Float[Tensor, ""]) -> Float[Tensor, ""]:
        return divergence.shares[0] * of_first + divergence.shares[1] * of_second

    apart = shared((log_p.exp() * (log_p - log_q)).sum(), (log_q.exp() * (log_q - log_p)).sum())
    smoothed = shared(first.smoothed, second.smoothed) + divergence.weight * apart
    return LossSums(smoothed, shared(first.nll, second.nll), apart.detach())


def projected_loss(
    states: Float[Tensor, "all_tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    labels: Int[Tensor, " tokens"],
    *,
    label_smoothing: float,
    divergence: Divergence | None = None,
) -> LossSums:
    """The sums of `label_smoothed_loss` over the logits `states @ weight.T + bias`, all logits at once.

    With a `divergence` those of `paired_loss`; `states` are then the first pass's, followed by the second's.
    """
    logits = functional.linear(states, weight, bias)
    if divergence is None:
        return label_smoothed_loss(logits, labels, label_smoothing=label_smoothing)
    return paired_loss(logits, labels, label_smoothing=label_smoothing, divergence=divergence)


ProjectedLoss = Callable[..., LossSums]  # with the arguments of `projected_loss`
