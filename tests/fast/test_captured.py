"""A step whose gradient is replayed is the plain step; without a GPU, what is recorded is computed again.

On a GPU the file runs itself in a process of its own, because the shape checks of the other tests would be compiled.
"""

import contextlib
import copy
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
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
from mt.fast.fused_attention import fused_attention
from mt.model.transformer import Transformer
from mt.runtime import autocast, choose_device, seed_everything
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import StepResult, TrainingLoss, train_step

ROOT = Path(__file__).resolve().parents[2]
STEPS = 12


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What has been recorded; its passes run as on a GPU, and a replay runs it again."""
    found: list[Callable[[], None]] = []

    def record(work: Callable[[], None]) -> Callable[[], None]:
        found.append(work)
        for _ in range(3):
            work()
        return work

    monkeypatch.setattr(captured, "record", record)
    monkeypatch.setattr(chunked_loss, "_compiled", lambda: chunked_loss._fusable_sums_then_gradient)
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

    def __init__(
        self, *, replayed: bool, model: Transformer | None = None, compiled: bool | None = None, cast: Any = None
    ) -> None:
        self.model = model or tiny_model(dtype=torch.float64, num_layers=2, dropout=0.1).train()
        loss = chunked_loss.chunked_loss
        fast = replayed if compiled is None else compiled
        options: dict[str, Any] = {"label_smoothing": 0.1}
        options["loss"] = lambda *given, **more: loss(*given, **more, compiled=fast, ignored=PAD if fast else None)
        optimizer = torch.optim.SGD(self.model.parameters(), momentum=0.9)
        self.autocast = cast or contextlib.nullcontext
        self.replica = SINGLE_PROCESS.wrap(TrainingLoss(self.model, **options), optimizer)
        self.captured = CapturedGradients(self.replica.loss, self.autocast) if replayed else None

    def step(self, number: int, micro_batches: list[Batch], *, seed: int = 1) -> StepResult:
        seed_everything(seed, number)
        settings: dict[str, Any] = {"learning_rate": 0.1, "autocast": self.autocast}
        return train_step(self.replica, micro_batches, captured=self.captured, **settings)

    def weights(self) -> Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])


def test_replayed_steps_are_the_plain_ones(recordings: list[Callable[[], None]]) -> None:
    plain, replayed, steps = Training(replayed=False), Training(replayed=True), batches()
    for number, micro_batches in enumerate(steps):
        expected, found = plain.step(number, micro_batches), replayed.step(number, micro_batches)
        assert (found.target_tokens, found.finite) == (expected.target_tokens, True)
        for figure in ("loss", "nll", "gradient_norm"):
            assert getattr(found, figure) == pytest.approx(getattr(expected, figure), rel=1e-6)
        torch.testing.assert_close(replayed.weights(), plain.weights(), rtol=1e-6, atol=1e-9)
    given, kept = ([batch for micro_batches in each for batch in micro_batches] for each in (steps, batches()))
    assert all(torch.equal(one.source, other.source) for one, other in zip(given, kept, strict=True))
    shapes = {batch.source.shape for batch in given}
    assert len(recordings) == len(shapes) == 2


@pytest.mark.usefixtures("recordings")
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


@pytest.mark.usefixtures("recordings")
def test_a_recording_keeps_the_tables_that_it_reads() -> None:
    replayed, [first, *_] = Training(replayed=True), batches()
    replayed.step(0, first)
    table = replayed.model.positions.table
    replayed.model.positions.reserve(len(table) + 1)
    assert replayed.model.positions.table is not table
    [recorded, *_] = replayed.captured._recorded.values()
    assert any(kept is table for kept in recorded.kept)


@pytest.mark.usefixtures("recordings")
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


def observe() -> dict[str, list[float]]:
    """The losses of some steps on a GPU, as they are computed there and without what is fast."""
    device, steps = choose_device("cuda"), batches()

    def losses(*, seed: int = 1, dropout: float = 0.0, bf16: bool = False, **how: bool) -> list[float]:
        sizes = {"num_layers": 2, "d_model": 64, "d_ff": 128, "num_heads": 4, "dropout": dropout}
        model = tiny_model(dtype=torch.float32, attention=fused_attention, **sizes).to(device).train()
        cast = functools.partial(autocast, device, torch.bfloat16 if bf16 else torch.float32)
        training = Training(model=model, cast=cast, **how)
        return [training.step(number, each, seed=seed).loss for number, each in enumerate(steps)]

    return {
        "plain": losses(replayed=False, compiled=False),
        "compiled": losses(replayed=False, compiled=True),
        "replayed": losses(replayed=True),
        "bf16": losses(replayed=True, bf16=True),
        "thinned": losses(replayed=True, dropout=0.1),
        "thinned again": losses(replayed=True, dropout=0.1),
        "of another seed": losses(replayed=True, dropout=0.1, seed=2),
    }


@pytest.mark.gpu
def test_a_gpu_replays_the_plain_steps_and_draws_by_the_seed() -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["compiled"] == pytest.approx(found["plain"], rel=1e-3)
    assert found["replayed"] == pytest.approx(found["plain"], rel=1e-3)
    assert found["bf16"] == pytest.approx(found["plain"], rel=2e-2)
    assert found["thinned again"] == pytest.approx(found["thinned"], rel=1e-4)
    assert found["of another seed"][0] != pytest.approx(found["thinned"][0], rel=1e-6)


if __name__ == "__main__":
    print(json.dumps(observe()))
