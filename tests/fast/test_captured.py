"""A step whose gradient is replayed is the plain step; here what is recorded is computed again, without a GPU."""

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from pairs import listed_pairs, random_pairs
from tiny_models import VOCAB_SIZE, tiny_model
from torch import Tensor

from mt.data.batch import Batch
from mt.data.loader import TrainingOrder
from mt.data.tokenizer import PAD
from mt.fast import captured, chunked_loss
from mt.fast.captured import CapturedGradients
from mt.model.transformer import Transformer
from mt.runtime import seed_everything
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import StepResult, TrainingLoss, train_step

STEPS = 12


@pytest.fixture(autouse=True)
def recordings(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What has been recorded; its passes run as on a GPU, and a replay runs it again."""
    found: list[Callable[[], None]] = []

    def record(work: Callable[[], None]) -> Callable[[], None]:
        found.append(work)
        for _ in range(3):
            work()
        return work

    monkeypatch.setattr(captured, "record", record)
    monkeypatch.setattr(chunked_loss, "_compiled", lambda: chunked_loss._in_one_pass)
    return found


def batches() -> list[list[Batch]]:
    """Steps of two micro-batches, with rows of 64 tokens and some of 128; the last of an epoch has empty rows."""
    corpus = listed_pairs(random_pairs(120, longest=100, vocab_size=VOCAB_SIZE, seed=0))
    order = TrainingOrder(
        corpus_of_epoch=lambda _: corpus,
        batch_tokens=512,
        micro_batch_tokens=256,
        seed=0,
        pack_length=64,
        one_shape=True,
    )
    with contextlib.closing(order.steps(epoch=0, start=0)) as stream:
        return [next(stream).micro_batches for _ in range(STEPS)]


class Training:
    """A model in training, plain or by what is recorded."""

    def __init__(self, *, replayed: bool, model: Transformer | None = None) -> None:
        self.model = model or tiny_model(dtype=torch.float64, num_layers=2, dropout=0.1).train()
        loss = chunked_loss.chunked_loss
        options: dict[str, Any] = {"label_smoothing": 0.1}
        options["loss"] = lambda *given, **more: loss(*given, **more, compiled=replayed, ignored=PAD)
        optimizer = torch.optim.SGD(self.model.parameters(), momentum=0.9)
        self.replica = SINGLE_PROCESS.wrap(TrainingLoss(self.model, **options), optimizer)
        self.captured = CapturedGradients(self.replica.loss, contextlib.nullcontext) if replayed else None

    def step(self, number: int, micro_batches: list[Batch]) -> StepResult:
        seed_everything(1, number)
        settings: dict[str, Any] = {"learning_rate": 0.1, "autocast": contextlib.nullcontext}
        return train_step(self.replica, micro_batches, captured=self.captured, **settings)

    def weights(self) -> Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])


def test_replayed_steps_are_the_plain_ones(recordings: list[Callable[[], None]]) -> None:
    plain, replayed = Training(replayed=False), Training(replayed=True)
    for number, micro_batches in enumerate(batches()):
        expected, found = plain.step(number, micro_batches), replayed.step(number, micro_batches)
        assert (found.target_tokens, found.finite) == (expected.target_tokens, True)
        for figure in ("loss", "nll", "gradient_norm"):
            assert getattr(found, figure) == pytest.approx(getattr(expected, figure), rel=1e-6)
        torch.testing.assert_close(replayed.weights(), plain.weights(), rtol=1e-6, atol=1e-9)
    shapes = {batch.source.shape for micro_batches in batches() for batch in micro_batches}
    assert len(recordings) == len(shapes) == 2


def test_a_training_that_continues_records_again_and_goes_on_alike() -> None:
    steps = list(enumerate(batches()))
    whole = Training(replayed=True)
    for number, micro_batches in steps[:5]:
        whole.step(number, micro_batches)
    continued = Training(replayed=True, model=copy.deepcopy(whole.model))
    whole.replica.optimizer.state.clear()
    for number, micro_batches in steps[5:]:
        assert whole.step(number, micro_batches) == continued.step(number, micro_batches)
    assert torch.equal(whole.weights(), continued.weights())


def test_a_gradient_that_is_not_finite_changes_nothing_and_is_forgotten() -> None:
    plain, replayed = Training(replayed=False), Training(replayed=True)
    first, second, *_ = batches()
    for training in (plain, replayed):
        weight = next(training.model.parameters())
        kept = weight.detach().clone()
        weight.data[0, 0] = torch.inf
        assert not training.step(0, first).finite
        weight.data.copy_(kept)
        training.step(1, second)
    torch.testing.assert_close(replayed.weights(), plain.weights(), rtol=1e-6, atol=1e-9)
