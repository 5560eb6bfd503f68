"""Section 5: the training loop."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch

from mt.data.batch import Batch
from mt.data.loader import TrainingOrder
from mt.errors import DivergedError, StoppedError
from mt.model.transformer import Transformer
from mt.runtime import seed_everything
from mt.training.checkpoint import Checkpoints, TrainingState
from mt.training.interruption import StopRequest
from mt.training.metrics import MetricsFile, Progress, format_seconds, perplexity
from mt.training.step import StepResult, train_step

_SKIPS_BEFORE_GIVING_UP = 5


@dataclass
class Validation:
    """One look at the validation set: nats per target token, and BLEU of greedy translations (None without lines)."""

    loss: float
    negative_log_likelihood: float
    bleu: float | None


class _Window:
    """Sums over the steps since the last logged line."""

    def __init__(self) -> None:
        self.loss = self.negative_log_likelihood = 0.0
        self.steps = self.source_tokens = self.target_tokens = 0
        self.start = time.monotonic()

    def add(self, result: StepResult) -> None:
        self.loss += result.loss * result.target_tokens
        self.negative_log_likelihood += result.negative_log_likelihood * result.target_tokens
        self.steps += 1
        self.source_tokens += result.source_tokens
        self.target_tokens += result.target_tokens

    def summary(self) -> dict[str, float]:
        seconds = time.monotonic() - self.start
        return {
            "loss": self.loss / self.target_tokens,
            "nll": self.negative_log_likelihood / self.target_tokens,
            "perplexity": perplexity(self.negative_log_likelihood / self.target_tokens),
            "target_tokens_per_second": self.target_tokens / seconds,
            "source_tokens_per_second": self.source_tokens / seconds,
        }


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
        metrics: MetricsFile,
        stop: StopRequest,
        autocast: Callable[[], AbstractContextManager[None]],
        label_smoothing: float,
        seed: int,
        max_steps: int,
        max_minutes: float | None,
        validate_every_steps: int,
        checkpoint_every_steps: int,
        early_stopping_validations: int | None,
        log_every_steps: int,
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
        self.seed = seed
        self.max_steps = max_steps
        self.max_minutes = max_minutes
        self.validate_every_steps = validate_every_steps
        self.checkpoint_every_steps = checkpoint_every_steps
        self.early_stopping_validations = early_stopping_validations
        self.log_every_steps = log_every_steps

    def run(self, state: TrainingState) -> TrainingState:
        """Train until `max_steps` or until validation stops improving.

        Raises StoppedError (a signal came, or `max_minutes` are over; the state is saved) and DivergedError
        (5 steps in a row without a finite gradient; the last checkpoint stays as it was).
        """
        self._started = time.monotonic() - state.training_seconds
        self._deadline = time.monotonic() + 60 * (self.max_minutes if self.max_minutes is not None else float("inf"))
        self._progress = Progress(total_steps=self.max_steps, step=state.step)
        self._window = _Window()
        try:
            if not self._finished(state):
                for epoch, next_batch, micro_batches in self.order.steps(epoch=state.epoch, start=state.next_batch):
                    state.epoch, state.next_batch = epoch, next_batch
                    self._step(state, micro_batches)
                    self._after_step(state)
                    if self._finished(state):
                        break
        finally:
            self._progress.close()
        return state

    def _finished(self, state: TrainingState) -> bool:
        patience = self.early_stopping_validations
        stale = patience is not None and state.validations_without_progress >= patience
        return stale or state.step >= self.max_steps

    def _step(self, state: TrainingState, micro_batches: list[Batch]) -> None:
        state.step += 1
        seed_everything(self.seed, state.step)
        self.model.train()
        rate = self.schedule(state.step)
        result = train_step(
            self.model,
            self.optimizer,
            micro_batches,
            learning_rate=rate,
            label_smoothing=self.label_smoothing,
            autocast=self.autocast,
        )
        if result.finite:
            state.consecutive_skips = 0
            state.source_tokens += result.source_tokens
            state.target_tokens += result.target_tokens
            self._window.add(result)
        else:
            self._skip(state)
        if state.step % self.log_every_steps == 0 and self._window.steps:
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
        summary = self._window.summary()
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
        self._window = _Window()

    def _after_step(self, state: TrainingState) -> None:
        last = state.step >= self.max_steps
        if self.validate is not None and (state.step % self.validate_every_steps == 0 or last):
            self._validate(state, self.validate)
        leaving = bool(self.stop) or time.monotonic() > self._deadline
        if state.step % self.checkpoint_every_steps == 0 or last or leaving or self._finished(state):
            state.training_seconds = time.monotonic() - self._started
            self.metrics.sync()
            self.checkpoints.save(self.model, self.optimizer, state)
        if leaving and not self._finished(state):
            why = "a signal asked to stop" if self.stop else f"training.max_minutes={self.max_minutes} are over"
            raise StoppedError(
                f"{why}: saved at step {state.step}; the same command continues",
                signal_number=self.stop.signal_number,
            )

    def _validate(self, state: TrainingState, validate: Callable[[], Validation]) -> None:
        start = time.monotonic()
        self.model.eval()
        with torch.inference_mode():
            seen = validate()
        score = seen.bleu if seen.bleu is not None else -seen.negative_log_likelihood
        if state.best_score is None or score > state.best_score:
            state.best_score, state.best_step, state.validations_without_progress = score, state.step, 0
            self.checkpoints.save_best(self.model, state)
        else:
            state.validations_without_progress += 1
        seconds = time.monotonic() - start
        self.metrics.write(
            step=state.step,
            kind="validation",
            loss=seen.loss,
            nll=seen.negative_log_likelihood,
            perplexity=perplexity(seen.negative_log_likelihood),
            bleu=seen.bleu,
            best_step=state.best_step,
            seconds=seconds,
        )
        bleu = "" if seen.bleu is None else f"  BLEU (greedy) {seen.bleu:.2f}"
        best = "  best so far" if state.best_step == state.step else ""
        values = f"loss {seen.loss:.3f}  perplexity {perplexity(seen.negative_log_likelihood):.2f}{bleu}"
        self._progress.line(f"step {state.step:,} validation: {values}{best}  ({format_seconds(seconds)})")
        self._window.start += seconds
