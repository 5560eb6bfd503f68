"""With constraints too beam search is exhaustive search, the slow search in plain Python, and itself in any batch."""

import pytest
import torch
from search_cases import MINIMUM, NGRAMS, PREFIX, Case, assert_same

from mt.errors import DivergedError

RULES = [(MINIMUM,), (PREFIX,), (NGRAMS,), (MINIMUM, PREFIX, NGRAMS)]
BEAM_SIZES = [1, 2, 3, 4, 7]


@pytest.mark.parametrize("rules", RULES, ids=", ".join)
@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.long)])
def test_wide_beam_is_exhaustive_search(rules, count):
    """Of every sentence the one to three best permitted outputs."""
    excluded = 0
    for seed in range(count):
        case = Case(seed, rules)
        beam_size = case.exhaustive_beam_size()
        num_hypotheses = min(beam_size, 1 + seed % 3)
        permitted = [case.exhaustive(sentence) for sentence in case.sentences]
        expected = [outputs[:num_hypotheses] for outputs in permitted]
        if not all(expected):
            with pytest.raises(DivergedError, match="or the constraints exclude every output"):
                case.beam(beam_size, num_hypotheses)
            continue
        found, _ = case.beam(beam_size, num_hypotheses)
        for sentence in case.sentences:
            assert_same(found[sentence], expected[sentence])
            possible = sum(len(case.inner) ** length for length in range(case.max_lengths[sentence]))
            excluded += len(permitted[sentence]) < possible
    assert excluded > count / 2


@pytest.mark.parametrize("beam_size", BEAM_SIZES)
def test_narrow_beam_is_the_slow_search_without_early_exit(beam_size):
    for seed in range(60):
        case = Case(1000 * beam_size + seed, RULES[seed % len(RULES)])
        num_hypotheses = 1 + seed % beam_size
        expected = [case.slow_beam(sentence, beam_size)[:num_hypotheses] for sentence in case.sentences]
        if all(expected):
            found, _ = case.beam(beam_size, num_hypotheses)
            for sentence in case.sentences:
                assert_same(found[sentence], expected[sentence])


@pytest.mark.parametrize("search", [lambda case: case.beam(3, 3), lambda case: case.beam(1)], ids=["beam", "greedy"])
def test_neighbours_have_no_influence(search):
    for seed in range(48):
        case = Case(seed, RULES[seed % len(RULES)])
        if all(case.slow_beam(sentence, 1) and case.slow_beam(sentence, 3) for sentence in case.sentences):
            together, _ = search(case)
            for sentence, expected in enumerate(together):
                case.sentences = [sentence]
                [alone], _ = search(case)
                assert alone == expected


def test_a_beam_of_one_is_greedy():
    for seed in range(48):
        case = Case(seed, RULES[seed % len(RULES)])
        if all(case.slow_beam(sentence, 1) for sentence in case.sentences):
            found, _ = case.beam(1, dtype=torch.float32)
            expected = [case.greedy(sentence, torch.float32) for sentence in case.sentences]
            assert [tuple(one.tokens) for [one] in found] == expected
