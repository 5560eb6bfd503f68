"""Beam search equals exhaustive search, a slow search in plain Python, and itself in any batch."""

import random

import pytest
import torch

from mt.errors import DivergedError
from mt.search.beam import beam_search
from mt.search.greedy import greedy_search
from mt.search.hypothesis import Hypothesis
from tests.search.prefix_models import (
    BOS,
    EOS,
    PAD,
    PrefixModel,
    PrefixRows,
    Scored,
    exhaustive,
    slow_beam,
)

ALPHAS = (0.0, 0.6, 1.0, 2.5, -0.5)
FORMS = ("gnmt", "power")


class Case:
    """One random model with a random batch and settings, all drawn from the seed."""

    def __init__(self, seed: int) -> None:
        generator = random.Random(seed)
        self.model = PrefixModel(
            seed=seed,
            vocabulary_size=generator.randint(3, 5),
            sharpness=generator.choice((0.5, 2.0, 5.0)),
        )
        self.sentences = list(range(generator.randint(1, 4)))
        self.max_lengths = [generator.randint(1, 5) for _ in self.sentences]
        self.form = generator.choice(FORMS)
        self.alpha = generator.choice(ALPHAS)
        self.forbidden = generator.choice(((PAD, BOS), (PAD,), ()))

    def settings(self, sentence: int) -> dict:
        return dict(
            sentence=sentence,
            form=self.form,
            alpha=self.alpha,
            max_length=self.max_lengths[sentence],
            forbidden=self.forbidden,
        )

    def rows(self, per_sentence: int, **options) -> PrefixRows:
        return PrefixRows(
            self.model, sentences=self.sentences, rows_per_sentence=per_sentence, **options
        )

    def beam(self, beam_size: int, *, num_hypotheses: int = 1, **options):
        return beam_search(
            next_token=options.get("next_token") or self.rows(beam_size, **options),
            beam_size=beam_size,
            num_hypotheses=num_hypotheses,
            **self.search_arguments(),
        )

    def greedy(self, **options):
        return greedy_search(next_token=self.rows(1, **options), **self.search_arguments())

    def search_arguments(self) -> dict:
        return dict(
            length_penalty=self.alpha,
            length_penalty_form=self.form,
            max_lengths=torch.tensor([self.max_lengths[s] for s in self.sentences]),
            bos=BOS,
            eos=EOS,
            forbidden=self.forbidden,
        )


def assert_same(found: list[Hypothesis], expected: list[Scored]) -> None:
    assert [tuple(hypothesis.tokens) for hypothesis in found] == [tokens for *_, tokens in expected]
    for hypothesis, (score, log_probability, tokens) in zip(found, expected, strict=True):
        assert hypothesis.score == pytest.approx(score, abs=1e-12)
        assert hypothesis.log_probability == pytest.approx(log_probability, abs=1e-12)
        assert hypothesis.length == len(tokens) + 1


def test_wide_beam_is_exhaustive_search():
    for seed in range(500):
        case = Case(seed)
        widest = case.model.vocabulary_size ** max(case.max_lengths)
        wide = min(widest, 1 + 4**4 * 5)
        num_hypotheses = random.Random(seed).choice((1, 3))
        found = case.beam(wide, num_hypotheses=min(num_hypotheses, wide))
        for sentence in case.sentences:
            expected = exhaustive(case.model, **case.settings(sentence))
            assert_same(found[sentence], expected[:num_hypotheses])


@pytest.mark.parametrize("beam_size", [1, 2, 3, 4, 7])
def test_narrow_beam_is_the_slow_search_without_early_exit(beam_size):
    for seed in range(500):
        case = Case(seed)
        num_hypotheses = random.Random(seed).randint(1, beam_size)
        found = case.beam(beam_size, num_hypotheses=num_hypotheses)
        for sentence in case.sentences:
            expected = slow_beam(case.model, beam_size=beam_size, **case.settings(sentence))
            assert_same(found[sentence], expected[:num_hypotheses])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_beam_of_one_is_greedy_to_the_last_bit(dtype):
    for seed in range(200):
        case = Case(seed)
        assert case.beam(1, dtype=dtype) == case.greedy(dtype=dtype)


def test_neighbours_have_no_influence():
    for seed in range(200):
        case = Case(seed)
        together = case.beam(3, num_hypotheses=3) + case.greedy()
        alone = []
        sentences = case.sentences
        for search in (lambda: case.beam(3, num_hypotheses=3), case.greedy):
            for sentence in sentences:
                case.sentences = [sentence]
                alone += search()
            case.sentences = sentences
        assert together == alone


def test_early_exit_saves_calls_and_finished_sentences_leave():
    calls = whole = 0
    for seed in range(100):
        case = Case(seed)
        rows = case.rows(2)
        case.beam(2, next_token=rows)
        calls += sum(rows.rows_per_call)
        whole += 2 * sum(case.max_lengths)
        assert rows.rows_per_call == sorted(rows.rows_per_call, reverse=True)
        assert rows.num_calls <= max(case.max_lengths)
    assert calls < 0.8 * whole


def test_forbidden_tokens_never_appear():
    class Tempting(PrefixModel):
        def _logits(self, sentence, prefix):
            return (50.0, 40.0, *super()._logits(sentence, prefix)[2:])

    for seed in range(50):
        case = Case(seed)
        case.model = Tempting(seed=seed, vocabulary_size=5)
        case.forbidden = (PAD, BOS)
        for hypotheses in (*case.beam(4, num_hypotheses=4), *case.greedy()):
            for hypothesis in hypotheses:
                assert not {PAD, BOS, EOS} & set(hypothesis.tokens)


class Constant:
    """The same scores in every row and step, for ties."""

    def __init__(self, logits: list[float], rows: int) -> None:
        self.logits = torch.tensor(logits)
        self.rows = rows

    def __call__(self, tokens):
        return self.logits.repeat(len(tokens), 1)

    def reorder(self, rows):
        self.rows = len(rows)


def search_constant(logits, *, beam_size, num_hypotheses=1, max_length=2, alpha=0.0, batch=1):
    return beam_search(
        next_token=Constant(logits, batch * beam_size),
        beam_size=beam_size,
        num_hypotheses=num_hypotheses,
        length_penalty=alpha,
        length_penalty_form="gnmt",
        max_lengths=torch.full((batch,), max_length),
        bos=BOS,
        eos=EOS,
        forbidden=(PAD, BOS),
    )


def test_ties_go_to_the_lowest_token():
    logits = [0.0, 0.0, 0.0] + [1.0] * 5000
    for batch in (1, 3):
        for hypotheses in search_constant(logits, beam_size=4, num_hypotheses=4, batch=batch):
            assert [hypothesis.tokens for hypothesis in hypotheses] == [[3], [4], [5], [6]]


def test_a_sentence_may_be_empty():
    [[best]] = search_constant([0.0, 0.0, 9.0, 0.0], beam_size=2, max_length=5)
    assert (best.tokens, best.length) == ([], 1)
    [[best]] = search_constant([0.0, 0.0, -9.0, 9.0], beam_size=2, max_length=1)
    assert best.tokens == []


def test_no_sentences():
    assert search_constant([0.0] * 4, beam_size=2, batch=0) == []


@pytest.mark.parametrize("damaged", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_refused(damaged):
    with pytest.raises(DivergedError, match="no output of sentence 0 of the batch has a finite"):
        search_constant([0.0, 0.0, 0.0, damaged], beam_size=2, max_length=4)


def test_impossible_arguments_are_refused():
    arguments = Case(0).search_arguments()
    rows = Case(0).rows(2)
    with pytest.raises(ValueError, match="num_hypotheses 3: expected 1 to beam_size 2"):
        beam_search(next_token=rows, beam_size=2, num_hypotheses=3, **arguments)
    with pytest.raises(ValueError, match="must hold at least the EOS"):
        limits = torch.tensor([3, 0])
        beam_search(next_token=rows, beam_size=2, **{**arguments, "max_lengths": limits})
    with pytest.raises(ValueError, match="the EOS token 2 is among the forbidden"):
        beam_search(next_token=rows, beam_size=2, **{**arguments, "forbidden": (EOS,)})
    with pytest.raises(ValueError, match="'wu': expected 'gnmt' or 'power'"):
        beam_search(next_token=rows, beam_size=2, **{**arguments, "length_penalty_form": "wu"})
