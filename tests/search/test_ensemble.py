"""An ensemble is the mixture of its members: searched exactly, and a member with itself is the member."""

import math

import pytest
import torch
from search_cases import Case, PrefixRows, assert_same

from mt.search.beam import beam_search
from mt.search.next_token import Ensemble


def mixture(cases: list[Case]) -> Case:
    """A case whose probabilities are the mean of those of others, which share all but the model with the first."""
    mixed = Case(cases[0].seed)
    members = [case.log_probabilities for case in cases]

    def log_probabilities(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        columns = zip(*(member(sentence, prefix) for member in members), strict=True)
        return [math.log(math.fsum(map(math.exp, column)) / len(members)) for column in columns]

    mixed.log_probabilities = log_probabilities
    return mixed


def members_of(seed: int, count: int) -> list[Case]:
    """Cases that differ in their models alone."""
    cases = []
    for number in range(count):
        case = Case(seed)
        case.seed = seed if number == 0 else 10_000 * number + seed
        cases.append(case)
    return cases


def searched(cases: list[Case], beam_size: int):
    rows = Ensemble([PrefixRows(case, rows_per_sentence=beam_size, dtype=torch.float64) for case in cases])
    return beam_search(next_token=rows, beam_size=beam_size, **cases[0].arguments())


@pytest.mark.parametrize("count", [2, 3])
def test_a_wide_beam_finds_the_best_output_of_the_mixture(count):
    different = 0
    for seed in range(100):
        cases = members_of(seed, count)
        mixed = mixture(cases)
        found = searched(cases, cases[0].exhaustive_beam_size())
        for sentence in mixed.sentences:
            best = mixed.exhaustive(sentence)[:1]
            assert_same(found[sentence], best)
            different += best[0][2] != cases[0].exhaustive(sentence)[0][2]
    assert different > 20


def test_a_model_with_itself_is_the_model():
    for seed in range(50):
        case = Case(seed)
        alone, _ = case.beam(3)
        for [one], [several] in zip(alone, searched([case, case, case], 3), strict=True):
            assert one.tokens == several.tokens
            assert one.score == pytest.approx(several.score, abs=1e-12)
