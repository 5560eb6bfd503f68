"""Section 5: the training loop."""

import math
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import TypeVar

import torch

from mt.data.loader import StepBatches, TrainingOrder
from mt.errors import DivergedError, StoppedError
from mt.fast.compiled import uncompiled
from mt.model.transformer import Transformer
from mt.runs.checkpoint import Checkpoints, TrainingState, Window
from mt.runs.metrics import Metrics, Progress, format_seconds, perplexity
from mt.runs.signals import StopRequest
from mt.runtime import seed_everything
from mt.training.processes import SINGLE_PROCESS, Ranks, Replica
from mt.training.step import StepResult, TrainingLoss, train_step

_SKIPS_BEFORE_GIVING_UP = 5
_NOTHING, _TIME_IS_OVER = 0, 1  # why ranks leave; other numbers are those of signals, of which none is 1 here

Result = TypeVar("Result")


@dataclass
class Validation:
    """One look at the validation set: nats per target token, and BLEU of greedy translations (None without lines)."""

    loss: float
    nll: float
    bleu: float | None


class Trainer:
    """Runs steps from a state until a limit, with validation, checkpoints and log lines on their schedules."""

    def __init__(
        self,
        *,
        model: Transformer,
        optimizer: torch.optim.Optimizer,
        schedule: Callable[[int], float],
        order: TrainingOrder,
        validate: Callable[[], Validation] | None,
        checkpoints: Checkpoints,
        metrics: Metrics,
        stop: StopRequest,
        autocast: Callable[[], AbstractContextManager[None]],
        label_smoothing: float,
        seed: int,
        max_steps: int,
        max_minutes: float | None,
        validate_every_steps: int,
        checkpoint_every_steps: int,
        patience: int | None,
        log_every_steps: int,
        ranks: Ranks = SINGLE_PROCESS,
        replica: Replica | None = None,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.schedule = schedule
        self.order = order
        self.validate = validate
        self.checkpoints = checkpoints
        self.metrics = metrics
        self.stop = stop
        self.autocast = autocast
        self.label_smoothing = label_smoothing
        self.ranks = ranks
        self.replica = replica or ranks.wrap(TrainingLoss(model, label_smoothing=label_smoothing), optimizer)
        self.seed = seed
        self.max_steps = max_steps
        self.max_minutes = max_minutes
        self.validate_every_steps = validate_every_steps
        self.checkpoint_every_steps = checkpoint_every_steps
        self.patience = patience
        self.log_every_steps = log_every_steps

    def run(self, state: TrainingState) -> TrainingState:
        """Train until `max_steps` or until validation stops improving.

        Raises StoppedError (a signal came, or `max_minutes` are over; the state is saved) and DivergedError
        (5 steps in a row without a finite gradient; the last checkpoint stays as it was).
        """
        self._started = time.monotonic() - state.training_seconds
        self._window_start = time.monotonic() - state.window.seconds
        self._deadline = time.monotonic() + 60 * (self.max_minutes if self.max_minutes is not None else float("inf"))
        self._progress = Progress(total_steps=self.max_steps, step=state.step, shown=self.ranks.is_rank_zero)
        self._saved_step = state.step
        state.on_schedule = True  # a stop that left its checkpoint is over
        batches = self.order.steps(epoch=state.epoch, start=state.next_batch)
        try:
            with self.stop.held_back(), closing(batches):
                if state.validation_due:
                    self._after_step(state)
                while not self._finished(state):
                    self._next_step(state, batches)
        finally:
            self._progress.close()
        return state

    def _finished(self, state: TrainingState) -> bool:
        return is_finished(state, max_steps=self.max_steps, patience=self.patience)

    def _next_step(self, state: TrainingState, stream: Generator[StepBatches, None, None]) -> None:
        start = time.monotonic()
        alone = self.ranks.world_size == 1  # otherwise the others would wait in the step for one that left
        batches = self._unless_stopped(state, lambda: self._at_once(lambda: next(stream)) if alone else next(stream))
        state.epoch, state.next_batch = batches.epoch, batches.next_batch
        state.window.waiting_seconds += time.monotonic() - start
        self._step(state, batches)
        self._after_step(state)

    def _at_once(self, action: Callable[[], Result]) -> Result:
        with self.stop.at_once():
            return action()

    def _unless_stopped(self, state: TrainingState, action: Callable[[], Result]) -> Result:
        """Do what may take long and changes nothing; a signal during it saves the state and leaves."""
        try:
            return action()
        except StoppedError as error:
            self.stop.signal_number = error.signal_number
            if state.step != self._saved_step:
                self._save(state)
            raise self._stopped(state) from None

    def _step(self, state: TrainingState, batches: StepBatches) -> None:
        state.step += 1
        own_dropout = (self.ranks.rank,) if self.ranks.rank else ()
        seed_everything(self.seed, state.step, *own_dropout)
        self.replica.loss.train()
        rate = self.schedule(state.step)
        result = train_step(
            self.replica,
            batches.micro_batches,
            learning_rate=rate,
            autocast=self.autocast,
            ranks=self.ranks,
            tokens=(batches.source_tokens, batches.target_tokens),
        )
        if result.finite:
            state.consecutive_skips = 0
            state.source_tokens += result.source_tokens
            state.target_tokens += result.target_tokens
            _add(state.window, result)
        else:
            self._skip(state)
        if state.step % self.log_every_steps == 0 and state.window.steps:
            self._log(state, rate, result.gradient_norm)

    def _skip(self, state: TrainingState) -> None:
        state.skipped_steps += 1
        state.consecutive_skips += 1
        self.metrics.write(step=state.step, kind="skipped", skipped_steps=state.skipped_steps)
        self._progress.line(f"step {state.step}: the gradient is not finite: step skipped, weights unchanged")
        if state.consecutive_skips >= _SKIPS_BEFORE_GIVING_UP:
            raise DivergedError(
                f"step {state.step}: {_SKIPS_BEFORE_GIVING_UP} steps in a row without a finite gradient: lower "
                "training.learning_rate_factor, raise training.warmup_steps, or set training.precision=fp32; "
                f"the checkpoints up to step {max(self.checkpoints.steps(), default=0)} are intact"
            )

    def _log(self, state: TrainingState, rate: float, gradient_norm: float) -> None:
        summary = _summary(state.window, seconds=time.monotonic() - self._window_start)
        self.metrics.write(
            step=state.step,
            kind="train",
            epoch=state.epoch,
            **summary,
            learning_rate=rate,
            gradient_norm=gradient_norm,
            target_tokens=state.target_tokens,
            skipped_steps=state.skipped_steps,
            training_seconds=time.monotonic() - self._started,
        )
        self._progress.update(
            state.step,
            epoch=str(state.epoch),
            loss=f"{summary['loss']:.3f}",
            perplexity=f"{summary['perplexity']:.1f}",
            lr=f"{rate:.2e}",
            tokens=f"{summary['target_tokens_per_second']:,.0f}/s",
        )
        state.window = Window()
        self._window_start = time.monotonic()

    def _after_step(self, state: TrainingState) -> None:
        last = state.step >= self.max_steps
        due = state.step % self.validate_every_steps == 0 or last
        if self.validate is not None and (due or state.validation_due):
            self._validate(state, self.validate)
        leaving = self._leaving()
        finished = self._finished(state)
        if state.step % self.checkpoint_every_steps == 0 or leaving or finished:
            self._save(state)
        if leaving and not finished:
            raise self._stopped(state)

    def _leaving(self) -> bool:
        """Whether a signal reached any rank, or the time is over."""
        over = _TIME_IS_OVER if time.monotonic() > self._deadline else _NOTHING
        why = self.ranks.largest(self.stop.signal_number or over)
        if why > _TIME_IS_OVER:
            self.stop.signal_number = why
        return why != _NOTHING

    def _save(self, state: TrainingState) -> None:
        state.on_schedule = state.step % self.checkpoint_every_steps == 0
        state.training_seconds = time.monotonic() - self._started
        state.window.seconds = time.monotonic() - self._window_start
        self.metrics.sync()
        self.replica.collect(True)
        self.ranks.on_rank_zero(lambda: self.checkpoints.save(self.model, self.optimizer, state))
        self._saved_step = state.step

    def _stopped(self, state: TrainingState) -> StoppedError:
        why = "a signal asked to stop" if self.stop else f"training.max_minutes={self.max_minutes} are over"
        run_dir = self.checkpoints.folder.parent
        return StoppedError(
            f"{why}: saved at step {state.step:,} of {self.max_steps:,}; the same command continues, and "
            f"mt-average run_dir={run_dir} makes a model to translate with of what there is",
            signal_number=self.stop.signal_number,
        )

    def _validate(self, state: TrainingState, validate: Callable[[], Validation]) -> None:
        start = time.monotonic()
        state.validation_due = True
        self.replica.collect(False)
        self.model.eval()
        with torch.inference_mode(), uncompiled():
            seen = self._unless_stopped(state, lambda: self.ranks.on_rank_zero(lambda: self._at_once(validate)))
        state.validation_due = False
        score = seen.bleu if seen.bleu is not None else -seen.nll
        if math.isfinite(score) and (state.best_score is None or score > state.best_score):
            state.best_score, state.best_step, state.validations_without_progress = score, state.step, 0
            self.ranks.on_rank_zero(lambda: self.checkpoints.save_best(self.model, state))
        else:
            state.validations_without_progress += 1
        seconds = time.monotonic() - start
        self.metrics.write(
            step=state.step,
            kind="validation",
            loss=seen.loss,
            nll=seen.nll,
            perplexity=perplexity(seen.nll),
            bleu=seen.bleu,
            best_step=state.best_step,
            seconds=seconds,
        )
        bleu = "" if seen.bleu is None else f"  BLEU (greedy) {seen.bleu:.2f}"
        best = "  best so far" if state.best_step == state.step else ""
        values = f"loss {seen.loss:.3f}  perplexity {perplexity(seen.nll):.2f}{bleu}"
        self._progress.line(f"step {state.step:,} validation: {values}{best}  ({format_seconds(seconds)})")
        self._window_start += seconds


def is_finished(state: TrainingState, *, max_steps: int, patience: int | None) -> bool:
    """Whether nothing is left to do: all steps are made, or `patience` validations brought no progress."""
    stale = patience is not None and state.validations_without_progress >= patience
    return not state.validation_due and (stale or state.step >= max_steps)


def _add(window: Window, result: StepResult) -> None:
    window.loss += result.loss * result.target_tokens
    window.nll += result.nll * result.target_tokens
    window.steps += 1
    window.source_tokens += result.source_tokens
    window.target_tokens += result.target_tokens


def _summary(window: Window, *, seconds: float) -> dict[str, float]:
    likelihood = window.nll / window.target_tokens
    return {
        "loss": window.loss / window.target_tokens,
        "nll": likelihood,
        "perplexity": perplexity(likelihood),
        "target_tokens_per_second": window.target_tokens / seconds,
        "source_tokens_per_second": window.source_tokens / seconds,
        "input_waiting_share": window.waiting_seconds / seconds,
    }
