"""One update: the same gradient however a batch is cut, and none from numbers that are not finite."""

import contextlib
import copy
import math

import numpy as np
import pytest
import torch
from observed import Observed
from pairs import listed_pairs, random_pairs
from tiny_models import PAD, VOCAB_SIZE, tiny_model
from torch import Tensor
from torch.nn import functional

from mt.data.batch import Batch
from mt.model.transformer import Transformer
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import StepResult, TrainingLoss, train_step

PAIRS = listed_pairs(random_pairs(11, longest=9, vocab_size=VOCAB_SIZE, seed=0))
CUTS = {
    "two": [range(7), range(7, 11)],
    "one long, one short": [range(10), range(10, 11)],
    "each alone": [range(i, i + 1) for i in range(11)],
    "shuffled": [[5, 0, 9], [1, 10, 2, 7, 3], [4, 6, 8]],
}


def batches(cut: list[range] | list[list[int]]) -> list[Batch]:
    return [PAIRS.batch(np.array(part)) for part in cut]


def step(model: Transformer, optimizer: torch.optim.Optimizer, micro_batches: list[Batch]) -> StepResult:
    replica = SINGLE_PROCESS.wrap(TrainingLoss(model, label_smoothing=0.1), optimizer)
    return train_step(replica, micro_batches, learning_rate=0.01, autocast=contextlib.nullcontext)


def gradient_of(model: Transformer, cut: list[range] | list[list[int]]) -> tuple[Tensor, StepResult]:
    optimizer = Observed(model.parameters())
    result = step(model, optimizer, batches(cut))
    return torch.cat([gradient.flatten() for gradient in optimizer.gradients]), result


def mean_over_tokens(model: Transformer, *, label_smoothing: float) -> Tensor:
    """What the step must compute, by torch's own loss over one padded batch."""
    [batch] = batches([range(11)])
    logits = model(batch.source, batch.target_input).flatten(0, 1)
    gold = batch.target_output.flatten()
    return functional.cross_entropy(logits, gold, ignore_index=PAD, label_smoothing=label_smoothing)


@pytest.mark.reliability(11)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_micro_batches_give_the_gradient_of_one_batch(
    cut: list[range] | list[list[int]], dtype: torch.dtype, tolerance: float
) -> None:
    model = tiny_model(dtype=dtype)
    whole, expected = gradient_of(model, [range(11)])
    gradient, result = gradient_of(model, cut)
    assert float((gradient - whole).norm() / whole.norm()) <= tolerance
    assert result.loss == pytest.approx(expected.loss, rel=1e-6)
    assert result.nll == pytest.approx(expected.nll, rel=1e-6)
    assert result.gradient_norm == pytest.approx(float(whole.norm()), rel=1e-5)
    assert (result.source_tokens, result.target_tokens) == (expected.source_tokens, expected.target_tokens)


@pytest.mark.parametrize("output_bias", [False, True])
def test_the_gradient_is_that_of_the_mean_over_real_target_tokens(output_bias: bool) -> None:
    model = tiny_model(output_bias=output_bias)
    gradient, result = gradient_of(model, CUTS["two"])
    loss = mean_over_tokens(model, label_smoothing=0.1)
    expected = torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(model.parameters()))])
    assert float((gradient - expected).norm() / expected.norm()) <= 1e-12
    assert result.loss == pytest.approx(loss.item(), rel=1e-6)
    likelihood = float(mean_over_tokens(model, label_smoothing=0.0))
    assert result.nll == pytest.approx(likelihood, rel=1e-6)
    assert result.source_tokens == int((PAIRS.source_lengths + 1).sum())
    assert result.target_tokens == int((PAIRS.target_lengths + 1).sum())


@pytest.mark.parametrize("fused", [False, True], ids=["host decides", "device decides"])
def test_an_update_is_adams_at_the_given_rate_and_leaves_no_gradient(fused: bool) -> None:
    model, reference = tiny_model(), tiny_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=fused)
    torch_adam = torch.optim.Adam(reference.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    for _ in range(3):
        assert step(model, optimizer, batches(CUTS["two"])).finite
        torch_adam.zero_grad()
        mean_over_tokens(reference, label_smoothing=0.1).backward()
        torch_adam.step()
    for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
        assert ours.grad is None
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-8)


@pytest.mark.reliability(9)
@pytest.mark.parametrize("fused", [False, True], ids=["host decides", "device decides"])
@pytest.mark.parametrize("damage", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("at", [0, -1], ids=["first micro-batch", "last micro-batch"])
def test_a_gradient_that_is_not_finite_changes_nothing(damage: float, at: int, fused: bool) -> None:
    model = tiny_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, fused=fused)
    step(model, optimizer, batches(CUTS["two"]))
    weights = copy.deepcopy(model.state_dict())
    moments = copy.deepcopy(optimizer.state_dict())
    calls = iter([damage, 1.0] if at == 0 else [1.0, damage])
    bias = model.decoder.layers[0].feed_forward.outer.bias
    hook = bias.register_hook(lambda gradient: gradient * next(calls))
    result = step(model, optimizer, batches(CUTS["two"]))
    assert not result.finite
    assert result.last_not_finite == "model.decoder.layers.0.feed_forward.outer.bias"
    assert all(torch.equal(weights[name], tensor) for name, tensor in model.state_dict().items())
    assert str(optimizer.state_dict()) == str(moments)
    hook.remove()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert step(model, optimizer, batches(CUTS["two"])).finite
    assert not torch.equal(weights["target_embedding.weight"], model.state_dict()["target_embedding.weight"])


@pytest.mark.reliability(9)
@pytest.mark.parametrize("fused", [False, True], ids=["host decides", "device decides"])
def test_a_loss_that_is_not_finite_is_skipped_too(fused: bool) -> None:
    model = tiny_model(dtype=torch.float32)
    with torch.no_grad():
        model.target_embedding.weight[5] = math.nan
    before = copy.deepcopy(model)
    result = step(model, torch.optim.Adam(model.parameters(), fused=fused), batches(CUTS["two"]))
    assert not result.finite
    assert math.isnan(result.loss)
    for ours, theirs in zip(model.parameters(), before.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)


def test_validation_counts_real_tokens_only() -> None:
    model = tiny_model()
    with torch.inference_mode():
        sums = [TrainingLoss(model, label_smoothing=0.1)(batch)[0] for batch in batches(CUTS["shuffled"])]
    tokens = int((PAIRS.target_lengths + 1).sum())
    mean = float(sum(sums)) / tokens
    assert mean == pytest.approx(float(mean_over_tokens(model, label_smoothing=0.1)), rel=1e-12)
