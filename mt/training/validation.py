"""The loss on held-out text."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from mt.data.loader import Pairs, validation_batches
from mt.model.transformer import Transformer
from mt.training.step import batch_loss


def validation_loss(
    model: Transformer,
    corpus: Pairs,
    *,
    batch_tokens: int,
    label_smoothing: float,
    autocast: Callable[[], AbstractContextManager[None]],
) -> tuple[float, float]:
    """Smoothed loss and negative log-likelihood over a corpus, in nats per target token."""
    device = next(model.parameters()).device
    smoothed = likelihood = 0.0
    tokens = 0
    for batch in validation_batches(corpus, batch_tokens=batch_tokens):
        with autocast():
            sums = batch_loss(model, batch.to(device), label_smoothing=label_smoothing)
        smoothed += float(sums.smoothed)
        likelihood += float(sums.negative_log_likelihood)
        tokens += sums.tokens
    return smoothed / tokens, likelihood / tokens
