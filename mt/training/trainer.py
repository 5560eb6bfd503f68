"""Section 5: the training loop."""

import math
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from mt.data.loader import Pairs, StepBatches, TrainingOrder, validation_batches
from mt.errors import DivergedError, StoppedError
from mt.reporting import Progress, format_seconds
from mt.runs.checkpoint import Checkpoints, TrainingState, Window
from mt.runs.metrics import MetricsFile, perplexity
from mt.runs.signals import StopRequest
from mt.runtime import seed_everything
from mt.training.processes import SINGLE_PROCESS, ProcessGroup, Replica
from mt.training.step import SideBySide, TrainingLoss, train_step

_MAX_CONSECUTIVE_SKIPS = 5
_GO_ON, _OUT_OF_TIME = 0, 1  # why the ranks stop; any other number is a signal's, and no signal that is handled is 1


@dataclass(frozen=True)
class Validation:
    """Losses on the validation set in nats per target token, and BLEU of greedy translations (None without text)."""

    loss: float
    nll: float
    bleu: float | None


@dataclass(frozen=True)
class StepSettings:
    """What every step computes with."""

    learning_rate: Callable[[int], float]
    autocast: Callable[[], AbstractContextManager[None]]
    seed: int  # of dropout
    side_by_side: SideBySide | None = None  # the micro-batches of a step


@dataclass(frozen=True)
class LoopSettings:
    """When the loop ends (None: never for this reason), and after how many steps it validates, saves and logs."""

    max_steps: int
    max_minutes: float | None  # counted from the start of `run`
    patience: int | None  # validations without a new best score
    validate_every_steps: int
    checkpoint_every_steps: int
    log_every_steps: int


@dataclass(eq=False)
class Trainer:
    """Runs steps from a state until a limit; validates, saves and logs at their intervals."""

    replica: Replica
    order: TrainingOrder
    steps: StepSettings
    loop: LoopSettings
    validate: Callable[[], Validation] | None
    checkpoints: Checkpoints
    metrics: MetricsFile | None  # of rank zero
    stop: StopRequest
    ranks: ProcessGroup = SINGLE_PROCESS

    def run(self, state: TrainingState) -> TrainingState:
        """Train until `max_steps` or until validation stops improving.

        Raises StoppedError (a signal arrived or `max_minutes` are over; the state is saved) and DivergedError
        (5 steps in a row without a finite gradient; the last checkpoint is unchanged).
        """
        now, minutes = time.monotonic(), self.loop.max_minutes
        self._started = now - state.training_seconds
        self._window_start = now - state.window.seconds
        self._deadline = now + 60 * (minutes if minutes is not None else math.inf)
        self._progress = Progress(
            "training", total=self.loop.max_steps, unit="steps", done=state.step, shown=self.ranks.is_rank_zero
        )
        self._saved_step = state.step
        state.on_schedule = True  # a stop that left its checkpoint is over
        stream = self.order.steps(epoch=state.epoch, start=state.next_batch)
        try:
            with self.stop.held_back(), closing(stream):
                if state.validation_due:
                    self._after_step(state)
                while not self._finished(state):
                    self._step(state, self._next_batches(state, stream))
                    self._after_step(state)
        finally:
            self._progress.close()
        return state

    def _finished(self, state: TrainingState) -> bool:
        return is_finished(state, max_steps=self.loop.max_steps, patience=self.loop.patience)

    def _next_batches(self, state: TrainingState, stream: Generator[StepBatches, None, None]) -> StepBatches:
        start = time.monotonic()
        if self.ranks.world_size == 1:
            with self._saving_if_stopped(state), self.stop.at_once():
                batches = next(stream)
        else:  # the other ranks would wait in the step for one that left here
            batches = next(stream)
        state.epoch, state.next_batch = batches.epoch, batches.next_batch
        state.window.waiting_seconds += time.monotonic() - start
        return batches

    @contextmanager
    def _saving_if_stopped(self, state: TrainingState) -> Iterator[None]:
        """For a long action that changes nothing: a signal during it saves the state and stops."""
        try:
            yield
        except StoppedError as error:
            self.stop.signal_number = error.signal_number
            if state.step != self._saved_step:
                self._save(state)
            raise self._stopped(state) from None

    def _step(self, state: TrainingState, batches: StepBatches) -> None:
        state.step += 1
        own_dropout = (self.ranks.rank,) if self.ranks.rank else ()
        seed_everything(self.steps.seed, state.step, *own_dropout)
        self.replica.loss.train()
        rate = self.steps.learning_rate(state.step)
        result = train_step(
            self.replica,
            batches.micro_batches,
            learning_rate=rate,
            autocast=self.steps.autocast,
            ranks=self.ranks,
            tokens=(batches.source_tokens, batches.target_tokens),
            side_by_side=self.steps.side_by_side,
        )
        if result.finite:
            state.consecutive_skips = 0
            state.source_tokens += result.source_tokens
            state.target_tokens += result.target_tokens
            window = state.window
            window.loss += result.loss * result.target_tokens
            window.nll += result.nll * result.target_tokens
            window.steps += 1
            window.source_tokens += result.source_tokens
            window.target_tokens += result.target_tokens
        else:
            self._skip(state)
        if state.step % self.loop.log_every_steps == 0 and state.window.steps:
            self._log(state, rate, result.gradient_norm)

    def _skip(self, state: TrainingState) -> None:
        state.skipped_steps += 1
        state.consecutive_skips += 1
        self._record(state, "skipped", skipped_steps=state.skipped_steps)
        self._progress.line(f"step {state.step}: the gradient is not finite: step skipped, weights unchanged")
        if state.consecutive_skips >= _MAX_CONSECUTIVE_SKIPS:
            raise DivergedError(
                f"step {state.step}: {_MAX_CONSECUTIVE_SKIPS} steps in a row without a finite gradient: lower "
                "training.learning_rate, raise training.warmup_steps, or set training.precision=fp32; "
                f"the checkpoints up to step {max(self.checkpoints.steps(), default=0)} are intact"
            )

    def _log(self, state: TrainingState, rate: float, gradient_norm: float) -> None:
        window, seconds = state.window, time.monotonic() - self._window_start
        nll = window.nll / window.target_tokens
        summary = {
            "loss": window.loss / window.target_tokens,
            "nll": nll,
            "perplexity": perplexity(nll),
            "target_tokens_per_second": window.target_tokens / seconds,
            "source_tokens_per_second": window.source_tokens / seconds,
            "input_waiting_share": window.waiting_seconds / seconds,
            "seconds": seconds,
        }
        self._record(
            state,
            "train",
            epoch=state.epoch,
            **summary,
            learning_rate=rate,
            gradient_norm=gradient_norm,
            target_tokens=state.target_tokens,
            skipped_steps=state.skipped_steps,
            training_seconds=time.monotonic() - self._started,
        )
        self._progress.reach(
            state.step,
            epoch=str(state.epoch),
            loss=f"{summary['loss']:.3f}",
            perplexity=f"{summary['perplexity']:.1f}",
            lr=f"{rate:.2e}",
            tokens=f"{summary['target_tokens_per_second']:,.0f}/s",
        )
        state.window = Window()
        self._window_start = time.monotonic()

    def _record(self, state: TrainingState, kind: str, **values: float | None) -> None:
        if self.metrics is not None:
            self.metrics.write(step=state.step, kind=kind, **values)

    def _after_step(self, state: TrainingState) -> None:
        due = state.step % self.loop.validate_every_steps == 0 or state.step >= self.loop.max_steps
        if self.validate is not None and (due or state.validation_due):
            self._validate(state, self.validate)
        stopping = self._stop_requested()
        finished = self._finished(state)
        if state.step % self.loop.checkpoint_every_steps == 0 or stopping or finished:
            self._save(state)
        if stopping and not finished:
            raise self._stopped(state)

    def _stop_requested(self) -> bool:
        """Whether any rank received a signal or is out of time."""
        own = self.stop.signal_number or (_OUT_OF_TIME if time.monotonic() > self._deadline else _GO_ON)
        reason = self.ranks.largest(own)
        if reason > _OUT_OF_TIME:
            self.stop.signal_number = reason
        return reason != _GO_ON

    def _save(self, state: TrainingState) -> None:
        state.on_schedule = state.step % self.loop.checkpoint_every_steps == 0
        state.training_seconds = time.monotonic() - self._started
        state.window.seconds = time.monotonic() - self._window_start
        if self.metrics is not None:
            self.metrics.sync()
        self.replica.collect(True)
        self.ranks.on_rank_zero(lambda: self.checkpoints.save(self.replica.model, self.replica.model_optimizer, state))
        self._saved_step = state.step

    def _stopped(self, state: TrainingState) -> StoppedError:
        reason = "stopped by a signal" if self.stop else f"training.max_minutes={self.loop.max_minutes} are over"
        return StoppedError(
            f"{reason}: saved at step {state.step:,} of {self.loop.max_steps:,}; the same command continues, and "
            f"mt-average run_dir={self.checkpoints.folder.parent} makes a model to translate with of what there is",
            signal_number=self.stop.signal_number,
        )

    def _validate(self, state: TrainingState, validate: Callable[[], Validation]) -> None:
        def interruptible() -> Validation:
            with self.stop.at_once():
                return validate()

        start = time.monotonic()
        state.validation_due = True
        self.replica.collect(False)
        self.replica.model.eval()
        eager = torch.compiler.set_stance("force_eager")  # for batches of any shape
        with torch.inference_mode(), eager, self._saving_if_stopped(state):
            found = self.ranks.on_rank_zero(interruptible)
        state.validation_due = False
        score = found.bleu if found.bleu is not None else -found.nll
        if math.isfinite(score) and (state.best_score is None or score > state.best_score):
            state.best_score, state.best_step, state.validations_without_progress = score, state.step, 0
            self.ranks.on_rank_zero(lambda: self.checkpoints.save_best(self.replica.model, state))
        else:
            state.validations_without_progress += 1
        seconds = time.monotonic() - start
        figures = {"loss": found.loss, "nll": found.nll, "perplexity": perplexity(found.nll), "bleu": found.bleu}
        self._record(state, "validation", **figures, best_step=state.best_step, seconds=seconds)
        bleu = "" if found.bleu is None else f"  BLEU (greedy) {found.bleu:.2f}"
        best = "  best so far" if state.best_step == state.step else ""
        values = f"loss {found.loss:.3f}  perplexity {figures['perplexity']:.2f}{bleu}"
        self._progress.line(f"step {state.step:,} validation: {values}{best}  ({format_seconds(seconds)})")
        self._window_start += seconds


def is_finished(state: TrainingState, *, max_steps: int, patience: int | None) -> bool:
    """Whether all steps are made, or `patience` validations brought no progress."""
    stale = patience is not None and state.validations_without_progress >= patience
    return not state.validation_due and (stale or state.step >= max_steps)


def validation_loss(
    loss: TrainingLoss, corpus: Pairs, *, batch_tokens: int, autocast: Callable[[], AbstractContextManager[None]]
) -> tuple[float, float]:
    """Smoothed loss and negative log-likelihood over a corpus, in nats per target token."""
    device = next(loss.parameters()).device
    sums: list[Tensor] = []  # read at the end, so that nobody waits for a GPU after each batch
    tokens = 0
    for batch in validation_batches(corpus, batch_tokens=batch_tokens):
        with autocast():
            sums.append(torch.stack(loss(batch.to(device))))
        tokens += batch.target_tokens
    smoothed, nll = (sum(side) for side in zip(*torch.stack(sums).tolist(), strict=True))
    return smoothed / tokens, nll / tokens
