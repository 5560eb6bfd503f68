"""Ties, forbidden tokens, empty outputs, damaged scores."""

import math
from functools import partial

import pytest
import torch

from mt.errors import DivergedError
from mt.search.beam import beam_search
from mt.search.finished import length_penalties

PAD, BOS, EOS = 0, 1, 2


class Constant:
    """The same scores for every row in every step."""

    def __init__(self, logits: list[float]) -> None:
        self.logits = torch.tensor(logits)

    def __call__(self, tokens):
        return self.logits.repeat(len(tokens), 1)

    def reorder(self, rows):
        pass


greedy, beam_of_two = (partial(beam_search, beam_size=beam_size) for beam_size in (1, 2))
both = pytest.mark.parametrize("search_function", [beam_of_two, greedy])


def search(logits, *, max_lengths, search_function=beam_of_two, **changes):
    arguments = {
        "next_token": Constant(logits),
        "length_penalty": 0.6,
        "length_penalty_form": "gnmt",
        "max_lengths": torch.tensor(max_lengths, dtype=torch.int64),
        "bos": BOS,
        "eos": EOS,
        "forbidden": (PAD, BOS),
    }
    return search_function(**{**arguments, **changes})


@pytest.mark.parametrize(("num_best", "expected"), [(2, [1000, 1001, 3, 4]), (5000, [1000, 1001, 1002, 1003])])
@pytest.mark.parametrize("batch", [1, 3])
def test_ties_go_to_the_lowest_tokens(num_best, expected, batch):
    """More equals than are considered, where torch.topk alone returns any of them."""
    logits = [0.0, 0.0, -50.0] + [0.0] * 997 + [9.0] * num_best + [0.0] * 1000
    wide = partial(beam_search, beam_size=4, num_hypotheses=4)
    for hypotheses in search(logits, max_lengths=[2] * batch, search_function=wide, length_penalty=0.0):
        assert [hypothesis.tokens for hypothesis in hypotheses] == [[token] for token in expected]
    for [hypothesis] in search(logits, max_lengths=[3] * batch, search_function=greedy):
        assert hypothesis.tokens == [1000, 1000]


@both
def test_forbidden_tokens_never_appear_however_probable(search_function):
    [[best]] = search([9.0, 8.0, -1.0, 2.0, 1.0], max_lengths=[6], search_function=search_function)
    assert best.tokens == [3] * 5


@both
def test_probabilities_are_the_models_own(search_function):
    """What is forbidden, or impossible in the last position, keeps its share."""
    [[best]] = search([1.0, 1.0, 1.0, 1.0], max_lengths=[1], search_function=search_function)
    assert best.tokens == []
    assert best.score == pytest.approx(math.log(1 / 4), abs=1e-6)


@both
@pytest.mark.parametrize("damaged", [math.nan, math.inf])
def test_scores_that_are_not_finite_are_refused(search_function, damaged):
    with pytest.raises(DivergedError, match="no output of sentence 0 of the batch has a finite score"):
        search([0.0, 0.0, 0.0, damaged], max_lengths=[4, 4], search_function=search_function)


@both
def test_a_model_that_never_ends_is_refused(search_function):
    with pytest.raises(DivergedError, match="no output of sentence 0"):
        search([0.0, 0.0, -math.inf, 0.0], max_lengths=[4], search_function=search_function)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, -0.5])
def test_length_penalties_are_their_formulas(alpha):
    gnmt = length_penalties(form="gnmt", alpha=alpha, longest=30)
    power = length_penalties(form="power", alpha=alpha, longest=30)
    for length in range(1, 31):
        assert gnmt[length] == pytest.approx((5 + length) ** alpha / (5 + 1) ** alpha)
        assert power[length] == pytest.approx(length**alpha)
