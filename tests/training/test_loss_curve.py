"""RELIABILITY 23: the loss of a small training falls as it fell when this was written."""

import contextlib

import numpy as np
import pytest
import torch
from pairs import ListedPairs
from tiny_models import PAD

from mt.data.loader import TrainingOrder
from mt.model.transformer import Transformer
from mt.runtime import seed_everything
from mt.training.schedule import learning_rate
from mt.training.step import train_step

SEED, STEPS, D_MODEL, SYMBOLS = 5, 200, 32, 12
# Nats per target token, the mean of each 20 steps; without dropout, whose random numbers differ between processors.
CURVE = [2.7884, 2.2363, 1.8803, 1.6737, 1.5855, 1.5137, 1.3548, 1.3192, 1.1401, 1.0655]


@pytest.mark.reliability(23)
def test_the_loss_falls_as_it_did() -> None:
    """A change to the arithmetic of model, loss, schedule, order or step shows here; rounding does not."""
    random = np.random.default_rng(SEED)
    sentences = [random.integers(4, 4 + SYMBOLS, length).tolist() for length in random.integers(1, 7, 2000)]
    corpus = ListedPairs([(sentence, sentence[::-1]) for sentence in sentences])
    seed_everything(SEED, 0)
    sizes = {"num_layers": 2, "d_model": D_MODEL, "d_ff": 64, "num_heads": 4}
    model = Transformer(vocabulary_size=4 + SYMBOLS, dropout=0.0, pad=PAD, **sizes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    order = TrainingOrder(corpus_of_epoch=lambda _: corpus, batch_tokens=320, micro_batch_tokens=160, seed=SEED)
    losses = []
    with contextlib.closing(order.steps(epoch=0, start=0)) as batches:
        for step in range(1, STEPS + 1):
            result = train_step(
                model,
                optimizer,
                next(batches)[2],
                learning_rate=learning_rate(step, d_model=D_MODEL, warmup_steps=100, factor=0.6),
                label_smoothing=0.1,
                autocast=contextlib.nullcontext,
            )
            losses.append(result.loss)
    assert np.reshape(losses, (10, 20)).mean(axis=1).tolist() == pytest.approx(CURVE, rel=5e-3)
