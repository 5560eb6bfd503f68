"""Is this normal? The figures that a run logs, compared with those of a healthy run.

`Diagnosis` reads the lines of `metrics.jsonl` and nothing else: a resumed run reads its own lines again and goes on
as if it had never stopped. `Pace` reads the clock, which differs each time, so its findings are reported and not
recorded. Each problem is reported once, and again only if it clears and returns. The thresholds are far from anything
seen in the runs of `docs/is_this_normal.md`: silence proves nothing, but a warning means something.
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
RECENT_LINES = 3  # a single log line varies by chance
LEAST_EARLIER_LINES = 5
REMEMBERED_LINES = 200

# A problem is present beyond the first threshold and cleared beyond the second.
NOT_FALLING_SHARE, FALLING_SHARE = 0.95, 0.85  # of the unigram entropy
LEAST_STEPS_AFTER_WARMUP = 300
RISEN_NATS, RECOVERED_NATS = 1.0, 0.5
EXPLODED_FACTOR, CALM_FACTOR = 10.0, 3.0
EXPLODED_LEAST_RISE_NATS = 0.2  # a large gradient that does no harm is not a problem
LEAKED_TRAINING_SHARE = 0.03  # of the unigram entropy, before an epoch and the warm-up are over
LEAKED_VALIDATION_SHARE, LEAKED_BLEU = 0.1, 10.0
OVERFITTED_NATS, OVERFITTED_SHARE, OVERFITTED_VALIDATIONS = 0.1, 0.05, 2
SLOW_SHARE, STEADY_SHARE, LEAST_SLOW_SECONDS = 1 / 3, 0.7, 60.0
STARVED_SHARE, FED_SHARE, LEAST_WAITED_SECONDS = 0.3, 0.1, 2.0


@dataclass(frozen=True)
class Symptom:
    """A problem that a healthy run does not have; the message gives the figures and what to do."""

    kind: str
    message: str


class _Reported:
    """The problems that were reported and have not cleared."""

    def __init__(self) -> None:
        self._kinds: set[str] = set()

    def __contains__(self, kind: str) -> bool:
        return kind in self._kinds

    def update(self, kind: str, *, present: bool, cleared: bool, message: str) -> list[Symptom]:
        """The problem, if it is to be reported now. One that is neither present nor cleared stays as it was."""
        if cleared:
            self._kinds.discard(kind)
        if not present or kind in self._kinds:
            return []
        self._kinds.add(kind)
        return [Symptom(kind, message)]


class _Series:
    """The last values of a figure and those before them. A median of too few values is NaN, which exceeds nothing."""

    def __init__(self) -> None:
        self.recent: deque[float] = deque(maxlen=RECENT_LINES)
        self._earlier: deque[float] = deque(maxlen=REMEMBERED_LINES)

    def add(self, value: float) -> None:
        if len(self.recent) == RECENT_LINES:
            self._earlier.append(self.recent[0])
        self.recent.append(value)

    def __len__(self) -> int:
        return len(self.recent) + len(self._earlier)

    @property
    def now(self) -> float:
        return median(self.recent) if len(self.recent) == RECENT_LINES else math.nan

    @property
    def usual(self) -> float:
        return median(self._earlier) if len(self._earlier) >= LEAST_EARLIER_LINES else math.nan


class Diagnosis:
    """Finds problems in the lines of a run's `metrics.jsonl`.

    `unigram_entropy` is that of the training targets' subwords, in nats: the loss of a model that knows how frequent
    each subword is and nothing else. Label smoothing rewards a probability of 1 - ε + ε / V and no more, so even a
    perfect model keeps a loss above 0. `earlier` are the lines from before a restart; their problems were reported
    then. Lines of kinds other than "train" and "validation" are ignored, and so are damaged values.
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
        self._reported = _Reported()
        self._losses, self._norms = _Series(), _Series()
        self._lowest, self._lowest_step = math.inf, 0  # median of recent lines
        self._best_validation, self._best_validation_step = math.inf, 0
        self._training_at_best = 0.0
        self._risen_validations = 0
        for line in earlier:
            self.observe(line)

    def observe(self, line: Mapping[str, Any]) -> list[Symptom]:
        """Take in the next line and return the problems to report with it."""
        if not isinstance(line.get("nll"), int | float):
            return []
        if line["kind"] == "validation":
            return [*self._leak_in_validation(line), *self._overfitting(line)]
        return self._training(line) if line["kind"] == "train" else []

    def _training(self, line: Mapping[str, Any]) -> list[Symptom]:
        norm = line.get("gradient_norm")
        self._norms.add(norm if isinstance(norm, int | float) else math.inf)
        self._losses.add(line["nll"])
        loss = self._losses.now
        found = [*self._leak_in_training(line), *self._exploding(loss), *self._rising(loss)]
        found += self._not_falling(line["step"], loss)
        if loss < self._lowest:
            self._lowest, self._lowest_step = loss, line["step"]
        return found

    def _leak_in_training(self, line: Mapping[str, Any]) -> list[Symptom]:
        early = line.get("epoch") == 0 and line["step"] <= self.warmup_steps
        limit = self.perfect_loss + LEAKED_TRAINING_SHARE * self.unigram_entropy
        return self._reported.update(
            "target leak",
            present=early and line["nll"] < limit,
            cleared=False,
            message=f"the loss is {line['nll']:.3f} nats per token before the first epoch and the warm-up are over; a "
            f"healthy run is above {limit:.2f} there, on any text. The decoder sees what it must predict, or the "
            "source contains the target: check the masks, the shift of the target and the corpora (make inspect)",
        )

    def _exploding(self, loss: float) -> list[Symptom]:
        now, usual = self._norms.now, self._norms.usual
        harmful = loss > self._lowest + EXPLODED_LEAST_RISE_NATS
        return self._reported.update(
            "gradient exploding",
            present=harmful and now > EXPLODED_FACTOR * usual,
            cleared=now < CALM_FACTOR * usual,
            message=f"the gradient norm is {now:.3g}, {now / max(usual, 1e-9):.0f} times its usual {usual:.2g}, and "
            f"the loss has risen from {self._lowest:.2f} (step {self._lowest_step:,}) to {loss:.2f}; in a healthy run "
            "the norm stays within a few times its median. Lower training.learning_rate_factor or raise "
            "training.warmup_steps",
        )

    def _rising(self, loss: float) -> list[Symptom]:
        risen = loss - self._lowest
        explained = len(self._losses) < LEAST_EARLIER_LINES or "gradient exploding" in self._reported
        return self._reported.update(
            "loss rising",
            present=risen > RISEN_NATS and not explained,
            cleared=risen < RECOVERED_NATS,
            message=f"the training loss is {loss:.2f} nats per token and was {self._lowest:.2f} at step "
            f"{self._lowest_step:,}; in a healthy run it falls, apart from small waves. Start again from an earlier "
            "checkpoint with a lower training.learning_rate_factor or more training.warmup_steps",
        )

    def _not_falling(self, step: int, loss: float) -> list[Symptom]:
        entropy = self.unigram_entropy
        late = step >= self.warmup_steps + max(self.warmup_steps // 2, LEAST_STEPS_AFTER_WARMUP)
        return self._reported.update(
            "loss not falling",
            present=late and loss > NOT_FALLING_SHARE * entropy and "loss rising" not in self._reported,
            cleared=loss < FALLING_SHARE * entropy,
            message=f"the training loss is {loss:.2f} nats per token (perplexity {perplexity(loss):,.0f}); guessing "
            f"subwords by their frequency alone gives {entropy:.2f} ({perplexity(entropy):,.0f}), and a healthy run is "
            f"far below that when the warm-up ends (step {self.warmup_steps:,}). Lower training.learning_rate_factor, "
            "raise training.warmup_steps, and check that the two sides of the corpora belong together (make inspect)",
        )

    def _leak_in_validation(self, line: Mapping[str, Any]) -> list[Symptom]:
        bleu = line.get("bleu")
        if not isinstance(bleu, int | float):
            return []
        limit = self.perfect_loss + LEAKED_VALIDATION_SHARE * self.unigram_entropy
        return self._reported.update(
            "target leak",
            present=line["nll"] < limit and bleu < LEAKED_BLEU,
            cleared=False,
            message=f"the validation loss is {line['nll']:.3f} nats per token, but the translations reach only BLEU "
            f"{bleu:.1f}; a healthy run with such a loss is far above BLEU 50. The decoder sees what it must predict: "
            "check the masks and the shift of the target",
        )

    def _overfitting(self, line: Mapping[str, Any]) -> list[Symptom]:
        nll, training = line["nll"], median(self._losses.recent or [math.inf])
        limit = self._best_validation + max(OVERFITTED_NATS, OVERFITTED_SHARE * self._best_validation)
        self._risen_validations = self._risen_validations + 1 if nll > limit else 0
        better = nll < self._best_validation
        if better:
            self._best_validation, self._best_validation_step = nll, line["step"]
            self._training_at_best = training
        diverging = self._risen_validations >= OVERFITTED_VALIDATIONS and training < self._training_at_best
        return self._reported.update(
            "overfitting",
            present=diverging and line.get("best_step") != line["step"],
            cleared=better,
            message=f"since step {self._best_validation_step:,} the validation loss has risen from "
            f"{self._best_validation:.2f} to {nll:.2f} nats per token, while the training loss fell from "
            f"{self._training_at_best:.2f} to {training:.2f}; in a healthy run both fall. Stop there "
            "(training.patience; checkpoints/best is the best model so far), raise model.dropout, use a smaller model, "
            "or add data",
        )


class Pace:
    """Finds problems in the throughput of one process of a run, against its own median, and in its waiting for batches.

    The first log line of a process is ignored, because a start is slow.
    """

    def __init__(self) -> None:
        self._reported = _Reported()
        self._begun = False
        self._speeds, self._seconds, self._waited = _Series(), _Series(), _Series()

    def observe(self, line: Mapping[str, Any]) -> list[Symptom]:
        """Take in the next line and return the problems to report with it."""
        if line["kind"] != "train":
            return []
        begun, self._begun = self._begun, True
        if begun:
            self._speeds.add(line["target_tokens_per_second"])
            self._seconds.add(line["seconds"])
            self._waited.add(line["seconds"] * line["input_waiting_share"])
        return [*self._starving(), *self._slow()] if len(self._speeds) >= RECENT_LINES else []

    def _starving(self) -> list[Symptom]:
        seconds, waited = sum(self._seconds.recent), sum(self._waited.recent)
        lines = zip(self._waited.recent, self._seconds.recent, strict=True)
        shares = [waiting / max(whole, 1e-9) for waiting, whole in lines]
        return self._reported.update(
            "waiting for batches",
            present=min(shares) > STARVED_SHARE and waited > LEAST_WAITED_SECONDS,
            cleared=max(shares) < FED_SHARE,
            message=f"{100 * waited / max(seconds, 1e-9):.0f} % of the last {seconds:.0f} s were spent waiting for "
            "batches; a healthy run waits for a few percent. Put data.cache_dir on a fast local disk, and leave the "
            "loader a free core",
        )

    def _slow(self) -> list[Symptom]:
        usual, fastest = self._speeds.usual, max(self._speeds.recent)
        return self._reported.update(
            "slow",
            present=fastest < SLOW_SHARE * usual and sum(self._seconds.recent) > LEAST_SLOW_SECONDS,
            cleared=min(self._speeds.recent) > STEADY_SHARE * usual,
            message=f"at most {fastest:,.0f} target tokens/s lately, and this run's median is {usual:,.0f}; a healthy "
            "run keeps its pace. Look for other programs on the machine, a hot or throttled device, and swapping",
        )


def unigram_entropy(corpus: Pairs) -> float:
    """The entropy of the target subwords in nats, EOS counted, of at most `ENTROPY_PAIRS` pairs evenly spread."""
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

    The problems that a line shows are reported, and recorded after it. Those of its pace are only reported, because
    they differ after a restart.
    """

    def __init__(self, metrics: MetricsFile, diagnosis: Diagnosis, *, report: Callable[[str], None]) -> None:
        self._metrics = metrics
        self._diagnosis = diagnosis
        self._pace = Pace()
        self._report = report

    def write(self, *, step: int, kind: str, **values: float | str | None) -> None:
        """Append a line and the problems that it shows. Raises DiskError."""
        line = self._metrics.write(step=step, kind=kind, **values)
        symptoms = self._diagnosis.observe(line)
        for symptom in symptoms:
            self._metrics.write(step=step, kind="warning", symptom=symptom.kind, message=symptom.message)
        for symptom in [*symptoms, *self._pace.observe(line)]:
            self._report(f"step {step:,}: warning: {symptom.kind}: {symptom.message}")

    def sync(self) -> None:
        """Wait until the disk holds every line. Raises DiskError."""
        self._metrics.sync()

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()
