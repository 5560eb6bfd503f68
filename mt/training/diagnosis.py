"""Is this normal? The numbers that a run logs, compared with what a healthy run shows.

`Diagnosis` reads the lines of `metrics.jsonl` one after another and nothing else: a run that continues reads its
own lines again and goes on as if it had never stopped. `Pace` reads the clock's figures, which differ each time,
so what it finds is told and not recorded. A symptom is told once, and again only after it had gone. The thresholds
lie far from anything seen in the runs of `docs/is_this_normal.md`: silence is no proof, but a warning means something.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from mt.data.loader import Pairs
from mt.runs.metrics import MetricsFile, perplexity

ENTROPY_PAIRS = 50_000
RECENT_LINES = 3  # of one log line chance decides
LEAST_EARLIER_LINES = 5
REMEMBERED_LINES = 200

# Of the entropy of single pieces: above the first nothing but their frequencies is learned, below the second more.
NOT_FALLING_SHARE, FALLING_SHARE = 0.95, 0.85
LEAST_STEPS_AFTER_WARMUP = 300
RISEN_NATS, RECOVERED_NATS = 1.0, 0.5
EXPLODED_FACTOR, CALM_FACTOR = 10.0, 3.0
EXPLODED_LEAST_RISE_NATS = 0.2  # a large gradient that does no harm is none of ours
LEAKED_TRAINING_SHARE = 0.03  # of the entropy, before an epoch and the warm-up are over
LEAKED_VALIDATION_SHARE, LEAKED_BLEU = 0.1, 10.0
OVERFITTED_NATS, OVERFITTED_SHARE, OVERFITTED_VALIDATIONS = 0.1, 0.05, 2
SLOW_SHARE, STEADY_SHARE, LEAST_SLOW_SECONDS = 1 / 3, 0.7, 60.0
STARVED_SHARE, FED_SHARE, LEAST_WAITED_SECONDS = 0.3, 0.1, 2.0


@dataclass(frozen=True)
class Symptom:
    """Something that a healthy run does not show; the message says what, with figures, and what to do."""

    kind: str
    message: str


class _Episodes:
    """Which symptoms have been told and have not gone since."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def lasts(self, kind: str) -> bool:
        """Whether a symptom was told and has not gone."""
        return kind in self._told

    def begins(self, kind: str, *, ill: bool, well: bool) -> bool:
        """Whether to report a symptom now; between ill and well everything stays as it was."""
        if well:
            self._told.discard(kind)
        if not ill or kind in self._told:
            return False
        self._told.add(kind)
        return True


class Diagnosis:
    """What the lines of a run's `metrics.jsonl` say of its health.

    `unigram_entropy` is that of the pieces of the training targets, in nats: the loss of a model that knows how
    frequent each piece is and nothing else. `label_smoothing` keeps even a model that is always right from a loss of
    0: it is rewarded for giving each piece's probability as 1 - ε + ε / V, no more. `earlier` are the lines from before
    a restart; what they show was told then. Lines of other kinds than "train" and "validation" are passed over, and
    what a disk has damaged in them is as if it were not there.
    """

    def __init__(
        self,
        *,
        unigram_entropy: float,
        warmup_steps: int,
        label_smoothing: float,
        earlier: Iterable[Mapping[str, Any]],
    ) -> None:
        self.unigram_entropy = unigram_entropy
        self.perfect_loss = -math.log1p(-label_smoothing)
        self.warmup_steps = warmup_steps
        self._episodes = _Episodes()
        self._losses: deque[float] = deque(maxlen=RECENT_LINES)
        self._norms: deque[float] = deque(maxlen=RECENT_LINES)
        self._earlier_norms: deque[float] = deque(maxlen=REMEMBERED_LINES)
        self._lines = 0
        self._lowest, self._lowest_step = float("inf"), 0  # median of recent lines
        self._best_validation, self._best_validation_step = float("inf"), 0
        self._training_loss_then = 0.0  # at the best validation
        self._risen_validations = 0
        for line in earlier:
            self.observe(line)

    def observe(self, line: Mapping[str, Any]) -> list[Symptom]:
        """Take in the next line and return what has become wrong with it."""
        if not isinstance(line.get("nll"), int | float):
            return []
        if line["kind"] == "train":
            return self._training(line)
        return self._validation(line) if line["kind"] == "validation" else []

    def _training(self, line: Mapping[str, Any]) -> list[Symptom]:
        if len(self._norms) == RECENT_LINES:
            self._earlier_norms.append(self._norms[0])
        self._losses.append(line["nll"])
        norm = line.get("gradient_norm")
        self._norms.append(norm if isinstance(norm, int | float) else float("inf"))
        self._lines += 1
        found = [self._leak_in_training(line)]
        if len(self._losses) == RECENT_LINES:
            loss = median(self._losses)
            found += [self._exploding(loss), self._rising(loss)]
            found.append(self._not_falling(line["step"], loss))
            if loss < self._lowest:
                self._lowest, self._lowest_step = loss, line["step"]
        return [symptom for symptom in found if symptom is not None]

    def _leak_in_training(self, line: Mapping[str, Any]) -> Symptom | None:
        early = line.get("epoch") == 0 and line["step"] <= self.warmup_steps
        limit = self.perfect_loss + LEAKED_TRAINING_SHARE * self.unigram_entropy
        if not self._episodes.begins("target leak", ill=early and line["nll"] < limit, well=False):
            return None
        return Symptom(
            "target leak",
            f"the loss is {line['nll']:.3f} nats per token, and neither an epoch nor the warm-up is over; a healthy "
            f"run is above {limit:.2f} there, whatever the text. The decoder sees what it must predict, or the source "
            "holds the target: look at the masks, the shift of the target and the corpora (make inspect)",
        )

    def _exploding(self, loss: float) -> Symptom | None:
        if len(self._earlier_norms) < LEAST_EARLIER_LINES:
            return None
        now, usual = median(self._norms), median(self._earlier_norms)
        harmful = loss > self._lowest + EXPLODED_LEAST_RISE_NATS
        ill, well = harmful and now > EXPLODED_FACTOR * usual, now < CALM_FACTOR * usual
        if not self._episodes.begins("gradient exploding", ill=ill, well=well):
            return None
        return Symptom(
            "gradient exploding",
            f"the norm of the gradient is {now:.3g}, {now / usual:.0f} times its usual {usual:.2g}, and the loss has "
            f"risen from {self._lowest:.2f} (step {self._lowest_step:,}) to {loss:.2f}; in a healthy run the norm "
            "stays within a few times its median. Lower training.learning_rate_factor or raise training.warmup_steps",
        )

    def _rising(self, loss: float) -> Symptom | None:
        risen = loss - self._lowest
        told = self._episodes.lasts("gradient exploding")
        ill = self._lines >= LEAST_EARLIER_LINES and risen > RISEN_NATS and not told
        if not self._episodes.begins("loss rising", ill=ill, well=risen < RECOVERED_NATS):
            return None
        return Symptom(
            "loss rising",
            f"the training loss is {loss:.2f} nats per token and was {self._lowest:.2f} at step {self._lowest_step:,}; "
            "in a healthy run it falls, but for small waves. Start again from an earlier point with a lower "
            "training.learning_rate_factor or more training.warmup_steps",
        )

    def _not_falling(self, step: int, loss: float) -> Symptom | None:
        share = loss / max(self.unigram_entropy, 1e-9)
        late = step >= self.warmup_steps + max(self.warmup_steps // 2, LEAST_STEPS_AFTER_WARMUP)
        ill = late and share > NOT_FALLING_SHARE and not self._episodes.lasts("loss rising")
        well = share < FALLING_SHARE
        if not self._episodes.begins("loss not falling", ill=ill, well=well):
            return None
        return Symptom(
            "loss not falling",
            f"the training loss is {loss:.2f} nats per token (perplexity {perplexity(loss):,.0f}), {_guessing(self)}; "
            f"a healthy run is far below that when the warm-up ends (step {self.warmup_steps:,}). Lower "
            "training.learning_rate_factor, raise training.warmup_steps, and see that the two sides of the corpora "
            "belong together (make inspect)",
        )

    def _validation(self, line: Mapping[str, Any]) -> list[Symptom]:
        found = [self._leak_in_validation(line), self._overfitting(line)]
        return [symptom for symptom in found if symptom is not None]

    def _leak_in_validation(self, line: Mapping[str, Any]) -> Symptom | None:
        bleu = line.get("bleu")
        limit = self.perfect_loss + LEAKED_VALIDATION_SHARE * self.unigram_entropy
        ill = line["nll"] < limit and isinstance(bleu, int | float) and bleu < LEAKED_BLEU
        if not self._episodes.begins("target leak", ill=ill, well=False):
            return None
        return Symptom(
            "target leak",
            f"the validation loss is {line['nll']:.3f} nats per token, but the translations reach BLEU {bleu:.1f}; a "
            "healthy run with such a loss is far above BLEU 50. The decoder sees what it must predict: look at the "
            "masks and the shift of the target",
        )

    def _overfitting(self, line: Mapping[str, Any]) -> Symptom | None:
        nll, training = line["nll"], median(self._losses) if self._losses else float("inf")
        limit = self._best_validation + max(OVERFITTED_NATS, OVERFITTED_SHARE * self._best_validation)
        self._risen_validations = self._risen_validations + 1 if nll > limit else 0
        better = nll < self._best_validation
        if better:
            self._best_validation, self._best_validation_step = nll, line["step"]
            self._training_loss_then = training
        diverging = self._risen_validations >= OVERFITTED_VALIDATIONS and training < self._training_loss_then
        ill = diverging and line.get("best_step") != line["step"]
        if not self._episodes.begins("overfitting", ill=ill, well=better):
            return None
        return Symptom(
            "overfitting",
            f"the validation loss has risen since step {self._best_validation_step:,} from {self._best_validation:.2f} "
            f"to {nll:.2f} nats per token, while the training loss fell from {self._training_loss_then:.2f} to "
            f"{training:.2f}; in a healthy run both fall together. Stop there (training.patience; "
            "checkpoints/best holds the best model so far), raise model.dropout, take a smaller model, or add data",
        )


class Pace:
    """How fast the run goes and how long it waits for batches, against its own median; for one life of a run."""

    def __init__(self) -> None:
        self._episodes = _Episodes()
        self._recent: deque[tuple[float, float, float]] = deque(maxlen=RECENT_LINES)
        self._earlier: deque[float] = deque(maxlen=REMEMBERED_LINES)

    def observe(self, *, tokens_per_second: float, seconds: float, waited_seconds: float) -> list[Symptom]:
        """Take in what is known at a log line of the `seconds` since the last one; return what has become wrong."""
        if len(self._recent) == RECENT_LINES:
            self._earlier.append(self._recent[0][0])
        self._recent.append((tokens_per_second, seconds, waited_seconds))
        if len(self._recent) < RECENT_LINES:
            return []
        found = [self._starving(), self._slow()]
        return [symptom for symptom in found if symptom is not None]

    def _starving(self) -> Symptom | None:
        shares = [waited / max(seconds, 1e-9) for _, seconds, waited in self._recent]
        seconds, waited = (sum(line[column] for line in self._recent) for column in (1, 2))
        ill = min(shares) > STARVED_SHARE and waited > LEAST_WAITED_SECONDS
        if not self._episodes.begins("waiting for batches", ill=ill, well=max(shares) < FED_SHARE):
            return None
        return Symptom(
            "waiting for batches",
            f"{100 * waited / seconds:.0f} % of the last {seconds:.0f} s went by waiting for batches; a healthy run "
            "waits for a few percent. Put data.cache_dir on a fast local disk, and let other programs leave it a core",
        )

    def _slow(self) -> Symptom | None:
        if len(self._earlier) < LEAST_EARLIER_LINES:
            return None
        usual = median(self._earlier)
        fastest, slowest = (choose(speed for speed, _, _ in self._recent) for choose in (max, min))
        ill = fastest < SLOW_SHARE * usual and sum(seconds for _, seconds, _ in self._recent) > LEAST_SLOW_SECONDS
        if not self._episodes.begins("slow", ill=ill, well=slowest > STEADY_SHARE * usual):
            return None
        return Symptom(
            "slow",
            f"{fastest:,.0f} target tokens/s at most of late, where this run's median is {usual:,.0f}; a healthy run "
            "keeps its pace. Look for other programs on the machine, a device that is hot or throttled, and memory "
            "that swaps",
        )


def _guessing(diagnosis: Diagnosis) -> str:
    entropy = diagnosis.unigram_entropy
    return f"and guessing pieces by their frequency alone gives {entropy:.2f} (perplexity {perplexity(entropy):,.0f})"


def unigram_entropy(corpus: Pairs) -> float:
    """The entropy of the target pieces in nats, end marks counted, of at most `ENTROPY_PAIRS` pairs evenly spread."""
    pairs = len(corpus.target_lengths)
    if not pairs:
        return 0.0
    chosen = range(0, pairs, max(1, -(-pairs // ENTROPY_PAIRS)))
    counts = np.bincount(np.concatenate([corpus.target(index) for index in chosen]))
    present = np.append(counts[counts > 0], len(chosen))
    shares = present / present.sum()
    return float(-(shares * np.log(shares)).sum())


class WatchedMetrics:
    """A metrics file whose lines are compared with those of a healthy run.

    What a line shows to be wrong is told, and stands in the file after it. What the clock shows is told alone, for it
    is another after a restart. `waited_seconds` says for how long the run has waited for batches so far.
    """

    def __init__(
        self,
        metrics: MetricsFile,
        diagnosis: Diagnosis,
        *,
        waited_seconds: Callable[[], float],
        report: Callable[[str], None],
    ) -> None:
        self._metrics = metrics
        self._diagnosis = diagnosis
        self._waited_seconds = waited_seconds
        self._report = report
        self._pace = Pace()
        self._before: tuple[float, float] | None = None  # seconds of training and of waiting at the last line
        self._validating_seconds = 0.0  # since then

    def write(self, *, step: int, kind: str, **values: float | str | None) -> None:
        """Append a line, and what it shows to be wrong. Raises DiskError."""
        line = self._metrics.write(step=step, kind=kind, **values)
        symptoms = self._diagnosis.observe(line)
        for symptom in symptoms:
            self._metrics.write(step=step, kind="warning", symptom=symptom.kind, message=symptom.message)
        for symptom in [*symptoms, *self._clock(line)]:
            self._report(f"step {step:,}: warning: {symptom.kind}: {symptom.message}")

    def sync(self) -> None:
        """Wait until the disk holds every line. Raises DiskError."""
        self._metrics.sync()

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()

    def _clock(self, line: dict[str, Any]) -> list[Symptom]:
        if line["kind"] == "validation":
            self._validating_seconds += line["seconds"]
        if line["kind"] != "train":
            return []
        before, self._before = self._before, (line["training_seconds"], self._waited_seconds())
        validating, self._validating_seconds = self._validating_seconds, 0.0
        if before is None:  # the first line of a life: the beginning is slow
            return []
        return self._pace.observe(
            tokens_per_second=line["target_tokens_per_second"],
            seconds=self._before[0] - before[0] - validating,
            waited_seconds=self._before[1] - before[1],
        )
