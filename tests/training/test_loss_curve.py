"""RELIABILITY 23: the loss of a small training falls as it fell when this was written."""

import contextlib

import numpy as np
import pytest
import torch
from pairs import listed_pairs
from tiny_models import PAD

from mt.data.loader import TrainingOrder
from mt.model.architecture import Architecture
from mt.runtime import seed_everything
from mt.training.processes import SINGLE_PROCESS
from mt.training.schedule import learning_rate
from mt.training.step import TrainingLoss, train_step

SEED, STEPS, D_MODEL, SYMBOLS = 5, 200, 32, 12
# Nats per target token, the mean of each 20 steps; without dropout, whose random numbers differ between processors.
# The rate is so low that rounding stays small: with three times as much, after 200 steps two processors differ by 8 %,
# here four ways to compute the same (instruction sets, threads) by 0.025 %.
CURVE = [3.8963, 3.1100, 2.6668, 2.4832, 2.3816, 2.1423, 1.8909, 1.7397, 1.5516, 1.4462]


@pytest.mark.reliability(23)
def test_the_loss_falls_as_it_did() -> None:
    """A change to the arithmetic of model, loss, schedule, order or step shows here; rounding does not."""
    random = np.random.default_rng(SEED)
    sentences = [random.integers(4, 4 + SYMBOLS, length).tolist() for length in random.integers(1, 7, 2000)]
    corpus = listed_pairs([(sentence, sentence[::-1]) for sentence in sentences])
    seed_everything(SEED, 0)
    sizes = {"num_layers": 2, "d_model": D_MODEL, "d_ff": 64, "num_heads": 4}
    model = Architecture(vocab_size=4 + SYMBOLS, dropout=0.0, pad=PAD, initialisation="fan_in", **sizes).transformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    replica = SINGLE_PROCESS.wrap(TrainingLoss(model, label_smoothing=0.1), optimizer)
    order = TrainingOrder(corpus_of_epoch=lambda _: corpus, batch_tokens=320, micro_batch_tokens=160, seed=SEED)
    losses = []
    with contextlib.closing(order.steps(epoch=0, start=0)) as batches:
        for step in range(1, STEPS + 1):
            result = train_step(
                replica,
                next(batches)[2],
                learning_rate=learning_rate(step, d_model=D_MODEL, warmup_steps=200, factor=0.2),
                autocast=contextlib.nullcontext,
            )
            losses.append(result.loss)
    assert np.reshape(losses, (10, 20)).mean(axis=1).tolist() == pytest.approx(CURVE, rel=2e-3)
