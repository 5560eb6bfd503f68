"""Beam search equals exhaustive search, a slow search in plain Python, and itself in any batch."""

import math
import random
from functools import cache
from itertools import product

import pytest
import torch
from torch import Tensor

from mt.search.beam import beam_search
from mt.search.greedy import greedy_search
from mt.search.hypothesis import Hypothesis

PAD, BOS, EOS = 0, 1, 2
Scored = tuple[float, float, tuple[int, ...]]  # score, log-probability, tokens without EOS


class Case:
    """A random model whose scores depend on the whole prefix, with a random batch and settings."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.seed = seed
        self.vocabulary_size = draw.randint(3, 5)
        self.sharpness = draw.choice((0.5, 2.0, 5.0))
        self.max_lengths = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
        self.sentences = list(range(len(self.max_lengths)))
        self.form = draw.choice(("gnmt", "power"))
        self.alpha = draw.choice((0.0, 0.6, 1.0, 2.5, -0.5))
        self.forbidden = draw.choice(((PAD, BOS), (PAD,), ()))
        self.inner = [t for t in range(self.vocabulary_size) if t not in (EOS, *self.forbidden)]
        self.logits = cache(self._logits)
        self.log_probabilities = cache(self._log_probabilities)

    def _logits(self, sentence: int, prefix: tuple[int, ...]) -> list[float]:
        draw = random.Random(f"{self.seed} {sentence} {prefix}")
        return [draw.gauss(0.0, self.sharpness) for _ in range(self.vocabulary_size)]

    def _log_probabilities(self, sentence: int, prefix: tuple[int, ...]) -> list[float]:
        logits = self.logits(sentence, prefix)
        total = math.log(math.fsum(map(math.exp, logits)))
        return [logit - total for logit in logits]

    def scored(self, log_probability: float, tokens: tuple[int, ...]) -> Scored:
        length = len(tokens) + 1
        base = (5 + length) / 6 if self.form == "gnmt" else length
        return log_probability / base**self.alpha, log_probability, tokens

    def exhaustive(self, sentence: int) -> list[Scored]:
        """Every possible output, best first."""
        results = []
        for inner_length in range(self.max_lengths[sentence]):
            for tokens in product(self.inner, repeat=inner_length):
                terms = [self.log_probabilities(sentence, tokens[:i])[t] for i, t in enumerate((*tokens, EOS))]
                results.append(self.scored(math.fsum(terms), tokens))
        return sorted(results, key=lambda scored: -scored[0])

    def slow_beam(self, sentence: int, beam_size: int) -> list[Scored]:
        """Beam search as mt/search/beam.py defines it, without early exit: all that finished, best first."""
        live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        finished: list[Scored] = []
        for length in range(1, self.max_lengths[sentence] + 1):
            permitted = [EOS] if length == self.max_lengths[sentence] else [*self.inner, EOS]
            candidates = [
                (total + self.log_probabilities(sentence, prefix)[token], prefix, token)
                for total, prefix in live
                for token in permitted
            ]
            candidates = sorted(candidates, key=lambda candidate: -candidate[0])[: 2 * beam_size - 1]
            finished += [self.scored(total, prefix) for total, prefix, token in candidates[:beam_size] if token == EOS]
            live = [(total, (*prefix, token)) for total, prefix, token in candidates if token != EOS][:beam_size]
        return sorted(finished, key=lambda scored: -scored[0])

    def exhaustive_beam_size(self) -> int:
        """The largest number of candidates of any step."""
        inner, longest = len(self.inner), max(self.max_lengths)
        return max([1, inner ** (longest - 1), *(inner**i * (inner + 1) for i in range(longest - 1))])

    def arguments(self) -> dict:
        return {
            "length_penalty": self.alpha,
            "length_penalty_form": self.form,
            "max_lengths": torch.tensor([self.max_lengths[sentence] for sentence in self.sentences]),
            "bos": BOS,
            "eos": EOS,
            "forbidden": self.forbidden,
        }

    def beam(self, beam_size: int, num_hypotheses: int = 1, dtype: torch.dtype = torch.float64):
        rows = PrefixRows(self, rows_per_sentence=beam_size, dtype=dtype)
        found = beam_search(next_token=rows, beam_size=beam_size, num_hypotheses=num_hypotheses, **self.arguments())
        return found, rows

    def greedy(self, dtype: torch.dtype = torch.float64):
        rows = PrefixRows(self, rows_per_sentence=1, dtype=dtype)
        return greedy_search(next_token=rows, **self.arguments()), rows


class PrefixRows:
    """The model of a case as a next-token function that keeps each row's sentence and prefix itself.

    It refuses what the protocol forbids: a row that becomes another sentence's, and a reordering that changes nothing.
    """

    def __init__(self, case: Case, *, rows_per_sentence: int, dtype: torch.dtype) -> None:
        self._logits = cache(lambda sentence, prefix: torch.tensor(case.logits(sentence, prefix), dtype=dtype))
        self._rows = [(sentence, ()) for sentence in case.sentences for _ in range(rows_per_sentence)]
        self._rows_per_sentence = rows_per_sentence
        self.rows_per_call: list[int] = []

    def __call__(self, tokens: Tensor) -> Tensor:
        if self.rows_per_call:
            extended = zip(self._rows, tokens.tolist(), strict=True)
            self._rows = [(sentence, (*prefix, token)) for (sentence, prefix), token in extended]
        else:
            assert tokens.tolist() == [BOS] * len(self._rows)
        self.rows_per_call.append(len(tokens))
        return torch.stack([self._logits(*row) for row in self._rows])

    def reorder(self, rows: Tensor) -> None:
        order = rows.tolist()
        assert order != list(range(len(self._rows))), "a reordering that changes nothing"
        self._rows = [self._rows[row] for row in order]
        sentences = [sentence for sentence, _ in self._rows]
        groups = sentences[:: self._rows_per_sentence]
        assert sentences == [sentence for sentence in groups for _ in range(self._rows_per_sentence)]
        assert len(groups) == len(set(groups)), "a row became another sentence's"


def assert_same(found: list[Hypothesis], expected: list[Scored]) -> None:
    assert [tuple(hypothesis.tokens) for hypothesis in found] == [tokens for *_, tokens in expected]
    for hypothesis, (score, log_probability, tokens) in zip(found, expected, strict=True):
        assert hypothesis.score == pytest.approx(score, abs=1e-12)
        assert hypothesis.log_probability == pytest.approx(log_probability, abs=1e-12)
        assert hypothesis.length == len(tokens) + 1


def test_wide_beam_is_exhaustive_search():
    for seed in range(500):
        case = Case(seed)
        beam_size = case.exhaustive_beam_size()
        num_hypotheses = min(beam_size, 1 + seed % 3)
        found, _ = case.beam(beam_size, num_hypotheses)
        for sentence in case.sentences:
            assert_same(found[sentence], case.exhaustive(sentence)[:num_hypotheses])


@pytest.mark.parametrize("beam_size", [1, 2, 3, 4, 7])
def test_narrow_beam_is_the_slow_search_without_early_exit(beam_size):
    for seed in range(150):
        case = Case(1000 * beam_size + seed)
        num_hypotheses = 1 + seed % beam_size
        found, _ = case.beam(beam_size, num_hypotheses)
        for sentence in case.sentences:
            assert_same(found[sentence], case.slow_beam(sentence, beam_size)[:num_hypotheses])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_beam_of_one_is_greedy_to_the_last_bit(dtype):
    for seed in range(100):
        case = Case(seed)
        assert case.beam(1, dtype=dtype)[0] == case.greedy(dtype)[0]


@pytest.mark.parametrize("search", [lambda case: case.beam(3, 3), Case.greedy])
def test_neighbours_have_no_influence(search):
    for seed in range(100):
        case = Case(seed)
        together, _ = search(case)
        for sentence, expected in enumerate(together):
            case.sentences = [sentence]
            [alone], _ = search(case)
            assert alone == expected


@pytest.mark.parametrize("search", [lambda case: case.beam(2), Case.greedy])
def test_work_ends_with_each_sentence(search):
    """Rows of finished sentences leave, and a batch lasts no longer than its slowest sentence alone."""
    for seed in range(100):
        case = Case(seed)
        _, together = search(case)
        alone = []
        for sentence in list(case.sentences):
            case.sentences = [sentence]
            alone.append(search(case)[1].rows_per_call)
        steps = max(map(len, alone))
        expected = [sum(rows[step] for rows in alone if step < len(rows)) for step in range(steps)]
        assert together.rows_per_call == expected


def test_early_exit_saves_work():
    calls = [(len(case.beam(4)[1].rows_per_call), max(case.max_lengths)) for case in map(Case, range(100))]
    assert sum(made for made, _ in calls) < 0.8 * sum(possible for _, possible in calls)
