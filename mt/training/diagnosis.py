"""Is this normal? The figures that a run logs, compared with those of a healthy run.

`Diagnosis` reads the lines of `metrics.jsonl` and nothing else: a resumed run reads its own lines again and goes on
as if it had never stopped. Each problem is reported once, and again only if it clears and returns. The thresholds are
far from anything seen in the runs of `docs/is_this_normal.md`: silence proves nothing, but a warning means something.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from mt.data.batch import Pairs
from mt.reporting import report
from mt.runs.metrics import MetricsFile, perplexity
from mt.training.schedule import end_of_warmup

ENTROPY_PAIRS = 50_000
RECENT_LINES = 3  # a single log line varies by chance

# A problem is present beyond the first threshold and cleared beyond the second.
NOT_FALLING_SHARE, FALLING_SHARE = 0.95, 0.85  # of the unigram entropy
LEAST_STEPS_AFTER_WARMUP = 300
RISEN_NATS, RECOVERED_NATS = 1.0, 0.5
LEAKED_SHARE, LEAKED_BLEU = 0.1, 10.0  # of the unigram entropy
OVERFITTED_NATS, OVERFITTED_SHARE, OVERFITTED_VALIDATIONS = 0.1, 0.05, 2


@dataclass(frozen=True)
class Symptom:
    """A problem that a healthy run does not have; the message gives the figures and what to do.

    One that is neither present nor cleared stays as it was.
    """

    kind: str
    present: bool
    cleared: bool
    message: str


class Diagnosis:
    """Finds problems in the lines of a run's `metrics.jsonl`.

    `unigram_entropy` is that of the training targets' subwords, in nats: the loss of a model that knows how frequent
    each subword is and nothing else. Label smoothing rewards a probability of 1 - ε + ε / V and no more, so even a
    perfect model keeps a loss above 0. Lines of kinds other than "train" and "validation" are ignored, and so are
    damaged values.
    """

    def __init__(self, *, unigram_entropy: float, warmup_steps: int, max_steps: int, label_smoothing: float) -> None:
        self.unigram_entropy = unigram_entropy
        self.perfect_loss = -math.log1p(-label_smoothing)
        self.warmup_steps, self.max_steps = warmup_steps, max_steps
        self._reported: set[str] = set()
        self._losses: deque[float] = deque(maxlen=RECENT_LINES)
        self._lowest, self._lowest_step = math.inf, 0  # median of recent lines
        self._best_validation, self._best_validation_step = math.inf, 0
        self._training_at_best = 0.0
        self._risen_validations = 0

    def observe(self, line: Mapping[str, Any]) -> list[Symptom]:
        """Take in the next line and return the problems to report with it."""
        if not isinstance(line.get("nll"), int | float):
            return []
        found = []
        if line["kind"] == "validation":
            found = [self._leak(line), self._overfitting(line)]
        elif line["kind"] == "train":
            self._losses.append(line["nll"])
            if len(self._losses) == RECENT_LINES:
                found = self._training(line, median(self._losses))
        new = []
        for symptom in found:
            if symptom.cleared:
                self._reported.discard(symptom.kind)
            if symptom.present and symptom.kind not in self._reported:
                self._reported.add(symptom.kind)
                new.append(symptom)
        return new

    def _training(self, line: Mapping[str, Any], loss: float) -> list[Symptom]:
        risen, entropy, step, progress = loss - self._lowest, self.unigram_entropy, line["step"], line.get("progress")
        reached = progress if isinstance(progress, float) and 0 < progress <= 1 else 0.0  # lines may be damaged
        limits = {"warmup_steps": self.warmup_steps, "max_steps": self.max_steps}
        warmup_steps = end_of_warmup(step, reached, **limits)
        late = step >= warmup_steps + max(warmup_steps // 2, LEAST_STEPS_AFTER_WARMUP)
        rising = Symptom(
            "loss rising",
            present=risen > RISEN_NATS,
            cleared=risen < RECOVERED_NATS,
            message=f"the training loss is {loss:.2f} nats per token and was {self._lowest:.2f} at step "
            f"{self._lowest_step:,}; in a healthy run it falls, apart from small waves. Begin again in a new run_dir "
            "with a lower training.learning_rate or more training.warmup_steps",
        )
        not_falling = Symptom(
            "loss not falling",
            present=late and loss > NOT_FALLING_SHARE * entropy and risen <= RECOVERED_NATS,
            cleared=loss < FALLING_SHARE * entropy,
            message=f"the training loss is {loss:.2f} nats per token (perplexity {perplexity(loss):,.0f}); guessing "
            f"subwords by their frequency alone gives {entropy:.2f} ({perplexity(entropy):,.0f}), and a healthy run is "
            f"far below that when the warm-up ends (step {warmup_steps:,}). In a new run_dir lower "
            "training.learning_rate or raise training.warmup_steps, and check that the two sides of the corpora belong "
            "together (make inspect)",
        )
        if risen < 0:
            self._lowest, self._lowest_step = loss, step
        return [rising, not_falling]

    def _leak(self, line: Mapping[str, Any]) -> Symptom:
        bleu = line["bleu"] if isinstance(line.get("bleu"), int | float) else math.inf
        return Symptom(
            "target leak",
            present=line["nll"] < self.perfect_loss + LEAKED_SHARE * self.unigram_entropy and bleu < LEAKED_BLEU,
            cleared=False,
            message=f"the validation loss is {line['nll']:.3f} nats per token, but the translations reach only BLEU "
            f"{bleu:.1f}; a healthy run with such a loss is far above BLEU 50. The decoder sees what it must predict: "
            "check the masks and the shift of the target",
        )

    def _overfitting(self, line: Mapping[str, Any]) -> Symptom:
        nll, training = line["nll"], median(self._losses or [math.inf])
        limit = self._best_validation + max(OVERFITTED_NATS, OVERFITTED_SHARE * self._best_validation)
        self._risen_validations = self._risen_validations + 1 if nll > limit else 0
        better = nll < self._best_validation
        if better:
            self._best_validation, self._best_validation_step = nll, line["step"]
        if better or math.isinf(self._training_at_best):  # the best was before the first line of training
            self._training_at_best = training
        diverging = self._risen_validations >= OVERFITTED_VALIDATIONS and training < self._training_at_best
        return Symptom(
            "overfitting",
            present=diverging and line.get("best_step") != line["step"],
            cleared=better,
            message=f"since step {self._best_validation_step:,} the validation loss has risen from "
            f"{self._best_validation:.2f} to {nll:.2f} nats per token, while the training loss fell from "
            f"{self._training_at_best:.2f} to {training:.2f}; in a healthy run both fall. Stop there "
            "(a small training.patience: the model is made of the newest checkpoints), raise model.dropout, use a "
            "smaller model, or add data",
        )


def unigram_entropy(corpus: Pairs, *, ends: bool = True) -> float:
    """The entropy of the target subwords in nats, of at most `ENTROPY_PAIRS` pairs evenly spread.

    With `ends` an EOS is counted after each target.
    """
    pairs = len(corpus.target_lengths)
    if not pairs:
        return 0.0
    chosen = range(0, pairs, max(1, -(-pairs // ENTROPY_PAIRS)))
    counts = np.bincount(np.concatenate([corpus.target(index) for index in chosen]))
    present = np.append(counts[counts > 0], [len(chosen)] if ends else [])
    shares = present / present.sum()
    return float(-(shares * np.log(shares)).sum())


class WatchedMetrics(MetricsFile):
    """A metrics file whose lines, those from before a restart too, are compared with those of a healthy run.

    The problems that a new line shows are reported, and recorded after it.
    """

    def __init__(self, path: Path, *, step: int, tensorboard: bool, diagnosis: Diagnosis) -> None:
        super().__init__(path, step=step, tensorboard=tensorboard)
        self._diagnosis = diagnosis
        for line in self.kept:
            diagnosis.observe(line)

    def write(self, *, step: int, kind: str, **values: float | str | list[str] | None) -> dict[str, Any]:
        """Append a line and the problems that it shows, and return it. Raises DiskError."""
        line = super().write(step=step, kind=kind, **values)
        for symptom in self._diagnosis.observe(line):
            super().write(step=step, kind="warning", symptom=symptom.kind, message=symptom.message)
            report(f"step {step:,}: warning: {symptom.kind}: {symptom.message}")
        return line
