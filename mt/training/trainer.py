"""Section 5: the training loop."""

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mt.data.batch import Batch
from mt.data.loader import StepBatches, TrainingOrder
from mt.errors import DivergedError, StoppedError
from mt.reporting import Progress, format_seconds
from mt.runs.checkpoint import Checkpoints, TrainingState, Window
from mt.runs.metrics import UNSCHEDULED_VALIDATION, MetricsFile, perplexity
from mt.runs.signals import StopRequest
from mt.runtime import seed_everything
from mt.training.energy import EnergyCounter
from mt.training.limits import Clock
from mt.training.processes import SINGLE_PROCESS, ProcessGroup, Replica
from mt.training.schedule import position
from mt.training.step import SideBySide, TrainingLoss, train_step

_MAX_CONSECUTIVE_SKIPS = 5
_GO_ON, _LACKS_VALIDATION, _OUT_OF_TIME = range(3)  # what the ranks agree on; higher numbers, less 2, are signals
_PARTS = 1 << 32  # of the progress, on which they agree in the same number


@dataclass(frozen=True)
class Validation:
    """Losses on the validation set in nats per target token.

    A translator has the BLEU of greedy translations too, a language model its bits per byte of text, an encoder alone
    the percentage of tokens or classes that are right, a task the percentages of exact matches on the validation set
    and on as many training pairs. `translations` are a few of the greedy ones.
    """

    loss: float
    nll: float
    bleu: float | None = None
    bits_per_byte: float | None = None
    accuracy: float | None = None
    exact_match: float | None = None
    training_exact_match: float | None = None
    translations: list[str] | None = None


@dataclass(frozen=True)
class StepSettings:
    """What every step computes with."""

    learning_rate: Callable[[float], float]
    autocast: Callable[[], AbstractContextManager[None]]
    seed: int  # of dropout
    side_by_side: SideBySide | None = None  # the micro-batches of a step


@dataclass(frozen=True)
class LoopSettings:
    """When the loop ends (None: never for this reason), and after how many steps it validates, saves and logs."""

    max_steps: int  # under a clock that paces, the scale of the rate and of the first two intervals, and no end
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
    clock: Clock = field(default_factory=Clock)
    report_expected_steps: Callable[[int], None] = lambda _: None  # called once the clock and the speed tell the last

    def run(self, state: TrainingState) -> TrainingState:
        """Train until `max_steps`, until validation stops improving, or until the clock leaves no time for a step.

        Under a clock that `paces`, the last of these is the end of the run, and the rate follows rank zero's clock.

        Raises StoppedError (a signal arrived; the state is saved) and DivergedError (5 steps in a row without a finite
        gradient; the last checkpoint is unchanged).
        """
        now = self._paced_until = time.monotonic()
        self._started = now - state.training_seconds
        if self.clock.paces:
            self.clock.started -= state.budget_seconds
            self.clock.validation_seconds = state.validation_seconds
        self._window_start = now - state.window.seconds
        self._progress = Progress(
            "training",
            total=self.loop.max_steps,
            unit="steps",
            done=state.step,
            shown=self.ranks.is_rank_zero,
            seconds_left=self.clock.seconds_left,
        )
        self._saved_step, self._validated_step, self._progress_before = state.step, 0, state.progress
        self._out_of_time = False
        self._energy = EnergyCounter()
        state.on_schedule = True  # a stop that left its checkpoint is over
        stream = self.order.steps(epoch=state.epoch, start=state.next_batch)
        try:
            with self.stop.held_back(), closing(stream):
                if state.validation_due:
                    self._after_step(state)
                while not self._finished(state) and not self._out_of_time:
                    self._step(state, self._next_batches(state, stream))
                    self._after_step(state)
        finally:
            self._progress.close()
        return state

    def _finished(self, state: TrainingState) -> bool:
        max_steps = None if self.clock.paces else self.loop.max_steps
        return is_finished(state, max_steps=max_steps, patience=self.loop.patience)

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
        at = position(state.progress, max_steps=self.loop.max_steps) if self.clock.paces else state.step
        rate = self.steps.learning_rate(at)
        result = train_step(
            self.replica,
            batches.micro_batches,
            learning_rate=rate,
            autocast=self.steps.autocast,
            ranks=self.ranks,
            tokens=(batches.source_tokens, batches.target_tokens),
            side_by_side=self.steps.side_by_side,
        )
        self._count_energy(state)  # at each step, because the counters wrap
        if result.finite:
            state.consecutive_skips = 0
            state.source_tokens += result.source_tokens
            state.target_tokens += result.target_tokens
            window = state.window
            window.loss += result.loss * result.target_tokens
            window.nll += result.nll * result.target_tokens
            window.consistency += result.consistency * result.target_tokens
            window.steps += 1
            window.source_tokens += result.source_tokens
            window.target_tokens += result.target_tokens
        else:
            self._skip(state, result.last_not_finite)
        if state.step % self.loop.log_every_steps == 0 and state.window.steps:
            self._log(state, rate, result.gradient_norm)

    def _count_energy(self, state: TrainingState) -> None:
        used = self._energy.joules()
        state.joules = None if used is None or state.joules is None else state.joules + used

    def _skip(self, state: TrainingState, last: str | None) -> None:
        state.skipped_steps += 1
        state.consecutive_skips += 1
        self._record(state, "skipped", skipped_steps=state.skipped_steps)
        where = f" in parameters up to {last.removeprefix('module.').removeprefix('model.')}" if last else ""
        self._progress.line(f"step {state.step}: the gradient is not finite{where}: step skipped, weights unchanged")
        if state.consecutive_skips >= _MAX_CONSECUTIVE_SKIPS:
            raise DivergedError(
                f"step {state.step}: {_MAX_CONSECUTIVE_SKIPS} steps in a row without a finite gradient: begin again in "
                "a new run_dir with a lower training.learning_rate, more training.warmup_steps or "
                f"training.precision=fp32{self._saved_until()}"
            )

    def _saved_until(self) -> str:
        newest, run_dir = max(self.checkpoints.steps(), default=0), self.checkpoints.folder.parent
        if not newest:
            return ""
        make = f"mt-average run_dir={run_dir} checkpoints=1"
        return f"; step {newest:,} is saved: {make}, and finetune_from={run_dir} begins with it"

    def _log(self, state: TrainingState, rate: float, gradient_norm: float) -> None:
        window, seconds = state.window, time.monotonic() - self._window_start
        nll = window.nll / window.target_tokens
        summary = {
            "loss": window.loss / window.target_tokens,
            "nll": nll,
            "perplexity": perplexity(nll),
            **({"consistency": window.consistency / window.target_tokens} if window.consistency else {}),
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
            **({"progress": state.progress} if self.clock.paces else {}),
        )
        if state.progress:
            self._progress.total = round(state.step / state.progress)
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

    def _record(self, state: TrainingState, kind: str, **values: float | list[str] | None) -> None:
        if self.metrics is not None:
            self.metrics.write(step=state.step, kind=kind, **values)

    def _after_step(self, state: TrainingState) -> None:
        last = not self.clock.paces and state.step >= self.loop.max_steps
        due = last or (not self.clock.paces and self._reached(state, self.loop.validate_every_steps))
        if self.validate is not None and (due or state.validation_due):
            self._validate(state, self.validate)
        agreed = self._agreed(state)
        if agreed == _OUT_OF_TIME and self.clock.paces:
            state.progress = 1.0
            if self.validate is not None and self._validated_step != state.step:
                self._validate(state, self.validate)
            state.validation_due = False
        finished = self._finished(state)
        if self._reached(state, self.loop.checkpoint_every_steps) or agreed >= _OUT_OF_TIME or finished:
            self._save(state)
        if finished:
            if state.validations_without_progress >= (patience := self.loop.patience or math.inf):
                self._progress.line(f"{patience} validations without a better one: the end, at step {state.step:,}")
            return
        if agreed > _OUT_OF_TIME:
            raise self._stopped(state)
        self._out_of_time = agreed == _OUT_OF_TIME
        if self._out_of_time or (agreed == _LACKS_VALIDATION and self.clock.validation_seconds is None):
            self._validate_unscheduled(state)
        if self._out_of_time:
            where = f"at step {state.step:,} of {self.loop.max_steps:,}; the same command continues from here"
            self._progress.line(f"{self.clock}: training ends {where}")
        elif (expected := self.clock.expected_steps(state.step) or math.inf) < self.loop.max_steps:
            self.report_expected_steps(int(expected))

    def _reached(self, state: TrainingState, every_steps: int) -> bool:
        """Whether an interval ends here; under a clock that paces, where its share of the time does."""
        if not self.clock.paces:
            return state.step % every_steps == 0
        progress = self._progress_before, state.progress
        before, now = (int(share * self.loop.max_steps / every_steps) for share in progress)
        return now > before

    def _agreed(self, state: TrainingState) -> int:
        """What all ranks do next, because one of them received a signal, is out of time, or lacks a validation.

        They agree on the progress too. Where the clock paces it is that of rank zero.
        """
        own, parts, knows = _GO_ON, 0, self.ranks.is_rank_zero or not self.clock.paces
        if self.stop:
            own = self.stop.signal_number + _OUT_OF_TIME
        elif knows and self.clock.seconds_left() < 0:
            own = _OUT_OF_TIME
        elif knows and self.validate is not None and self.clock.lacks_validation():
            own = _LACKS_VALIDATION
        if knows and self.clock.paces:
            now = time.monotonic()
            parts = round((_PARTS - 1) * self.clock.progress(state.progress, now - self._paced_until))
            self._paced_until = now
        agreed, parts = divmod(self.ranks.largest(own * _PARTS + parts), _PARTS)
        self._progress_before = state.progress
        state.progress = max(state.progress, parts / _PARTS)  # 1 only at the end
        if self.clock.paces and self.validate is not None and not self._finished(state):
            # After the next step, or when the run continues.
            state.validation_due |= self._reached(state, self.loop.validate_every_steps)
        if agreed > _OUT_OF_TIME:
            self.stop.signal_number = agreed - _OUT_OF_TIME
        return agreed

    def _save(self, state: TrainingState) -> None:
        state.on_schedule = self._reached(state, self.loop.checkpoint_every_steps)
        state.training_seconds = time.monotonic() - self._started
        self._count_energy(state)
        if self.clock.paces:
            state.budget_seconds = time.monotonic() - self.clock.started
        state.window.seconds = time.monotonic() - self._window_start
        if self.metrics is not None:
            self.metrics.sync()
        self.replica.collect(True)
        self.ranks.on_rank_zero(lambda: self.checkpoints.save(self.replica.model, self.replica.model_optimizer, state))
        self._saved_step, self._progress_before = state.step, state.progress

    def _stopped(self, state: TrainingState) -> StoppedError:
        if not state.step:
            message = "stopped by a signal before the first step; the same command begins again"
            return StoppedError(message, signal_number=self.stop.signal_number)
        saved = f"saved at step {state.step:,}" + ("" if self.clock.paces else f" of {self.loop.max_steps:,}")
        return StoppedError(
            f"stopped by a signal: {saved}; the same command continues, and mt-average "
            f"run_dir={self.checkpoints.folder.parent} makes a model to translate with of what there is",
            signal_number=self.stop.signal_number,
        )

    def _validate(self, state: TrainingState, validate: Callable[[], Validation]) -> None:
        state.validation_due = True
        start = time.monotonic()
        found = self._found(state, validate)
        state.validation_due = False
        score = next((score for score in (found.bleu, found.exact_match) if score is not None), -found.nll)
        if math.isfinite(score) and (state.best_score is None or score > state.best_score):
            state.best_score, state.best_step, state.validations_without_progress = score, state.step, 0
        else:
            state.validations_without_progress += 1
        self._report_validation(state, "validation", found, start)

    def _validate_unscheduled(self, state: TrainingState) -> None:
        """For the clock: the run that continues knows nothing of it, and so ends as if it had not been stopped."""
        if self.validate is not None and self._validated_step != state.step:
            start = time.monotonic()
            self._report_validation(state, UNSCHEDULED_VALIDATION, self._found(state, self.validate), start)

    def _found(self, state: TrainingState, validate: Callable[[], Validation]) -> Validation:
        """What rank zero finds; a signal while it looks saves the state and stops."""

        def interruptible() -> Validation:
            with self.stop.at_once():
                return validate()

        self.replica.collect(False)
        self.replica.model.eval()
        eager = torch.compiler.set_stance("force_eager")  # for batches of any shape
        with torch.inference_mode(), eager, self._saving_if_stopped(state):
            return self.ranks.on_rank_zero(interruptible)

    def _report_validation(self, state: TrainingState, kind: str, found: Validation, start: float) -> None:
        seconds = time.monotonic() - start
        self.clock.validation_seconds = state.validation_seconds = seconds
        self._validated_step = state.step
        figures = {"loss": found.loss, "nll": found.nll, "perplexity": perplexity(found.nll), "bleu": found.bleu}
        names = ("bits_per_byte", "accuracy", "exact_match", "training_exact_match")
        figures |= {name: value for name in names if (value := getattr(found, name)) is not None}
        kept = {} if found.translations is None else {"translations": found.translations}
        self._record(state, kind, **figures, **kept, best_step=state.best_step, seconds=seconds)
        score = "" if found.bleu is None else f"  BLEU (greedy) {found.bleu:.2f}"
        score += "" if found.bits_per_byte is None else f"  bits per byte {found.bits_per_byte:.3f}"
        score += "" if found.accuracy is None else f"  accuracy {found.accuracy:.2f} %"
        if found.exact_match is not None:
            score += f"  exact match {found.exact_match:.2f} %, in training {found.training_exact_match:.2f} %"
        best = "  best so far" if state.best_step == state.step else ""
        values = f"loss {found.loss:.3f}  perplexity {figures['perplexity']:.2f}{score}"
        self._progress.line(f"step {state.step:,} validation: {values}{best}  ({format_seconds(seconds)})")
        self._window_start += seconds


def is_finished(state: TrainingState, *, max_steps: int | None, patience: int | None) -> bool:
    """Whether all steps are made (None: all the time is used), or `patience` validations brought no progress."""
    stale = patience is not None and state.validations_without_progress >= patience
    over = state.progress >= 1 if max_steps is None else state.step >= max_steps
    return not state.validation_due and (stale or over)


def validation_loss(
    loss: TrainingLoss, batches: Iterable[Batch], *, autocast: Callable[[], AbstractContextManager[None]]
) -> tuple[float, float]:
    """Smoothed loss and negative log-likelihood over a corpus, in nats per target token."""
    device = next(loss.parameters()).device
    sums: list[Tensor] = []  # read at the end, so that nobody waits for a GPU after each batch
    tokens = 0
    for batch in batches:
        with autocast():
            sums.append(loss(batch.to(device))[1])
        tokens += batch.target_tokens
    smoothed, nll, _ = (sum(side) for side in zip(*torch.stack(sums).tolist(), strict=True))
    return smoothed / tokens, nll / tokens


def accuracy(
    loss: TrainingLoss, batches: Iterable[Batch], *, autocast: Callable[[], AbstractContextManager[None]]
) -> float:
    """The percentage of target tokens, or of classes, that are the most probable ones at their positions."""
    device = next(loss.parameters()).device
    right: list[Tensor] = []
    tokens = 0
    for each in batches:
        batch = each.to(device)
        with autocast():
            found = loss.model(batch.source, batch.target_input).argmax(-1)
        right.append((found == batch.target_output).flatten()[batch.label_indices].sum())
        tokens += batch.target_tokens
    return 100 * sum(torch.stack(right).tolist()) / tokens
