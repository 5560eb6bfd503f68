"""`experiment=auto budget=…`: one command chooses, trains, ends in time; stopped, it continues with what it chose."""

import json
import re
import shlex
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import small_runs
from mt import reporting
from mt.commands import automatic
from mt.commands import train as job
from mt.commands.validation import warmup_of
from mt.errors import UserError
from mt.runs.checkpoint import TrainingState
from mt.runs.folder import check_same_run, load_run
from mt.training import limits, trainer
from mt.training.limits import Clock

GIVEN = ["model.num_layers=1", "model.d_model=16", "model.num_heads=2", "training.checkpoint_every_steps=6"]


def command(folder: Path, budget: str) -> list[str]:
    """Everything that the user gives: data, budget, and some options that auto would choose otherwise."""
    corpus = [word for word in small_runs.write_corpus(folder / "corpus") if word.startswith("data")]
    more = ["experiment=auto", f"budget={budget}", f"run_dir={folder}/run", "decoding.max_output_tokens=6"]
    return small_runs.arguments([*corpus, *more], *GIVEN, "data.filters.max_tokens=60", "device=cpu")


def recorded(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of one kind in the metrics of the run."""
    lines = (folder / "run/metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return [line for line in map(json.loads, lines) if line["kind"] == kind]


def refused(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """What would ruin the rate of a run that has used 25 s of its budget."""
    for option, reason in (
        ("budget=20s", "budget=20s: the run has used 25 s of its budget, and its rate has not decayed yet: give a"),
        ("training.max_steps=7", "differs in training.max_steps: "),
    ):
        assert small_runs.train([*words, option]) == 2
        assert reason in capfd.readouterr().err


def test_a_budget_is_kept_across_a_stop_with_what_was_chosen_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two minutes by a clock on which a trial takes 10 s, a step 3 s, from step 15 on 6 s, and all else no time."""
    words, now, steps, original = command(tmp_path, "2m"), [0.0], [0], trainer.train_step
    clock = SimpleNamespace(monotonic=lambda: now[0])
    for module in (automatic, limits, reporting, trainer):
        monkeypatch.setattr(module, "time", clock)

    def measured(*_: object) -> float:
        now[0] += 10
        return 500.0

    def timed(*arguments: Any, **options: Any) -> Any:
        steps[0] += 1
        now[0] += 3.0 if steps[0] < 15 else 6.0
        if steps[0] == 5:
            signal.raise_signal(signal.SIGTERM)
        return original(*arguments, **options)

    monkeypatch.setattr(automatic, "_measured", measured)
    monkeypatch.setattr(trainer, "train_step", timed)
    assert small_runs.train(words) == 143
    error = capfd.readouterr().err
    assert "saved at step 5;" in error
    assert "\nmodel.d_ff=256: " in error
    assert "model.d_model=" not in error
    begun = load_run(tmp_path / "run")
    assert (begun.automatic, begun.budget, begun.model.d_model, begun.model.d_ff) == ([], "2m", 16, 256)
    assert begun.training.learning_rate is not None

    monkeypatch.setattr(automatic, "_measured", None)  # a run that continues measures nothing
    refused(words, capfd)
    assert small_runs.train(words) == 0
    assert 0.95 * 120 <= now[0] <= 1.05 * 120
    assert load_run(tmp_path / "run") == begun
    rates = [line["learning_rate"] for line in recorded(tmp_path, "train")]
    assert rates[-1] < 0.2 * max(rates)
    assert recorded(tmp_path, "validation")[-1]["step"] == steps[0]
    assert (tmp_path / "run/evaluation.json").exists()
    capfd.readouterr()
    assert small_runs.train(words) == 0
    assert f"finished at step {steps[0]}; its budget is used: finetune_from=" in capfd.readouterr().err

    card = (tmp_path / "run/README.md").read_text(encoding="utf-8")
    [line] = re.findall(r"^mt-train .*$", card, re.MULTILINE)
    assert small_runs.train_config([], *shlex.split(line)[1:]) == begun  # nothing is left to be chosen


@pytest.mark.parametrize(("minutes", "warned"), [(1.0, True), (3.0, False)])
def test_a_budget_that_preparation_uses_up_is_reported(
    capfd: pytest.CaptureFixture[str], minutes: float, *, warned: bool
) -> None:
    job._report_late_start(Clock(minutes, time.monotonic() - 40, paces=True))
    assert ("s of the budget of 1 min 00 s are left" in capfd.readouterr().err) == warned


@pytest.mark.parametrize(
    ("budget", "progress", "warmup"), [(None, 0.0, 200), ("2h", 0.25, 200), ("2h", 0.5, 100), ("2h", 1.0, 50)]
)
def test_a_warm_up_by_time_is_that_share_of_the_steps(
    tmp_path: Path, budget: str | None, progress: float, warmup: int
) -> None:
    """Also of a run that was stopped: at a quarter of the time, after 250 steps, a fifth of the time had 200."""
    config = small_runs.train_config(small_runs.write_corpus(tmp_path), "training.max_steps=1000")
    config = replace(config, budget=budget, training=replace(config.training, warmup_steps=200))
    assert warmup_of(config, TrainingState(step=250, progress=progress)) == warmup


def test_a_run_of_the_same_text_from_before_the_choice_of_an_optimizer_goes_on(tmp_path: Path) -> None:
    config = small_runs.train_config(small_runs.write_corpus(tmp_path), f"run_dir={tmp_path}/run")
    run_dir = Path(config.run_dir)
    run_dir.mkdir()
    check_same_run(config, "text", run_dir)
    (run_dir / "checkpoints/step-1").mkdir(parents=True)
    identity = json.loads((run_dir / "identity.json").read_bytes())
    assert identity["settings"].pop("training.optimizer") == "adam"
    (run_dir / "identity.json").write_text(json.dumps(identity), encoding="utf-8")
    check_same_run(config, "text", run_dir)
    with pytest.raises(UserError, match=r"training\.optimizer: adam -> muon"):
        check_same_run(replace(config, training=replace(config.training, optimizer="muon")), "text", run_dir)


def test_a_finetuning_goes_on_where_both_runs_were_moved(tmp_path: Path) -> None:
    config = small_runs.train_config(small_runs.write_corpus(tmp_path), f"run_dir={tmp_path}/tuned")
    for name in ("base", "other", "tuned"):
        (tmp_path / name).mkdir()
    for name, seed in (("base", 1), ("other", 2)):
        check_same_run(replace(config, seed=seed), "text", tmp_path / name)
    tuned = replace(config, finetune_from=str(tmp_path / "base"))
    check_same_run(tuned, "text", tmp_path / "tuned")
    (tmp_path / "tuned/checkpoints/step-1").mkdir(parents=True)
    (tmp_path / "base").rename(tmp_path / "moved")
    check_same_run(replace(tuned, finetune_from=str(tmp_path / "moved")), "text", tmp_path / "tuned")
    with pytest.raises(UserError, match="finetune_from, by identity"):
        check_same_run(replace(tuned, finetune_from=str(tmp_path / "other")), "text", tmp_path / "tuned")
    identity = json.loads((tmp_path / "tuned/identity.json").read_bytes())
    identity["settings"]["finetune_from"] = identity["settings"].pop("finetune_from, by identity")
    (tmp_path / "tuned/identity.json").write_text(json.dumps(identity), encoding="utf-8")
    check_same_run(replace(tuned, finetune_from=str(tmp_path / "moved")), "text", tmp_path / "tuned")
    with pytest.raises(UserError, match="finetune_from, by identity"):
        check_same_run(config, "text", tmp_path / "tuned")
    (tmp_path / "other/checkpoints/step-1").mkdir(parents=True)
    with pytest.raises(UserError, match="finetune_from, by identity: None -> "):
        check_same_run(replace(tuned, seed=2, finetune_from=str(tmp_path / "moved")), "text", tmp_path / "other")


@pytest.mark.parametrize(
    ("given", "least"), [("data.filters.max_tokens=1500", 1501), ("training.micro_batch_tokens=8192", 8192)]
)
def test_the_batch_that_auto_chooses_holds_the_longest_row_and_the_micro_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, least: int
) -> None:
    """In little text and time it would be 1,024."""
    monkeypatch.setattr(automatic, "target_tokens_per_second", lambda *_, **__: 500.0)
    config = small_runs.train_config(small_runs.arguments(command(tmp_path, "1m"), given))
    assert automatic.chosen(config, time.monotonic(), 1).training.batch_tokens == least


@pytest.mark.long
def test_a_budget_is_kept_by_the_clock_on_the_wall(tmp_path: Path) -> None:
    start = time.monotonic()
    assert small_runs.train(command(tmp_path, "20s")) == 0
    assert 17 < time.monotonic() - start < 23
    rates = [line["learning_rate"] for line in recorded(tmp_path, "train")]
    assert rates[-1] < 0.2 * max(rates)


def test_auto_needs_a_budget_and_a_new_model(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = command(tmp_path, "9s")
    assert small_runs.train([word for word in words if not word.startswith("budget")]) == 2
    assert "experiment=auto also needs budget, for example budget=2h" in capfd.readouterr().err
    assert small_runs.train(words, "automatic=[training.adam_beta1]") == 2
    assert "automatic: training.adam_beta1: a recipe chooses only" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("model=toy", "model"),
        ("++training.batch_tokens=900", "training.batch_tokens"),
        ("augmentation=mozilla", "data.augmentation"),
    ],
)
def test_what_is_typed_is_not_automatic(tmp_path: Path, typed: str, key: str) -> None:
    every = small_runs.train_config(command(tmp_path, "9s")).automatic  # beside data=files
    left = small_runs.train_config(command(tmp_path, "9s"), typed).automatic
    assert left == [option for option in every if not f"{option}.".startswith(f"{key}.")] != every
