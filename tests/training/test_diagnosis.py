"""Each planted fault of a real small training is reported once; nothing is reported of a healthy one."""

import contextlib
import dataclasses
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pairs import listed_pairs
from tiny_models import PAD

from mt.data.batch import Pairs
from mt.data.loader import TrainingOrder
from mt.model.architecture import Architecture
from mt.runs.checkpoint import Checkpoints, TrainingState
from mt.runs.signals import StopRequest
from mt.runtime import seed_everything
from mt.training.diagnosis import Diagnosis, Symptom, WatchedMetrics, unigram_entropy
from mt.training.processes import SINGLE_PROCESS
from mt.training.schedule import learning_rate
from mt.training.step import TrainingLoss
from mt.training.trainer import LoopSettings, StepSettings, Trainer, Validation, validation_loss

SYMBOLS, D_MODEL, WARMUP_STEPS = 12, 32, 100


def sentences(count: int, *, seed: int) -> Pairs:
    """Random symbols, and as their translation each symbol's double, in order."""
    random = np.random.default_rng(seed)
    sources = [random.integers(4, 4 + SYMBOLS, length).tolist() for length in random.integers(2, 7, count)]
    return listed_pairs([(source, [symbol + SYMBOLS for symbol in source]) for source in sources])


def train(
    folder: Path,
    *,
    steps: int,
    factor: float = 1.0,
    corpus: Pairs | None = None,
    make_loss: Callable[..., TrainingLoss] = TrainingLoss,
) -> list[dict[str, Any]]:
    """Train a small model and return its metrics."""
    corpus, held_out = corpus or sentences(3000, seed=1), sentences(60, seed=2)
    seed_everything(1, 0)
    sizes = {"num_layers": 1, "d_model": D_MODEL, "d_ff": 64, "num_heads": 4}
    model = Architecture(
        vocab_size=4 + 2 * SYMBOLS, dropout=0.0, pad=PAD, initialisation="fan_in", **sizes
    ).transformer()
    loss = make_loss(model, label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    batch = held_out.batch(np.arange(len(held_out.source_lengths)))

    def validate() -> Validation:
        smoothed, nll = validation_loss(loss, [batch], autocast=contextlib.nullcontext)
        return Validation(loss=smoothed, nll=nll, bleu=0.0 if make_loss is unshifted else 90.0)

    order = TrainingOrder(corpus_of_epoch=lambda _: corpus, batch_tokens=300, micro_batch_tokens=300, seed=5)
    watching = Diagnosis(
        unigram_entropy=unigram_entropy(corpus), warmup_steps=WARMUP_STEPS, max_steps=steps, label_smoothing=0.1
    )
    metrics = WatchedMetrics(folder / "metrics.jsonl", step=0, tensorboard=False, diagnosis=watching)
    with contextlib.closing(metrics):
        Trainer(
            SINGLE_PROCESS.wrap(loss, optimizer),
            order=order,
            steps=StepSettings(
                learning_rate=lambda step: learning_rate(
                    step, d_model=D_MODEL, warmup_steps=WARMUP_STEPS, factor=factor
                ),
                autocast=contextlib.nullcontext,
                seed=1,
            ),
            loop=LoopSettings(
                max_steps=steps,
                patience=None,
                validate_every_steps=40,
                checkpoint_every_steps=10_000,
                log_every_steps=10,
            ),
            validate=validate,
            checkpoints=Checkpoints(folder / "checkpoints", keep=1, run="a"),
            metrics=metrics,
            stop=StopRequest(),
        ).run(TrainingState())
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]


def warnings(lines: Iterable[dict[str, Any]]) -> list[str]:
    return [line["symptom"] for line in lines if line["kind"] == "warning"]


def test_nothing_is_reported_of_a_healthy_training(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = train(tmp_path, steps=200)
    assert lines[-1]["nll"] < 1
    assert warnings(lines) == []
    assert "warning" not in capfd.readouterr().err


def test_a_learning_rate_fifty_times_too_high_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = train(tmp_path, steps=110, factor=50.0)
    assert warnings(lines) == ["loss rising"]
    reported = capfd.readouterr().err
    for part in ("warning: loss rising: ", "lower training.learning_rate or", "training.warmup_steps"):
        assert part in reported


def unshifted(*arguments: Any, **settings: Any) -> TrainingLoss:
    """A loss whose decoder reads the tokens that it must predict."""
    loss = TrainingLoss(*arguments, **settings)
    loss.register_forward_pre_hook(
        lambda _, batches: dataclasses.replace(batches[0], target_input=batches[0].target_output)
    )
    return loss


def test_a_target_that_is_not_shifted_is_reported_as_a_leak(tmp_path: Path) -> None:
    assert warnings(train(tmp_path, steps=50, make_loss=unshifted)) == ["target leak"]


# ---------------------------------------------------------------------------- from synthetic metric lines


def falling(step: int) -> float:
    """A loss from 8 nats over a plateau near 6 to 2, as natural text gives it."""
    return 2 + 6 * math.exp(-step / 400)


def training(step: int, nll: float | None) -> dict[str, Any]:
    return {"step": step, "kind": "train", "nll": nll}


def validation(step: int, nll: float, *, bleu: float | None, best_step: int) -> dict[str, Any]:
    return {"step": step, "kind": "validation", "nll": nll, "bleu": bleu, "best_step": best_step}


def findings(lines: Iterable[dict[str, Any]]) -> list[tuple[int, Symptom]]:
    watching = Diagnosis(unigram_entropy=6.0, warmup_steps=500, max_steps=5000, label_smoothing=0.1)
    return [(line["step"], symptom) for line in lines for symptom in watching.observe(line)]


def symptoms(lines: Iterable[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(step, symptom.kind) for step, symptom in findings(lines)]


CURVES: dict[str, tuple[Callable[[int], float | None], list[tuple[int, str]]]] = {
    "falling": (falling, []),
    "waves": (lambda step: falling(step) + 0.3 * math.sin(step), []),
    "one bad line": (lambda step: falling(step) + (4.0 if step == 2000 else 0), []),
    "values that are not numbers": (lambda step: None if step % 200 else falling(step), []),
    "never falling": (lambda step: max(5.8, falling(step)), [(800, "loss not falling")]),
    "rising": (lambda step: falling(step) if step < 2000 else 3.5, [(2050, "loss rising")]),
    "late, then lost, recovered, and lost again": (
        lambda step: 5.8 if step < 1500 or 2000 <= step < 3000 or step >= 3500 else 2.0,
        [(800, "loss not falling"), (2050, "loss rising"), (3550, "loss rising")],
    ),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves(name: str) -> None:
    loss, expected = CURVES[name]
    assert symptoms(training(step, loss(step)) for step in range(50, 4001, 50)) == expected


@pytest.mark.parametrize(("last", "reported"), [(1500, 450), (20_000, 3000)])
def test_with_a_budget_the_warm_up_is_a_share_of_the_time(last: int, reported: int) -> None:
    steps = range(50, min(last, 4001), 50)
    lines = [training(step, 5.8) | {"progress": step / last} for step in steps]
    [(step, symptom)] = findings(lines)
    assert (step, symptom.kind) == (reported, "loss not falling")
    assert f"step {last // 10:,})" in symptom.message


def test_the_entropy_is_that_of_the_target_subwords() -> None:
    assert unigram_entropy(listed_pairs([([9], [4, 5]), ([9], [4])])) == pytest.approx(
        -(2 / 5 * math.log(2 / 5) * 2 + 1 / 5 * math.log(1 / 5))
    )
    assert unigram_entropy(listed_pairs([([9], [4]), ([9], [5])]), ends=False) == pytest.approx(math.log(2))
    assert unigram_entropy(listed_pairs([])) == 0


def test_a_low_validation_loss_with_poor_translations_is_a_leak() -> None:
    def lines(nll: float, bleu: float | None) -> list[dict[str, Any]]:
        return [validation(step, nll, bleu=bleu, best_step=step) for step in (900, 1800)]

    assert symptoms(lines(0.3, 2.0)) == [(900, "target leak")]
    for nll, bleu in ((0.3, 82.0), (0.3, None), (2.0, 2.0)):
        assert symptoms(lines(nll, bleu)) == []


def test_validation_that_rises_is_overfitting_unless_the_translations_still_improve() -> None:
    def lines(best_step: Callable[[int], int], rise: float, fall: float = 0.1) -> list[dict[str, Any]]:
        found = []
        for number, step in enumerate(range(1000, 9000, 1000)):
            found += [training(step - delay, 2.5 - fall * number) for delay in (2, 1, 0)]
            found.append(validation(step, 2.5 + rise * abs(number - 2), bleu=30.0, best_step=best_step(step)))
        return found

    stale = lambda step: min(step, 3000)  # noqa: E731
    [(step, found)] = findings(lines(stale, 0.15))
    assert (step, found.kind) == (5000, "overfitting")
    for part in ("3,000", "2.50", "2.80", "training.patience", "model.dropout", "add data"):  # since when, and cures
        assert part in found.message
    [(_, found)] = findings(lines(stale, 0.15)[11:])  # the first line is the best validation
    assert "inf" not in found.message
    assert symptoms(lines(stale, 0.01)) == []
    assert symptoms(lines(stale, 0.15, fall=0.0)) == []
    assert symptoms(lines(lambda step: step, 0.15)) == []
