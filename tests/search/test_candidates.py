"""The few best extensions are those of a full stable sort, however they are found."""

import numpy as np
import pytest
import torch

from mt.search.candidates import best_extensions, best_sums, permitted_log_probabilities


@pytest.mark.parametrize("vocab_size", [5, 64, 200, 203, 1024])
@pytest.mark.parametrize("count", [1, 3, 7, 24, 30])
@pytest.mark.parametrize("levels", [3, 50, 10**6])
def test_the_best_of_each_row_are_a_stable_sort(vocab_size, count, levels):
    """With few levels nearly everything is tied; what is impossible may come in any order."""
    generator = torch.Generator().manual_seed(count)
    scores = torch.randint(levels, (40, vocab_size), generator=generator).float()
    scores[torch.rand(scores.shape, generator=generator) < 0.1] = -torch.inf
    values, tokens = best_sums(scores.clone(), np.zeros((40, 1), np.float32), count)
    best = scores.sort(dim=1, descending=True, stable=True)
    assert values.tolist() == best.values[:, :count].tolist()
    for found, expected, row in zip(tokens.tolist(), best.indices[:, :count].tolist(), scores, strict=True):
        possible = [token for token in expected if row[token] > -torch.inf]
        assert found[: len(possible)] == possible


@pytest.mark.parametrize("vocab_size", [5, 48, 203, 384, 1024])
@pytest.mark.parametrize("num_sentences", [1, 2, 3, 9])
@pytest.mark.parametrize("levels", [3, 10**6])
def test_the_best_sums_are_a_stable_sort(vocab_size, num_sentences, levels):
    generator = torch.Generator().manual_seed(vocab_size)
    scores = torch.randint(levels, (4 * num_sentences, vocab_size), generator=generator).float()
    totals = torch.randint(3, (num_sentences, 4), generator=generator).float()
    values, indices = best_sums(scores, totals.numpy(), 7)
    every = (scores.view(num_sentences, 4, -1) + totals[:, :, None]).flatten(1)
    expected = every.sort(dim=1, descending=True, stable=True)
    assert values.tolist() == expected.values[:, :7].tolist()
    assert indices.tolist() == expected.indices[:, :7].tolist()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_best_extensions_are_the_best_permitted_sums(dtype):
    """In the type in which log-probabilities are added up, whatever that of the logits."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 20, generator=generator).to(dtype)
    totals = -torch.rand(3, 2, generator=generator)
    rules = {"forbidden": (0, 7), "eos": 3, "end_only": torch.tensor([False, False, True, True, False, False])}
    permitted = permitted_log_probabilities(logits.clone(), **rules)
    sums = (permitted.view(3, 2, 20) + totals[:, :, None]).flatten(1)
    expected = sums.sort(dim=1, descending=True, stable=True)
    values, extensions = best_extensions(logits, totals.numpy(), 3, **rules)
    assert values.tolist() == expected.values[:, :3].tolist()
    finite = values > -torch.inf
    assert (extensions == expected.indices[:, :3].numpy())[finite].all()
    assert finite.sum(axis=1).tolist() == [3, 2, 3]


def test_log_probabilities_of_what_may_come_next():
    """Whether they are written over the logits or, in another type or under autograd, to new memory."""
    for dtype, requires_grad in ((torch.float64, False), (torch.float32, True), (torch.bfloat16, False)):
        logits = torch.randn(6, 20, dtype=dtype, requires_grad=requires_grad)
        given = logits.detach().clone().to(torch.float64)
        end_only = torch.tensor([False, True, False, False, True, False])
        permitted = permitted_log_probabilities(logits, forbidden=(0, 7), eos=3, end_only=end_only)
        allowed = torch.ones(6, 20, dtype=torch.bool)
        allowed[:, [0, 7]] = False
        allowed[end_only] = torch.arange(20) == 3
        expected = (given - given.logsumexp(dim=1, keepdim=True)).masked_fill(~allowed, -torch.inf)
        torch.testing.assert_close(permitted.detach().to(torch.float64), expected, atol=1e-5, rtol=1e-5)
