"""Each planted fault of a real small training is named, once; sound trainings are passed in silence."""

import contextlib
import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pairs import ListedPairs
from tiny_models import PAD

from mt.data.batch import Batch
from mt.data.loader import TrainingOrder, read_batch
from mt.model.transformer import Transformer, make_transformer
from mt.reporting import report_beside_progress
from mt.runs.checkpoint import Checkpoints, TrainingState
from mt.runs.metrics import MetricsFile
from mt.runs.signals import StopRequest
from mt.runtime import seed_everything
from mt.training import diagnosis as room
from mt.training import step as step_module
from mt.training.diagnosis import Diagnosis, Pace, WatchedMetrics, unigram_entropy
from mt.training.loss import LossSums
from mt.training.schedule import learning_rate
from mt.training.trainer import Trainer, Validation

SYMBOLS, D_MODEL = 12, 32


def sentences(count: int, *, seed: int) -> ListedPairs:
    """Random symbols, and as their translation each symbol's double, in order."""
    random = np.random.default_rng(seed)
    sources = [random.integers(4, 4 + SYMBOLS, length).tolist() for length in random.integers(2, 7, count)]
    return ListedPairs([(source, [symbol + SYMBOLS for symbol in source]) for source in sources])


def train(
    folder: Path,
    *,
    pairs: int = 3000,
    steps: int = 300,
    factor: float = 1.0,
    warmup_steps: int = 100,
) -> list[dict[str, Any]]:
    """Train a small model and return what its metrics say."""
    corpus, held_out = sentences(pairs, seed=1), sentences(60, seed=2)
    seed_everything(1, 0)
    sizes = {"num_layers": 1, "d_model": D_MODEL, "d_ff": 64, "num_heads": 4}
    model = make_transformer(vocab_size=4 + 2 * SYMBOLS, dropout=0.0, pad=PAD, initialisation="fan_in", **sizes)
    batch = read_batch(held_out, np.arange(len(held_out.pairs)))

    def validate() -> Validation:
        sums = step_module.batch_loss(model, batch, label_smoothing=0.1)
        likelihood = float(sums.nll) / sums.tokens
        return Validation(loss=float(sums.smoothed) / sums.tokens, nll=likelihood, bleu=None)

    batches = TrainingOrder(corpus_of_epoch=lambda _: corpus, batch_tokens=300, micro_batch_tokens=300, seed=5)
    metrics = MetricsFile(folder / "metrics.jsonl", step=0, tensorboard=False)
    with contextlib.closing(metrics):
        Trainer(
            model=model,
            optimizer=torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True),
            schedule=lambda step: learning_rate(step, d_model=D_MODEL, warmup_steps=warmup_steps, factor=factor),
            order=batches,
            validate=validate,
            checkpoints=Checkpoints(folder / "checkpoints", keep=1),
            metrics=WatchedMetrics(
                metrics,
                Diagnosis(
                    unigram_entropy=unigram_entropy(corpus), warmup_steps=warmup_steps, label_smoothing=0.1, earlier=[]
                ),
                waited_seconds=lambda: batches.waited_seconds,
                report=report_beside_progress,
            ),
            stop=StopRequest(),
            autocast=contextlib.nullcontext,
            label_smoothing=0.1,
            seed=1,
            max_steps=steps,
            max_minutes=None,
            validate_every_steps=40,
            checkpoint_every_steps=10_000,
            patience=None,
            log_every_steps=10,
        ).run(TrainingState())
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]


def warnings(lines: Iterable[dict[str, Any]]) -> list[str]:
    return [line["symptom"] for line in lines if line["kind"] == "warning"]


def test_a_healthy_training_is_passed_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = train(tmp_path, steps=200)
    assert lines[-1]["nll"] < 1
    assert warnings(lines) == []
    assert "warning" not in capfd.readouterr().err


def test_a_rate_fifty_times_too_high_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = train(tmp_path, steps=110, factor=50.0)
    assert warnings(lines) in (["gradient exploding"], ["loss rising", "gradient exploding"])
    told = capfd.readouterr().err
    for part in ("warning: gradient exploding: ", "in a healthy run", "training.learning_rate_factor"):
        assert part in told


def test_a_corpus_too_small_for_the_model_is_overfitted_and_said_from_which_step(tmp_path: Path) -> None:
    lines = train(tmp_path, pairs=40, steps=160)
    assert warnings(lines) == ["overfitting"]
    [warning] = [line for line in lines if line["kind"] == "warning"]
    assert warning["step"] == 120
    before = [line for line in lines if line["kind"] == "validation" and line["step"] <= warning["step"]]
    best = min(before, key=lambda line: line["nll"])
    assert f"has risen since step {best['step']} from {best['nll']:.2f} to" in warning["message"]
    for advice in ("patience", "dropout", "more data"):
        assert advice.replace("more", "add") in warning["message"]


def leaking(model: Transformer, batch: Batch, *, label_smoothing: float) -> LossSums:
    return ORIGINAL_LOSS(
        model, dataclasses.replace(batch, target_input=batch.target_output), label_smoothing=label_smoothing
    )


ORIGINAL_LOSS = step_module.batch_loss


def test_a_target_that_is_not_shifted_is_named_as_a_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_module, "batch_loss", leaking)
    assert warnings(train(tmp_path, steps=50)) == ["target leak"]


def test_a_slow_loader_is_named_and_leaves_the_metrics_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def slow(corpus: ListedPairs, indices: np.ndarray) -> Batch:
        time.sleep(0.1)
        return read_batch(corpus, indices)

    monkeypatch.setattr("mt.data.loader.read_batch", slow)
    monkeypatch.setattr(room, "LEAST_WAITED_SECONDS", 0.5)
    monkeypatch.setattr(room, "STARVED_SHARE", 0.1)  # on a busy machine the steps themselves are slow
    assert warnings(train(tmp_path, steps=40)) == []
    told = capfd.readouterr().err
    assert told.count("warning: waiting for batches: ") == 1
    assert "a healthy run waits for a few percent" in told


# ---------------------------------------------------------------------------- by figures alone


def falling(step: int) -> float:
    """A loss from 8 nats over a plateau near 6 to 2, as natural text gives it."""
    return 2 + 6 * math.exp(-step / 400)


def training(step: int, nll: float | None, *, norm: float | None = 0.6, epoch: int = 3) -> dict[str, Any]:
    return {"step": step, "kind": "train", "epoch": epoch, "nll": nll, "gradient_norm": norm}


def validation(step: int, nll: float, *, bleu: float | None, best_step: int) -> dict[str, Any]:
    return {"step": step, "kind": "validation", "nll": nll, "bleu": bleu, "best_step": best_step}


def symptoms(lines: Iterable[dict[str, Any]], *, unigram_entropy: float = 6.0) -> list[tuple[int, str]]:
    doctor = Diagnosis(unigram_entropy=unigram_entropy, warmup_steps=500, label_smoothing=0.1, earlier=[])
    return [(line["step"], symptom.kind) for line in lines for symptom in doctor.observe(line)]


def calm(_step: int) -> float:
    return 0.6


CURVES: dict[str, tuple[Callable[[int], float | None], Callable[[int], float | None], list[tuple[int, str]]]] = {
    "single large gradients": (falling, lambda step: 20.6 if step % 700 == 0 else 0.6, []),
    "a gradient that fades": (falling, lambda step: 5 / step, []),
    "waves": (lambda step: falling(step) + 0.3 * math.sin(step), calm, []),
    "one bad line": (lambda step: falling(step) + (4.0 if step == 2000 else 0), calm, []),
    "numbers that are none": (lambda step: None if step % 200 else falling(step), lambda _: None, []),
    "a large gradient that does no harm": (falling, lambda step: 0.6 if step < 2000 else 9.6, []),
    "never falling": (lambda step: max(5.8, falling(step)), calm, [(800, "loss not falling")]),
    "rising": (lambda step: falling(step) if step < 2000 else 3.5, calm, [(2050, "loss rising")]),
    "late, then lost, recovered, and lost again": (
        lambda step: 5.8 if step < 1500 or 2000 <= step < 3000 or step >= 3500 else 2.0,
        calm,
        [(800, "loss not falling"), (2050, "loss rising"), (3550, "loss rising")],
    ),
    "exploding": (
        lambda step: falling(step) + (step >= 2000) * 0.5,
        lambda step: 0.6 if step < 2000 else 9.6,
        [(2050, "gradient exploding")],
    ),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves(name: str) -> None:
    loss, norm, told = CURVES[name]
    assert symptoms(training(step, loss(step), norm=norm(step)) for step in range(50, 4001, 50)) == told


def test_the_entropy_is_that_of_the_target_pieces() -> None:
    assert unigram_entropy(ListedPairs([([9], [4, 5]), ([9], [4])])) == pytest.approx(
        -(2 / 5 * math.log(2 / 5) * 2 + 1 / 5 * math.log(1 / 5))
    )
    assert unigram_entropy(ListedPairs([])) == 0


def test_a_low_validation_loss_with_poor_translations_is_a_leak() -> None:
    def lines(nll: float, bleu: float | None) -> list[dict[str, Any]]:
        return [validation(step, nll, bleu=bleu, best_step=step) for step in (900, 1800)]

    assert symptoms(lines(0.3, 2.0)) == [(900, "target leak")]
    for nll, bleu in ((0.3, 82.0), (0.3, None), (2.0, 2.0)):
        assert symptoms(lines(nll, bleu)) == []


def test_a_low_training_loss_is_a_leak_only_before_anything_can_be_learned() -> None:
    assert symptoms([training(100, 0.2, epoch=0)]) == [(100, "target leak")]
    for step, nll, epoch in ((100, 0.5, 0), (100, 0.2, 1), (600, 0.2, 0)):
        assert symptoms([training(step, nll, epoch=epoch)]) == []


def test_validation_that_rises_is_overfitting_unless_the_translations_still_improve() -> None:
    def lines(best_step: Callable[[int], int], rise: float, fall: float = 0.1) -> list[dict[str, Any]]:
        found = []
        for place, step in enumerate(range(1000, 9000, 1000)):
            found += [training(step - delay, 2.5 - fall * place) for delay in (2, 1, 0)]
            found.append(
                validation(
                    step, 2.5 + rise * (place - 2 if place > 2 else 2 - place), bleu=30.0, best_step=best_step(step)
                )
            )
        return found

    stale = lambda step: min(step, 3000)  # noqa: E731
    assert symptoms(lines(stale, 0.15)) == [(5000, "overfitting")]
    assert symptoms(lines(stale, 0.01)) == []
    assert symptoms(lines(stale, 0.15, fall=0.0)) == []
    assert symptoms(lines(lambda step: step, 0.15)) == []


def paces(lines: Iterable[tuple[float, float, float]]) -> list[tuple[int, str]]:
    pace = Pace()
    return [
        (place, symptom.kind)
        for place, (speed, seconds, waited) in enumerate(lines)
        for symptom in pace.observe(tokens_per_second=speed, seconds=seconds, waited_seconds=waited)
    ]


def test_a_pace_that_breaks_down_for_long_is_told_once_and_again_after_it_was_well() -> None:
    well, ill = (10_000.0, 12.0, 0.1), (3_000.0, 30.0, 0.1)
    assert paces([well] * 20 + [ill] * 9) == [(22, "slow")]
    assert paces([well] * 20 + [ill] * 9 + [well] * 9 + [ill] * 4) == [(22, "slow"), (40, "slow")]
    for harmless in ((4_000.0, 30.0, 0.1), (3_000.0, 3.0, 0.1)):  # some slower; slow for seconds
        assert paces([well] * 20 + [harmless] * 9) == []
    assert paces([well] * 20 + [ill, ill, well] * 5) == []


def test_waiting_counts_when_it_lasts() -> None:
    well, ill = (10_000.0, 5.0, 0.1), (10_000.0, 5.0, 3.0)
    assert paces([ill] * 5) == [(2, "waiting for batches")]
    assert paces([well, ill, ill, well] * 5) == []
    assert paces([(10_000.0, 0.5, 0.3)] * 5) == []  # seconds in all
