"""Beam search equals exhaustive search, a slow search in plain Python, and itself in any batch."""

import pytest
import torch
from search_cases import Case, assert_same


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


@pytest.mark.reliability(17)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_beam_of_one_is_greedy_to_the_last_bit(dtype, trials):
    for seed in trials(range(100)):
        case = Case(seed)
        assert case.beam(1, dtype=dtype)[0] == case.greedy(dtype)[0]


@pytest.mark.reliability(16)
@pytest.mark.parametrize("search", [lambda case: case.beam(3, 3), Case.greedy])
def test_neighbours_have_no_influence(search, trials):
    for seed in trials(range(100)):
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
