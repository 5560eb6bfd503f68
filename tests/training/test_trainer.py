"""RELIABILITY 5, 7, 9: what the loop does on every schedule, and that a stop at any step changes nothing."""

import contextlib
import dataclasses
import itertools
import json
import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pairs import listed_pairs, random_pairs
from reliability import Trials

from mt.data.batch import Pairs
from mt.data.loader import TrainingOrder
from mt.errors import DivergedError, StoppedError
from mt.model.architecture import Architecture
from mt.runs.atomic import read_folder
from mt.runs.checkpoint import Checkpoints, TrainingState, model_tensors
from mt.runs.signals import stop_on_signals
from mt.training import diagnosis
from mt.training.diagnosis import Diagnosis, WatchedMetrics
from mt.training.limits import Clock
from mt.training.loss import LossSums, ProjectedLoss, projected_loss
from mt.training.processes import SINGLE_PROCESS, ProcessGroup
from mt.training.step import TrainingLoss
from mt.training.trainer import LoopSettings, StepSettings, Trainer, Validation, is_finished

VOCAB_SIZE = 12
CORPUS = listed_pairs(random_pairs(20, longest=5, vocab_size=VOCAB_SIZE, seed=3))  # five batches an epoch, below
TIMES = {"input_waiting_share", "target_tokens_per_second", "source_tokens_per_second", "training_seconds", "seconds"}


class Run:
    """A run folder and the settings of a run; `start` is one process of it. What happens at a step is in `events`."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.folder = folder
        self.loop: dict[str, Any] = {
            "max_steps": 12,
            "validate_every_steps": 5,
            "checkpoint_every_steps": 4,
            "patience": None,
            "log_every_steps": 3,
            **changes,
        }
        self.events: dict[tuple[str, int], Callable[[], None]] = {}
        self.step = 0
        self.expected: list[int] = []
        self.keep = 3
        self.entropy = 9.0  # nats; far above what this model begins with
        self.scores: Callable[[int], float] | None = None
        self.validate = True
        self.minutes: float | None = None
        self.paces = False
        self.ranks = SINGLE_PROCESS
        self.loss: ProjectedLoss = projected_loss
        folder.mkdir(exist_ok=True)

    def happen(self, what: str) -> None:
        self.events.pop((what, self.step), lambda: None)()

    def start(self) -> TrainingState:
        torch.manual_seed(1)
        sizes = {"num_layers": 1, "d_model": 8, "d_ff": 8, "num_heads": 2}
        self.model = Architecture(vocab_size=VOCAB_SIZE, dropout=0.3, pad=0, **sizes).transformer()
        optimizer = torch.optim.Adam(self.model.parameters(), lr=0.0, fused=True)
        checkpoints = Checkpoints(self.folder / "checkpoints", keep=self.keep, run="a")
        loaded = checkpoints.load_newest(self.model, optimizer)
        state = loaded[0] if loaded else TrainingState()
        order = TrainingOrder(corpus_of_epoch=self._corpus, batch_tokens=30, micro_batch_tokens=15, seed=5)
        watching = Diagnosis(unigram_entropy=self.entropy, warmup_steps=1, max_steps=12, label_smoothing=0.1)
        path = self.folder / "metrics.jsonl"
        metrics = WatchedMetrics(path, step=state.step, tensorboard=False, diagnosis=watching)
        loss = TrainingLoss(self.model, label_smoothing=0.1, loss=self.loss)
        with contextlib.closing(metrics), stop_on_signals() as stop:
            return Trainer(
                SINGLE_PROCESS.wrap(loss, optimizer),
                order=order,
                steps=StepSettings(learning_rate=self._learning_rate, autocast=contextlib.nullcontext, seed=9),
                loop=LoopSettings(**self.loop),
                validate=self._validate if self.validate else None,
                checkpoints=checkpoints,
                metrics=metrics,
                stop=stop,
                clock=Clock(self.minutes, time.monotonic(), paces=self.paces),
                ranks=self.ranks,
                report_expected_steps=self.expected.append,
            ).run(state)

    def _corpus(self, _epoch: int) -> Pairs:
        self.happen("new epoch")
        return CORPUS

    def _learning_rate(self, step: int) -> float:
        self.step = step
        self.happen("step")
        return 0.01 / step

    def _validate(self) -> Validation:
        self.happen("validation")
        assert not self.model.training
        total = sum(float(parameter.sum()) for parameter in self.model.parameters())
        score = total if self.scores is None else self.scores(self.step)
        return Validation(loss=abs(total), nll=abs(total), bleu=score)

    def lines(self) -> list[dict[str, Any]]:
        text = (self.folder / "metrics.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def outcome(self) -> dict[str, Any]:
        """All that a run leaves behind, except times."""
        found: dict[str, Any] = {"lines": [{k: v for k, v in line.items() if k not in TIMES} for line in self.lines()]}
        for folder in sorted((self.folder / "checkpoints").iterdir()):
            found[folder.name] = read_folder(folder)
            state = json.loads(found[folder.name].pop("state.json"))
            for name in ("training_seconds", "joules", "budget_seconds", "progress", "validation_seconds"):
                del state[name]
            state["window"].pop("seconds")
            state["window"].pop("waiting_seconds")
            found[folder.name]["state"] = state
        return found


def send(number: signal.Signals) -> Callable[[], None]:
    return lambda: signal.raise_signal(number)


SCHEDULES = [
    {"log_every_steps": 3, "checkpoint_every_steps": 4, "validate_every_steps": 5},
    {"log_every_steps": 5, "checkpoint_every_steps": 1, "validate_every_steps": 2},
    {"log_every_steps": 7, "checkpoint_every_steps": 100, "validate_every_steps": 3},
]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run with the first schedule leaves behind."""
    run = Run(tmp_path_factory.mktemp("run"), **SCHEDULES[0])
    assert run.start().epoch == 2
    return run.outcome()


@pytest.mark.reliability(7)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=["4", "1", "100"])
def test_a_stop_at_any_step_changes_nothing(tmp_path: Path, schedule: dict[str, int], trials: Trials) -> None:
    """Four steps lie between two stops, so that logging and scheduled checkpoints fall before, between and after."""
    whole = Run(tmp_path / "whole", **schedule)
    whole.start()
    for first in range(1, 5):
        run = Run(tmp_path / f"from {first}", **schedule)
        for step in trials(range(first, 12, 4)):
            run.events["step", step] = send(signal.SIGTERM)
            with pytest.raises(StoppedError, match=f"saved at step {step} of 12"):
                run.start()
        run.start()
        assert run.outcome() == whole.outcome(), first


@pytest.mark.reliability(7)
def test_a_problem_is_recorded_once_however_often_the_run_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss of random pairs cannot fall far; the metrics record it as if the run had never been stopped."""
    monkeypatch.setattr(diagnosis, "LEAST_STEPS_AFTER_WARMUP", 2)
    values = {"log_every_steps": 1, "validate_every_steps": 2}

    def begin(folder: Path) -> Run:
        run = Run(folder, **values)
        run.entropy = 1.5
        run.scores = lambda step: -step
        return run

    whole = begin(tmp_path / "whole")
    whole.start()
    warnings = [line for line in whole.lines() if line["kind"] == "warning"]
    assert [(line["step"], line["symptom"]) for line in warnings] == [(3, "loss not falling")]
    for part in ("1.50", "lower training.learning_rate", "training.warmup_steps", "make inspect"):
        assert part in warnings[0]["message"]
    torn = begin(tmp_path / "torn")
    for step in range(1, 12):
        torn.events["step", step] = send(signal.SIGTERM)
        with pytest.raises(StoppedError):
            torn.start()
    torn.start()
    assert torn.outcome() == whole.outcome()


@pytest.mark.reliability(5, 7)
def test_stops_at_every_step_in_validation_and_between_epochs_change_nothing(
    tmp_path: Path, uninterrupted: dict[str, Any]
) -> None:
    """Every step is made by a process of its own, and validation and the reading of an epoch are cut short too."""
    run = Run(tmp_path / "torn", **SCHEDULES[0])
    for step in range(1, 12):
        run.events["step", step] = send(signal.SIGINT)
    for step in (5, 10, 12):
        run.events["validation", step] = send(signal.SIGUSR1)
    run.events["new epoch", 4] = send(signal.SIGTERM)
    codes = []
    for _ in range(30):
        try:
            state = run.start()
            break
        except StoppedError as error:
            codes.append(error.exit_code)
    assert state.step == 12
    assert codes.count(130) == 11
    assert codes.count(143) >= 1
    assert run.outcome() == uninterrupted


@pytest.mark.parametrize(("step", "before"), [(5, []), (12, [5, 10])], ids=["first", "last"])
def test_a_stop_in_validation_leaves_at_once_and_validates_later(
    tmp_path: Path, step: int, before: list[int], uninterrupted: dict[str, Any]
) -> None:
    run = Run(tmp_path / "run")
    run.events["validation", step] = send(signal.SIGTERM)
    with pytest.raises(StoppedError, match=f"saved at step {step}"):
        run.start()
    assert [line["step"] for line in run.lines() if line["kind"] == "validation"] == before
    run.start()
    assert [line["step"] for line in run.lines() if line["kind"] == "validation"] == [5, 10, 12]
    assert run.outcome() == uninterrupted


def test_a_stop_before_the_first_step_claims_to_have_saved_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.events["new epoch", 0] = send(signal.SIGTERM)
    with pytest.raises(StoppedError, match="before the first step"):
        run.start()
    assert not list((run.folder / "checkpoints").glob("step-*"))


def test_a_stop_at_the_last_step_is_obeyed_after_it_is_saved(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.validate = False
    run.events["step", 12] = send(signal.SIGTERM)
    with pytest.raises(StoppedError):
        run.start()
    assert run.start().step == 12


def test_running_out_of_time_validates_and_continues_as_if_it_had_not(
    tmp_path: Path, uninterrupted: dict[str, Any]
) -> None:
    """Patience, the best model and the metrics know nothing of a validation that only the clock asked for."""
    run = Run(tmp_path / "run")
    run.minutes = 1e-9
    for step in range(1, 12):
        assert run.start().step == step
        kinds = ["validation"] if step in (5, 10) else ["unscheduled validation"]
        assert [line["kind"] for line in run.lines() if line["step"] == step and "valid" in line["kind"]] == kinds
    run.minutes = None
    run.start()
    assert run.outcome() == uninterrupted


def test_half_of_the_time_without_a_validation_brings_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    run = Run(tmp_path / "run", validate_every_steps=100)
    run.minutes = 1.0
    for step in range(1, 13):
        run.events["step", step] = lambda: now.__setitem__(0, now[0] + 6.0)
    assert run.start().step == 11
    assert [line["step"] for line in run.lines() if line["kind"] == "unscheduled validation"] == [5, 11]


class PacedRun(Run):
    """A run of 10 minutes by a clock of its own; notes when each step began and the position of its rate."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, seconds_of_step: Callable[[float], float]
    ) -> None:
        super().__init__(folder, validate_every_steps=3, checkpoint_every_steps=2)
        self.minutes, self.paces, self.now, self.seconds_of_step = 10.0, True, 0.0, seconds_of_step
        self.steps: list[tuple[float, float]] = []
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def _learning_rate(self, step: float) -> float:
        self.steps.append((self.now, step))
        self.now += self.seconds_of_step(self.now)
        self.step = len(self.steps)
        self.happen("step")
        return 0.001

    def _validate(self) -> Validation:
        self.now += 10
        return super()._validate()


@pytest.mark.parametrize("slower", [2.0, 0.5])
def test_a_schedule_by_time_ends_in_time_and_decayed_at_any_speed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slower: float
) -> None:
    """From the middle on a step takes longer, or less; `max_steps` is a scale and no end."""
    run = PacedRun(tmp_path / "run", monkeypatch, lambda now: 10.0 * (slower if now > 300 else 1.0))
    state = run.start()
    assert 585 < run.now <= 600 + 20 * slower
    assert state.progress == 1.0
    validated = [line["step"] for line in run.lines() if "validation" in line["kind"]]
    assert [run.steps[step - 1][1] - 1 for step in validated] == pytest.approx([3, 6, 9, 12], abs=1.6)
    checkpoints = [int(path.name.removeprefix("step-")) for path in (run.folder / "checkpoints").glob("step-*")]
    assert [run.steps[step - 1][1] - 1 for step in sorted(checkpoints)] == pytest.approx([8, 10, 12], abs=1.6)
    positions = [position for _, position in run.steps]
    assert positions == sorted(positions)
    assert positions[0] == 1.0
    assert 12 * (1 - 40 * slower / 600) < positions[-1] - 1 < 12
    for began, position in run.steps:  # the time that is used decides, not the steps
        assert position - 1 == pytest.approx(12 * began / 590, abs=1.6)
    steps = state.step
    assert run.start().step == steps
    assert len(run.steps) == steps


def test_first_steps_that_compile_move_a_schedule_by_time_no_further_than_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU's first steps once took half of a budget: the rate began at its peak, and nothing was learned."""
    run = PacedRun(tmp_path / "run", monkeypatch, lambda _: 100.0 if run.step in (0, 1, 4) else 2.0)
    run.step = 0
    assert run.start().progress == 1.0
    assert 585 < run.now <= 600 + 20
    positions = [position for _, position in run.steps]
    moved = [later - sooner for sooner, later in itertools.pairwise(positions)]
    assert positions[8] < 2.2  # of 13
    assert max(moved[:9]) < 4 * moved[11]
    assert positions[-1] > 12.5


@pytest.mark.parametrize("seconds", [2.0, 12.0, 25.0])
def test_a_schedule_by_time_of_few_steps_warms_up_and_decays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    run = PacedRun(tmp_path / "run", monkeypatch, lambda _: seconds)
    run.minutes = 4.0
    run.start()
    positions = [position for _, position in run.steps]
    assert max(later - sooner for sooner, later in itertools.pairwise(positions)) < 12 * max(4.5 * seconds, 15) / 200
    assert positions[-1] > 1 + 12 * (1 - 3.5 * seconds / 200)


def test_rank_zero_alone_tells_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another rank, whose own clock has long ended, follows what rank zero says in the number they agree on anyway."""
    reported = []

    class RankOne(ProcessGroup):
        rank, world_size, is_rank_zero = 1, 2, False

        def largest(self, number: int) -> int:
            reported.append(number)
            return [1 << 31, 3 << 30, 2 << 32][len(reported) - 1]  # half, three quarters, out of time

    run = PacedRun(tmp_path / "run", monkeypatch, lambda _: 10_000.0)
    run.ranks = RankOne()
    state = run.start()
    assert [position for _, position in run.steps] == [1.0, 7.0, 10.0]
    assert state.progress == 1.0
    assert reported == [0, 0, 0]


def test_a_stopped_schedule_by_time_continues_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the second command needs before its first step is of the budget too; the pause between them is not."""
    run = PacedRun(tmp_path / "run", monkeypatch, lambda _: 20.0)
    run.events["step", 10] = send(signal.SIGTERM)
    with pytest.raises(StoppedError, match="saved at step 10;"):
        run.start()
    used, stopped_at = run.now, run.steps[-1][1]
    run.now += 5000
    begun = run.now
    run.start()
    assert run.steps[10][1] == pytest.approx(stopped_at, abs=0.8)
    assert 585 < used + run.now - begun <= 620


def test_a_stop_in_the_last_tenth_of_a_schedule_by_time_loses_none_of_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long the end takes is not forgotten."""
    run = PacedRun(tmp_path / "run", monkeypatch, lambda _: 5.0)
    run.events["step", 107] = send(signal.SIGTERM)
    with pytest.raises(StoppedError):
        run.start()
    stopped = run.steps[-1]
    assert 540 < run.now < 590
    run.start()
    assert 585 < run.now <= 605
    after = [position for began, position in run.steps if began > stopped[0]]
    assert len(after) > 3
    assert after == sorted(after)
    assert after[0] == pytest.approx(stopped[1], abs=0.2)


def test_a_larger_budget_goes_on_from_where_the_schedule_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = PacedRun(tmp_path / "run", monkeypatch, lambda _: 20.0)
    run.events["step", 15] = send(signal.SIGTERM)
    with pytest.raises(StoppedError):
        run.start()
    began, half = run.steps[-1]
    run.minutes = 100.0
    run.start()
    positions = [position for at, position in run.steps if at > began]
    assert positions[0] == pytest.approx(half, abs=0.5)
    assert max(later - sooner for sooner, later in itertools.pairwise(positions)) < 0.15
    assert all(later > sooner for sooner, later in itertools.pairwise(positions[3:]))
    assert 5990 < run.now <= 6020


def test_a_death_after_a_checkpoint_loses_no_validation_of_a_schedule_by_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both intervals end at the same step; the validation would follow the next one."""

    def die() -> None:
        raise RuntimeError

    def validated(run: Run) -> list[int]:
        return [line["step"] for line in run.lines() if line["kind"] == "validation"]

    whole = PacedRun(tmp_path / "whole", monkeypatch, lambda _: 20.0)
    whole.loop["checkpoint_every_steps"] = 3
    whole.start()
    run = PacedRun(tmp_path / "run", monkeypatch, lambda _: 20.0)
    run.loop["checkpoint_every_steps"] = 3
    run.events["step", validated(whole)[0]] = die
    with pytest.raises(RuntimeError):
        run.start()
    assert validated(run) == []
    run.start()
    assert len(validated(run)) == len(validated(whole))


def test_a_stop_right_after_a_checkpoint_by_time_does_not_count_in_the_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = PacedRun(tmp_path / "run", monkeypatch, lambda _: 20.0)
    run.loop["checkpoint_every_steps"] = 3
    monkeypatch.setattr(run, "_validate", send(signal.SIGTERM))
    with pytest.raises(StoppedError):
        run.start()
    scheduled, stopped = Checkpoints(run.folder / "checkpoints", keep=3, run="a").steps()
    assert stopped == scheduled + 1
    saved = [json.loads(read_folder(run.folder / f"checkpoints/step-{n}")["state.json"]) for n in (scheduled, stopped)]
    assert [state["on_schedule"] for state in saved] == [True, False]


def test_more_steps_continue_a_finished_run(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", max_steps=8, validate_every_steps=4)
    assert run.start().step == 8
    saved = run.outcome()
    assert run.start().step == 8
    assert run.outcome() == saved
    run.loop["max_steps"] = 12
    run.start()
    whole = Run(tmp_path / "whole", validate_every_steps=4)
    whole.start()
    assert run.outcome() == whole.outcome()


def test_a_run_without_validation(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.validate = False
    assert run.start().best_score is None
    assert {line["kind"] for line in run.lines()} == {"train"}


def test_validation_compiles_nothing(tmp_path: Path) -> None:
    """Its batches have any shape, and each new shape would be compiled."""

    def refuse(*_: object) -> Callable[..., Any]:
        raise NotImplementedError

    compiled = torch.compile(lambda tensor: tensor + 1, backend=refuse)
    with pytest.raises(Exception, match="NotImplementedError"):
        compiled(torch.ones(1))
    run = Run(tmp_path / "run", max_steps=1)
    run.scores = lambda step: float(compiled(torch.tensor(step)))
    assert run.start().best_score == 2


def test_log_lines_are_the_mean_of_their_steps(tmp_path: Path) -> None:
    """Weighted by target tokens; a line of three steps against three lines of one."""
    single = Run(tmp_path / "single", log_every_steps=1)
    single.start()
    triple = Run(tmp_path / "triple", log_every_steps=3)
    triple.start()
    ones = [line for line in single.lines() if line["kind"] == "train"]
    for line in (line for line in triple.lines() if line["kind"] == "train"):
        averaged = [one for one in ones if line["step"] - 3 < one["step"] <= line["step"]]
        ends = [0, *(one["target_tokens"] for one in ones)]
        weights = [ends[one["step"]] - ends[one["step"] - 1] for one in averaged]
        for key in ("loss", "nll"):
            mean = sum(weight * one[key] for weight, one in zip(weights, averaged, strict=True)) / sum(weights)
            assert line[key] == pytest.approx(mean, rel=1e-12)
        assert line["perplexity"] == pytest.approx(math.exp(line["nll"]))


# ---------------------------------------------------------------------------- best and early stopping


@pytest.mark.reliability(7)
def test_early_stopping_counts_validations_without_progress(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", max_steps=100, validate_every_steps=2, patience=3)
    scores = {2: 1.0, 4: 5.0, 6: 2.0, 8: 6.0, 10: 6.0, 12: 3.0, 14: 5.9}
    run.scores = scores.__getitem__
    for step in (5, 9, 11, 13):  # the counter survives restarts
        run.events["step", step] = send(signal.SIGTERM)
        with pytest.raises(StoppedError):
            run.start()
    state = run.start()
    assert (state.step, state.best_step, state.best_score, state.validations_without_progress) == (14, 8, 6.0, 3)
    assert run.start().step == 14  # started again it stays finished
    run.loop["patience"] = None
    run.loop["max_steps"] = 15
    run.scores = lambda _: 0.0
    assert run.start().step == 15


def test_a_score_that_is_not_a_number_is_not_progress(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", max_steps=6, validate_every_steps=2)
    run.scores = {2: math.nan, 4: 1.0, 6: math.nan}.__getitem__
    state = run.start()
    assert (state.best_step, state.best_score) == (4, 1.0)


@pytest.mark.parametrize(
    ("values", "patience", "finished"),
    [
        ({"step": 9}, None, False),
        ({"step": 10}, None, True),
        ({"step": 11}, None, True),
        ({"step": 10, "validation_due": True}, None, False),
        ({"step": 1, "validations_without_progress": 2}, 3, False),
        ({"step": 1, "validations_without_progress": 3}, 3, True),
    ],
)
def test_when_a_run_is_finished(values: dict[str, Any], patience: int | None, finished: bool) -> None:
    assert is_finished(TrainingState(**values), max_steps=10, patience=patience) == finished


# ---------------------------------------------------------------------------- losses that are not finite


def poison(run: Run, steps: set[int], value: float, *, gradient_too: bool) -> None:
    """At these steps the loss is not finite."""

    def poisoned(*arguments: Any, label_smoothing: float) -> LossSums:
        sums = projected_loss(*arguments, label_smoothing=label_smoothing)
        if run.step in steps:
            add = value if not gradient_too else value * sums.smoothed
            return dataclasses.replace(sums, smoothed=sums.smoothed + add)
        return sums

    run.loss = poisoned


@pytest.mark.reliability(9)
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("gradient_too", [True, False])
def test_a_step_without_a_finite_loss_is_skipped_and_counted(tmp_path: Path, value: float, gradient_too: bool) -> None:
    run = Run(tmp_path / "run", log_every_steps=1, checkpoint_every_steps=1)
    run.keep = 20
    run.validate = False
    poison(run, {3, 4, 8, 12}, value, gradient_too=gradient_too)
    state = run.start()
    assert state.skipped_steps == 4
    assert state.consecutive_skips == 1
    assert [line["step"] for line in run.lines() if line["kind"] == "skipped"] == [3, 4, 8, 12]
    files = [read_folder(run.folder / f"checkpoints/step-{step}") for step in range(1, 13)]
    same = [before["model.safetensors"] == after["model.safetensors"] for before, after in itertools.pairwise(files)]
    assert same == [step in (3, 4, 8, 12) for step in range(2, 13)]
    assert files[1]["optimizer.safetensors"] == files[3]["optimizer.safetensors"]
    assert all(torch.isfinite(tensor).all() for tensor in model_tensors(run.model).values())
    text = (run.folder / "metrics.jsonl").read_text(encoding="utf-8")
    assert "NaN" not in text
    assert "Infinity" not in text


@pytest.mark.reliability(9)
def test_five_in_a_row_end_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    poison(run, {2, 3, *range(5, 12)}, math.nan, gradient_too=True)
    with pytest.raises(DivergedError, match="step 9: 5 steps in a row") as caught:
        run.start()
    assert caught.value.exit_code == 3
    run.loss = projected_loss  # what made it diverge is gone, and the checkpoint is undamaged
    assert [folder.name for folder in sorted((run.folder / "checkpoints").glob("step-*"))] == ["step-4", "step-8"]
    assert run.start().step == 12
    assert run.start().skipped_steps == 6


@pytest.mark.reliability(9)
def test_four_in_a_row_over_a_restart_and_a_fifth_end_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.events["step", 6] = send(signal.SIGTERM)
    poison(run, set(range(3, 8)), math.nan, gradient_too=True)
    with pytest.raises(StoppedError):
        run.start()
    with pytest.raises(DivergedError, match="step 7"):
        run.start()
