"""Beam search equals exhaustive search, a slow search in plain Python, and itself in any batch."""

import pytest
import torch
from search_cases import Case, assert_same

TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.05}


@pytest.mark.reliability(17)
def test_wide_beam_is_exhaustive_search(trials):
    for seed in trials(range(500)):
        case = Case(seed)
        beam_size = case.exhaustive_beam_size()
        num_hypotheses = min(beam_size, 1 + seed % 3)
        found, _ = case.beam(beam_size, num_hypotheses)
        for sentence in case.sentences:
            assert_same(found[sentence], case.exhaustive(sentence)[:num_hypotheses])


@pytest.mark.reliability(17)
@pytest.mark.parametrize("beam_size", [1, 2, 3, 4, 7])
def test_narrow_beam_is_the_slow_search_without_early_exit(beam_size, trials):
    for seed in trials(range(150)):
        case = Case(1000 * beam_size + seed)
        num_hypotheses = 1 + seed % beam_size
        found, _ = case.beam(beam_size, num_hypotheses)
        for sentence in case.sentences:
            assert_same(found[sentence], case.slow_beam(sentence, beam_size)[:num_hypotheses])


@pytest.mark.parametrize("beam_size", [1, 2, 3, 4])
def test_early_stopping_ends_with_the_step_in_which_the_beam_is_full(beam_size):
    """That changes some results: what would have come later is missing."""
    changed = 0
    for seed in range(60):
        case = Case(1000 * beam_size + seed)
        num_hypotheses = 1 + seed % beam_size
        found, _ = case.beam(beam_size, num_hypotheses, early_stopping=True)
        for sentence in case.sentences:
            expected = case.slow_beam(sentence, beam_size, early_stopping=True)[:num_hypotheses]
            assert_same(found[sentence], expected)
            changed += expected != case.slow_beam(sentence, beam_size)[:num_hypotheses]
    assert (changed > 0) == (beam_size > 1)


@pytest.mark.reliability(17)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_a_beam_of_one_is_greedy(dtype, trials):
    for seed in trials(range(100)):
        case = Case(seed)
        found, _ = case.beam(1, dtype=dtype)
        for sentence, [one] in enumerate(found):
            assert tuple(one.tokens) == case.greedy(sentence, dtype)
            expected, *_ = case.scored(case.log_probability(sentence, one.tokens), tuple(one.tokens))
            assert one.score == pytest.approx(expected, rel=TOLERANCES[dtype], abs=TOLERANCES[dtype])


@pytest.mark.reliability(16)
@pytest.mark.parametrize("search", [lambda case: case.beam(3, 3), lambda case: case.beam(1)])
def test_neighbours_have_no_influence(search, trials):
    for seed in trials(range(50)):
        case = Case(seed)
        together, _ = search(case)
        for sentence, expected in enumerate(together):
            case.sentences = [sentence]
            [alone], _ = search(case)
            assert alone == expected


@pytest.mark.parametrize("search", [lambda case: case.beam(2), lambda case: case.beam(1)])
def test_work_ends_with_each_sentence(search):
    """Rows of finished sentences leave, and a batch lasts no longer than its slowest sentence alone."""
    for seed in range(50):
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
