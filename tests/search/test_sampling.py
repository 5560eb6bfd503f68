"""Samples come as often as the model finds them probable, are cut where they must be, and depend on the seed alone."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import repeat

import pytest
import torch
from search_cases import BOS, EOS, MINIMUM, NGRAMS, PREFIX, Case

from mt.errors import DivergedError
from mt.search.sampling import Sampling, _drawn, considered, most_probable, sample

SETTINGS = [
    {},
    {"temperature": 0.5},
    {"temperature": 2.0},
    {"top_k": 2},
    {"top_p": 0.6},
    {"temperature": 1.5, "top_k": 3, "top_p": 0.8},
]


def expected_step(case: Case, sentence: int, prefix: tuple[int, ...], settings: dict) -> dict[int, float]:
    """The probability by which each token should be drawn, from the definition, in plain Python."""
    last = len(prefix) + 1 == case.max_lengths[sentence]
    tokens = [EOS] if last else sorted([*case.inner, EOS])
    log_probabilities = case.log_probabilities(sentence, prefix)
    weights = {
        token: math.exp(log_probabilities[token] / settings.get("temperature", 1.0))
        for token in tokens
        if case.may_follow(sentence, prefix, token)
    }
    ranked = sorted(weights, key=lambda token: -weights[token])[: settings.get("top_k")]
    total = math.fsum(weights[token] for token in ranked)
    sums = [0.0, *itertools.accumulate(weights[token] / total for token in ranked)]
    kept = [token for token, before in zip(ranked, sums, strict=False) if before < settings.get("top_p", 2.0)]
    total = math.fsum(weights[token] for token in kept)
    return {token: weights[token] / total for token in kept}


def expected_outputs(case: Case, settings: dict) -> dict[tuple[int, ...], float]:
    """Every output of sentence 0 that can be drawn, with its probability; none if there is a dead end."""
    outputs: dict[tuple[int, ...], float] = {}
    live: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while live:
        prefix, probability = live.pop()
        step = expected_step(case, 0, prefix, settings)
        if not step:
            return {}
        for token, share in step.items():
            if token == EOS:
                outputs[prefix] = probability * share
            else:
                live.append(((*prefix, token), probability * share))
    return outputs


def improbability(counts: Counter, expected: dict[tuple[int, ...], float]) -> float:
    """The normal deviate of Pearson's chi-square, outputs expected fewer than five times taken together."""
    total = sum(counts.values())
    frequent = {output for output, share in expected.items() if share * total >= 5}
    cells = [(counts[output], expected[output] * total) for output in frequent]
    rest = sum(share for output, share in expected.items() if output not in frequent) * total
    if rest > 1:
        cells.append((total - sum(seen for seen, _ in cells), rest))
    if len(cells) < 2:
        return 0.0
    chi_square = sum((seen - wanted) ** 2 / wanted for seen, wanted in cells)
    degrees = len(cells) - 1
    return ((chi_square / degrees) ** (1 / 3) - 1 + 2 / (9 * degrees)) / math.sqrt(2 / (9 * degrees))


def alike(seed: int, rules: Sequence[str], count: int) -> Case:
    """A case whose sentences are all the same one."""
    case = Case(seed, rules)
    case.sentences = list(range(count))
    case.max_lengths, case.forced = (values[:1] * count for values in (case.max_lengths, case.forced))
    case.logits = cache(lambda _, prefix: Case._logits(case, 0, prefix))
    return case


@pytest.mark.parametrize("rules", [(), (MINIMUM, PREFIX, NGRAMS)], ids=["no constraint", "all constraints"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_outputs_come_as_often_as_they_are_probable(settings, rules):
    """150 generators with four samples each; a normal deviate exceeds 4 by chance once in 30,000 times."""
    deviates: list[float] = []
    for seed in itertools.takewhile(lambda _: len(deviates) < 8, range(200)):
        case = alike(seed, rules, 150)
        expected = expected_outputs(case, settings)
        if len(expected) > 1:
            found, _ = case.samples(4, range(1000 * seed, 1000 * seed + 150), **settings)
            counts = Counter(tuple(hypothesis.tokens) for hypotheses in found for hypothesis in hypotheses)
            assert counts.keys() <= expected.keys()
            deviates.append(improbability(counts, expected))
    assert len(deviates) > 3
    assert max(deviates) < 4
    assert abs(sum(deviates) / math.sqrt(len(deviates))) < 4


@pytest.mark.parametrize("settings", SETTINGS[-3:], ids=str)
def test_the_cuts_are_their_definitions(settings):
    """On many random distributions, ties among them."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randint(4, (200, 7), generator=generator).double() + 1e-3 * torch.arange(200)[:, None]
    arguments = {"temperature": 1.0, "top_k": None, "top_p": None, "seed": 0} | settings
    probabilities, tokens = considered(scores.log_softmax(dim=1), Sampling(**arguments))
    for row in range(200):
        case = Case(0)
        case.max_lengths, case.inner = [9], [token for token in range(7) if token != EOS]
        case.log_probabilities = lambda *_, row=row: scores[row].log_softmax(dim=0).tolist()
        expected = expected_step(case, 0, (), settings)
        found = dict(zip(tokens[row].tolist(), probabilities[row].tolist(), strict=True))
        assert {token for token, share in found.items() if share > 0} == set(expected)
        assert [found[token] for token in expected] == pytest.approx(list(expected.values()))


def test_neighbours_and_number_of_samples_have_no_influence():
    never_dead_ends = [(), (MINIMUM, PREFIX), (PREFIX, NGRAMS)]
    for seed in range(75):
        case = Case(seed, never_dead_ends[seed % 3])
        if not case.inner:
            continue
        seeds = [7 * seed + sentence for sentence in case.sentences]
        together, _ = case.samples(1, seeds)
        several, _ = case.samples(3, seeds)
        assert all(one in three for [one], three in zip(together, several, strict=True))
        for sentence, expected in enumerate(several):
            case.sentences = [sentence]
            [alone], _ = case.samples(3, seeds)
            assert alone == expected


def test_the_seed_decides():
    cases = map(alike, range(50), repeat(()), repeat(20))
    case = next(case for case in cases if len(case.inner) > 1 and case.sharpness == 0.5)
    case.max_lengths = [5] * 20
    first, again = (case.samples(2, range(20))[0] for _ in range(2))
    other, _ = case.samples(2, range(100, 120))
    assert first == again
    assert sum(one != two for one, two in zip(first, other, strict=True)) > 10


def test_scores_are_the_models_own_and_the_best_comes_first():
    for seed in range(50):
        case = Case(seed)
        found, _ = case.samples(4, range(9), temperature=3.0, top_k=2)
        for sentence, hypotheses in enumerate(found):
            assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)
            for one in hypotheses:
                expected = case.log_probability(sentence, one.tokens)
                assert one.score == pytest.approx(expected, abs=1e-9)


def test_the_ends_of_the_interval_draw_what_is_possible():
    """0 is not a token without probability before the first, nor almost 1 one after the last."""
    probabilities = torch.tensor([[0.0, 0.1, 0.7, 0.2, 0.0]], dtype=torch.float64)
    tokens = torch.tensor([[5, 6, 7, 8, 9]])
    ends = torch.tensor([0.0, 1.0 - 2.0**-53, 0.5], dtype=torch.float64)
    assert _drawn(probabilities.expand(3, -1), tokens.expand(3, -1), ends).tolist() == [6, 8, 7]


def test_rows_leave_with_the_last_sample_of_their_sentence():
    for seed in range(50):
        case = Case(seed)
        found, rows = case.samples(3, range(9))
        longest = [1 + max(len(hypothesis.tokens) for hypothesis in hypotheses) for hypotheses in found]
        assert rows.rows_per_call == [3 * sum(step <= last for last in longest) for step in range(1, max(longest) + 1)]


class Constant:
    """The same scores for every row in every step."""

    def __init__(self, logits: list[float]) -> None:
        self.logits = torch.tensor(logits)

    def __call__(self, tokens):
        return self.logits.repeat(len(tokens), 1)

    def reorder(self, rows):
        pass


def drawn(logits: list[float], **changes):
    arguments = {"num_samples": 2, "sampling": Sampling(1.0, None, None, seed=0), "seeds": [1, 2]}
    arguments |= {"max_lengths": torch.tensor([3, 3]), "bos": BOS, "eos": EOS, "forbidden": (0, BOS)}
    return sample(next_token=Constant(logits), **(arguments | changes))


@pytest.mark.parametrize("damaged", [math.nan, math.inf])
def test_scores_that_are_not_finite_are_refused(damaged):
    with pytest.raises(DivergedError, match="no output of sentence 0 of the batch has a finite score"):
        drawn([0.0, 0.0, 0.0, damaged])


@pytest.mark.parametrize("levels", [2, 10**6])
def test_of_equals_the_lower_tokens_are_among_the_most_probable(levels: int) -> None:
    scores = torch.randint(levels, (50, 40), generator=torch.Generator().manual_seed(levels)).float()
    scores[::3, ::2] = -torch.inf
    best = scores.sort(dim=1, descending=True, stable=True).indices[:, :7]
    for waiting in (True, False):
        tokens = most_probable(scores, 7, waiting=waiting)
        possible = scores.gather(1, tokens) > -torch.inf
        assert torch.equal(tokens[possible], best.sort(dim=1).values[possible])
        assert int(possible.sum()) == int((scores.gather(1, best) > -torch.inf).sum())
