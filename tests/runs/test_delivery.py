"""Which checkpoints become the delivered model: never those of the warm-up, and not a mean that validates worse."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from composed import composed
from torch import Tensor, nn

from mt.config.schema import TrainConfig
from mt.errors import UserError
from mt.runs.checkpoint import Checkpoints, TrainingState
from mt.runs.delivery import averaged_steps, deliver, read_model
from mt.runs.folder import descriptions, run_identity


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run with a checkpoint every 100 steps, in which the only weight is the step."""
    (tmp_path / "identity.json").write_text(json.dumps({"settings": {}, "tokenizers": {}}), encoding="utf-8")
    model = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.Adam(model.parameters())
    for step in (100, 200, 300, 400):
        nn.init.constant_(model.weight, step)
        checkpoints_of(tmp_path).save(model, optimizer, TrainingState(step=step))
    return tmp_path


def checkpoints_of(run_dir: Path) -> Checkpoints:
    return Checkpoints(run_dir / "checkpoints", keep=9, run=run_identity(run_dir))


@pytest.mark.parametrize(
    ("limits", "worse", "steps"),
    [
        ((3, 0), 0.0, [200, 300, 400]),  # although the loss of two would be lower
        ((3, 200), 0.0, [300, 400]),  # the end of the warm-up is part of it
        ((3, 350), 0.0, [400]),
        ((3, 400), 0.0, [400]),  # none is left, so the newest
        ((3, 5000), 0.0, [400]),
        ((3, 0), 0.009, [200, 300, 400]),
        ((3, 0), 0.011, [400]),
        ((4, 0), 0.011, [300, 400]),
    ],
)
def test_what_is_delivered(
    run_dir: Path, capsys: pytest.CaptureFixture[str], limits: tuple[int, int], worse: float, steps: list[int]
) -> None:
    count, warmup_steps = limits

    def loss(weights: Mapping[str, Tensor]) -> float:
        return {400: 2.0, 350: 1.9}.get(int(weights["weight"]), 2.0 * (1 + worse))

    options: dict[str, Any] = {"count": count, "warmup_steps": warmup_steps, "validation_loss": loss}
    deliver(run_dir, checkpoints_of(run_dir), check=lambda **_: None, **options)
    assert averaged_steps(run_dir / "model.safetensors") == steps
    assert float(read_model(run_dir)["weight"]) == sum(steps) / len(steps)
    error = capsys.readouterr().err
    assert f"{'checkpoints at steps' if len(steps) > 1 else 'checkpoint at step'} {', '.join(map(str, steps))}" in error
    assert (", 1: 2.0000" in error) == (warmup_steps < 300)


def test_without_validation_the_mean_is_delivered(run_dir: Path) -> None:
    deliver(run_dir, checkpoints_of(run_dir), check=lambda **_: None, count=2)
    assert averaged_steps(run_dir / "model.safetensors") == [300, 400]


@pytest.mark.usefixtures("folder")
def test_every_evaluation_describes_the_model_that_it_is_of(tmp_path: Path) -> None:
    config = composed("train")
    assert isinstance(config, TrainConfig)
    names = ("evaluation.json", "README.md", "report.html", "confusion.png")
    names += ("evaluations/validation/evaluation.json", "evaluations/robustness-test/robustness.md")
    for name in (*names, "model.safetensors", "evaluations/validation/hypotheses.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(descriptions(tmp_path, config)) == sorted(tmp_path / name for name in names)


def test_scores_of_an_earlier_model_go_with_it_and_not_before(run_dir: Path) -> None:
    scores = run_dir / "scores.json"
    scores.write_text("{}")
    nothing = Checkpoints(run_dir / "none", keep=9, run="")
    with pytest.raises(UserError):
        deliver(run_dir, nothing, check=lambda **_: None, count=2, outdated=[scores])
    assert scores.exists()
    deliver(run_dir, checkpoints_of(run_dir), check=lambda **_: None, count=2, outdated=[scores])
    assert not scores.exists()
