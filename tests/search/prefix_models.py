"""Tiny random models whose scores depend on the whole prefix, and slow searches in plain Python."""

import math
import random
from functools import cache
from itertools import product

import torch
from torch import Tensor

PAD, BOS, EOS = 0, 1, 2


class PrefixModel:
    """log P(token | sentence, whole prefix), random but a pure function of the seed."""

    def __init__(self, *, seed: int, vocabulary_size: int, sharpness: float = 2.0) -> None:
        self.vocabulary_size = vocabulary_size
        self._seed = seed
        self._sharpness = sharpness
        self.logits = cache(self._logits)
        self.log_probabilities = cache(self._log_probabilities)

    def _logits(self, sentence: int, prefix: tuple[int, ...]) -> tuple[float, ...]:
        generator = random.Random(f"{self._seed} {sentence} {prefix}")
        return tuple(generator.gauss(0.0, self._sharpness) for _ in range(self.vocabulary_size))

    def _log_probabilities(self, sentence: int, prefix: tuple[int, ...]) -> tuple[float, ...]:
        logits = self.logits(sentence, prefix)
        total = math.log(math.fsum(math.exp(logit) for logit in logits))
        return tuple(logit - total for logit in logits)


class PrefixRows:
    """The model as a next-token function that keeps each row's sentence and prefix itself.

    It refuses what the protocol forbids: rows that are not sentence-major, a row that becomes
    another sentence's, a reordering that changes nothing.
    """

    def __init__(
        self,
        model: PrefixModel,
        *,
        sentences: list[int],
        rows_per_sentence: int,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        self._model = model
        self._dtype = dtype
        self._rows_per_sentence = rows_per_sentence
        self._rows = [(s, ()) for s in sentences for _ in range(rows_per_sentence)]
        self.num_calls = 0
        self.rows_per_call: list[int] = []

    def __call__(self, tokens: Tensor) -> Tensor:
        assert tokens.shape == (len(self._rows),)
        newest = tokens.tolist()
        if self.num_calls == 0:
            assert set(newest) == {BOS}
        else:
            self._rows = [(s, (*p, t)) for (s, p), t in zip(self._rows, newest, strict=True)]
        self.num_calls += 1
        self.rows_per_call.append(len(newest))
        logits = [self._model.logits(sentence, prefix) for sentence, prefix in self._rows]
        return torch.tensor(logits, dtype=self._dtype)

    def reorder(self, rows: Tensor) -> None:
        order = rows.tolist()
        assert order != list(range(len(self._rows))), "a reordering that changes nothing"
        self._rows = [self._rows[row] for row in order]
        sentences = [sentence for sentence, _ in self._rows]
        groups = sentences[:: self._rows_per_sentence]
        assert sentences == [s for s in groups for _ in range(self._rows_per_sentence)]
        assert len(groups) == len(set(groups)), "a row became another sentence's"


def penalty(form: str, alpha: float, length: int) -> float:
    return ((5 + length) / 6) ** alpha if form == "gnmt" else length**alpha


Scored = tuple[float, float, tuple[int, ...]]
"""Score, log-probability, tokens without EOS."""


def exhaustive(
    model: PrefixModel,
    *,
    sentence: int,
    form: str,
    alpha: float,
    max_length: int,
    forbidden: tuple[int, ...],
) -> list[Scored]:
    """Score every possible output; best first."""
    inner = [t for t in range(model.vocabulary_size) if t != EOS and t not in forbidden]
    results = []
    for length in range(1, max_length + 1):
        for tokens in product(inner, repeat=length - 1):
            terms = [
                model.log_probabilities(sentence, tokens[:i])[token]
                for i, token in enumerate((*tokens, EOS))
            ]
            log_probability = math.fsum(terms)
            results.append(
                (log_probability / penalty(form, alpha, length), log_probability, tokens)
            )
    return sorted(results, key=lambda scored: -scored[0])


def slow_beam(
    model: PrefixModel,
    *,
    sentence: int,
    beam_size: int,
    form: str,
    alpha: float,
    max_length: int,
    forbidden: tuple[int, ...],
) -> list[Scored]:
    """Beam search as mt/search/beam.py defines it, without early exit; every finished hypothesis."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[Scored] = []
    for length in range(1, max_length + 1):
        candidates = []
        for total, prefix in live:
            scores = model.log_probabilities(sentence, prefix)
            for token in range(model.vocabulary_size):
                if token in forbidden or (length == max_length and token != EOS):
                    continue
                candidates.append((total + scores[token], prefix, token))
        candidates.sort(key=lambda candidate: -candidate[0])
        candidates = candidates[: 2 * beam_size - 1]
        for total, prefix, token in candidates[:beam_size]:
            if token == EOS:
                finished.append((total / penalty(form, alpha, length), total, prefix))
        live = [(total, (*prefix, token)) for total, prefix, token in candidates if token != EOS]
        live = live[:beam_size]
    return sorted(finished, key=lambda scored: -scored[0])
