"""How sure a classifier is of each class of a text or of a pair of texts, and how well that tells classes apart."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from mt.data.batching import plan_in_order
from mt.data.lines import blocks
from mt.data.rows import labelled_rows, rows_of_texts
from mt.data.tokenizer import Tokenizer
from mt.model.decoder_only import AnyTransformer
from mt.translation.segments import Translation

_BATCH_TOKENS = 4096
_BLOCK_LINES = 256
_Z = 1.959964  # of a normal distribution 95 % are within as many standard deviations


@dataclass(frozen=True)
class Classifier:
    """An encoder alone in evaluation; of each text it reads `max_tokens` subwords. `labels` name the classes."""

    model: AnyTransformer
    tokenizer: Tokenizer
    max_tokens: int
    labels: Sequence[str] = ()

    @torch.inference_mode()
    def __call__(self, texts: Sequence[Sequence[str]]) -> Float[np.ndarray, "texts classes"]:
        """The probability of each class, for each text or pair of texts."""
        weight = self.model.output_embedding.weight
        probabilities = np.zeros((len(texts), len(weight)))
        rows = rows_of_texts(texts, self.tokenizer, max_tokens=self.max_tokens)
        corpus = labelled_rows(rows, [0] * len(rows))
        for indices in plan_in_order(corpus.token_lengths(), batch_tokens=_BATCH_TOKENS) if rows else ():
            batch = corpus.batch(indices).to(weight.device)
            probabilities[indices] = self.model(batch.source, batch.target_input)[:, 0].softmax(-1).cpu().numpy()
        return probabilities

    def translate(self, lines: Iterable[str], *, most: int = 1) -> Iterator[Translation]:
        """The label of each line with its probability as score, and up to `most` labels with those that follow."""
        for block in blocks(lines, _BLOCK_LINES):
            for probabilities in self([(line,) for line in block]):
                best = np.argsort(-probabilities, kind="stable")[:most]
                first, *others = [Translation(self.labels[one], float(probabilities[one]), []) for one in best]
                first.others = others
                yield first


def roc_auc(higher: Float[np.ndarray, " true_pairs"], lower: Float[np.ndarray, " faulty_pairs"]) -> float:
    """The probability that one of the first scores is above one of the second; a tie counts half (Fawcett 2006)."""
    ordered = np.sort(lower)
    below = np.searchsorted(ordered, higher, "left") + np.searchsorted(ordered, higher, "right")
    return float(below.mean() / (2 * len(lower)))


@dataclass(frozen=True)
class LabelScores:
    """How well labels were found, in percent."""

    texts: int
    accuracy: float
    accuracy_low: float
    """Lower end of the 95 % interval of `accuracy` (Wilson 1927)."""
    accuracy_high: float
    macro_f1: float
    """The mean of `f1`, in which rare labels count as much as frequent ones."""
    f1: dict[str, float]
    """2 · right / (found + real), of each label that was found or is real."""
    confusion: list[list[int]]
    """The number of texts by real label (rows) and found label (columns), in the order of the labels."""


def label_scores(found: Sequence[str], real: Sequence[str], labels: Sequence[str]) -> LabelScores:
    """Compare the found labels with the real ones, all of which are among `labels`."""
    number = {label: index for index, label in enumerate(labels)}
    confusion = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(confusion, ([number[label] for label in real], [number[label] for label in found]), 1)
    right, sums = confusion.diagonal(), confusion.sum(0) + confusion.sum(1)
    f1 = {label: 200 * int(right[n]) / int(sums[n]) for label, n in number.items() if sums[n]}
    low, high = _wilson_interval(int(right.sum()), len(real))
    return LabelScores(
        texts=len(real),
        accuracy=100 * int(right.sum()) / len(real),
        accuracy_low=100 * low,
        accuracy_high=100 * high,
        macro_f1=sum(f1.values()) / len(f1),
        f1=f1,
        confusion=confusion.tolist(),
    )


def _wilson_interval(right: int, count: int) -> tuple[float, float]:
    share, slack = right / count, _Z**2 / count
    half = _Z * math.sqrt(share * (1 - share) / count + slack / (4 * count))
    return max(0.0, (share + slack / 2 - half) / (1 + slack)), min(1.0, (share + slack / 2 + half) / (1 + slack))
