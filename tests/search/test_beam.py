"""Beam search equals exhaustive search, a slow search in plain Python, and itself in any batch."""

import pytest
import torch
from search_cases import BOS, MINIMUM, PREFIX, Case, assert_same
from torch import Tensor

from mt.errors import DivergedError
from mt.search.beam import beam_search

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


class AdmittingRows:
    """The model of a case for its first `slots` sentences; the others come when they are admitted."""

    def __init__(self, case: Case, *, rows_per_sentence: int, slots: int) -> None:
        self.case, self.width, self.slots = case, rows_per_sentence, slots
        self.rows: list[tuple[int, tuple[int, ...] | None]] = []  # no prefix: BOS has not come yet
        self.known = 0
        self.admit(slots)

    def __call__(self, tokens: Tensor) -> Tensor:
        pairs = zip(self.rows, tokens.tolist(), strict=True)
        assert all(token == BOS for (_, prefix), token in pairs if prefix is None)
        pairs = zip(self.rows, tokens.tolist(), strict=True)
        self.rows = [(sentence, () if prefix is None else (*prefix, token)) for (sentence, prefix), token in pairs]
        return torch.tensor([self.case.logits(*row) for row in self.rows], dtype=torch.float64)

    def reorder(self, rows: Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]

    def admit(self, count: int) -> None:
        self.rows += [(sentence, None) for sentence in range(self.known, self.known + count) for _ in range(self.width)]
        self.known += count
        assert len(self.rows) <= self.slots * self.width


@pytest.mark.parametrize(("beam_size", "slots"), [(1, 2), (3, 1), (3, 3)])
def test_sentences_that_wait_for_a_slot_are_searched_alike(beam_size, slots):
    for seed in range(40):
        case = Case(seed, (MINIMUM, PREFIX) if seed % 2 else (), num_sentences=7)
        try:
            expected, _ = case.beam(beam_size)
        except DivergedError:  # a narrow beam may find nothing that the rules permit
            continue
        rows = AdmittingRows(case, rows_per_sentence=beam_size, slots=slots)
        found = beam_search(next_token=rows, beam_size=beam_size, slots=slots, **case.arguments())
        assert found == expected
        assert rows.known == 7
