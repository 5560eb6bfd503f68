"""The loss on held-out text."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from mt.data.loader import Pairs, validation_batches
from mt.training.step import TrainingLoss


def validation_loss(
    loss: TrainingLoss, corpus: Pairs, *, batch_tokens: int, autocast: Callable[[], AbstractContextManager[None]]
) -> tuple[float, float]:
    """Smoothed loss and negative log-likelihood over a corpus, in nats per target token."""
    device = next(loss.parameters()).device
    smoothed = nll = 0.0
    tokens = 0
    for batch in validation_batches(corpus, batch_tokens=batch_tokens):
        with autocast():
            batch_smoothed, batch_nll = loss(batch.to(device))
        smoothed += float(batch_smoothed)
        nll += float(batch_nll)
        tokens += batch.target_tokens
    return smoothed / tokens, nll / tokens
