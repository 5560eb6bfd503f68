"""The few most probable tokens are those of a full stable sort, however they are found."""

import pytest
import torch

from mt.search.candidates import best_extensions, most_probable, permitted_log_probabilities


@pytest.mark.parametrize("vocab_size", [5, 64, 200, 203, 1024])
@pytest.mark.parametrize("count", [1, 3, 7, 24, 30])
@pytest.mark.parametrize("levels", [3, 50, 10**6])
def test_most_probable_is_a_stable_sort(vocab_size, count, levels):
    """With few levels nearly everything is tied."""
    generator = torch.Generator().manual_seed(count)
    values = torch.randint(levels, (40, vocab_size), generator=generator).float()
    values[torch.rand(values.shape, generator=generator) < 0.1] = -torch.inf
    found_values, found_tokens = most_probable(values, count)
    assert torch.equal(found_values, values.gather(1, found_tokens))
    best = values.sort(dim=1, descending=True, stable=True).indices[:, :count]
    for tokens, expected, row in zip(found_tokens, best, values, strict=True):
        possible = [token for token in expected.tolist() if row[token] > -torch.inf]
        assert [token for token in tokens.tolist() if row[token] > -torch.inf] == sorted(possible)


@pytest.mark.parametrize("vocab_size", [5, 48, 203, 384, 1024])
@pytest.mark.parametrize("num_sentences", [1, 2, 3, 9])
@pytest.mark.parametrize("levels", [3, 10**6])
def test_the_best_extensions_are_a_stable_sort(vocab_size, num_sentences, levels):
    """Whether few rows are ranked as they are or many by the maxima of strips."""
    generator = torch.Generator().manual_seed(vocab_size)
    scores = torch.randint(levels, (4 * num_sentences, vocab_size), generator=generator).float()
    totals = torch.randint(3, (num_sentences, 4), generator=generator).float()
    values, extensions = best_extensions(scores, totals, 7)
    every = (scores.view(num_sentences, 4, -1) + totals[:, :, None]).flatten(1)
    expected = every.sort(dim=1, descending=True, stable=True)
    assert values.tolist() == expected.values[:, :7].tolist()
    assert extensions.tolist() == expected.indices[:, :7].tolist()


def test_log_probabilities_of_what_may_come_next():
    """Whether they are written over the logits or, in another type or under autograd, beside them."""
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
