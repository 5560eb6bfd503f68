"""Two passes over a batch: the loss against torch.distributions, its fast form, what is cut, and what counts."""

import contextlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from observed import Observed
from pairs import listed_pairs, random_pairs
from tiny_models import BOS, EOS, PAD, VOCAB_SIZE, CutAll, tiny_model
from torch import Tensor
from torch.distributions import Categorical, kl_divergence
from torch.nn import functional

from mt.data.batch import Batch, make_batch, make_packed_batch
from mt.fast import chunked_loss
from mt.fast.dropout import Dropout
from mt.model.masks import padded
from mt.model.transformer import Transformer
from mt.training.consistency import RDrop, SimCut, doubled
from mt.training.loss import Divergence, paired_loss, projected_loss
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import StepResult, TrainingLoss, train_step

TOKENS, D_MODEL = 13, 6
PAIRS = random_pairs(11, longest=9, vocab_size=VOCAB_SIZE, seed=0)
ways = pytest.mark.parametrize("shares", [(0.5, 0.5), (1.0, 0.0), (0.3, 0.7)])
SPARED = [PAD, BOS, EOS]


def simcut(dropout: torch.nn.Module | None = None) -> SimCut:
    return SimCut(weight=3.0, dropout=dropout or CutAll(), spared=SPARED)


def random_inputs(dtype: torch.dtype = torch.float64) -> tuple[list[Tensor], Tensor]:
    """States of two passes, output matrix and bias; labels."""
    random = torch.Generator().manual_seed(0)
    sizes = [(2 * TOKENS, D_MODEL), (VOCAB_SIZE, D_MODEL), (VOCAB_SIZE,)]
    inputs = [torch.randn(size, generator=random, dtype=torch.float64).to(dtype).requires_grad_() for size in sizes]
    return inputs, torch.randint(VOCAB_SIZE, (TOKENS,), generator=random)


def by_distributions(logits: Tensor, labels: Tensor, divergence: Divergence) -> tuple[Tensor, Tensor]:
    """The loss and the divergence of both passes' logits, summed, by torch's own cross-entropy and KL."""
    first, second = logits.chunk(2)
    p, q = Categorical(logits=first), Categorical(logits=second)
    kl = torch.stack([kl_divergence(p, q).sum(), kl_divergence(q, p).sum()])
    entropies = [functional.cross_entropy(one, labels, label_smoothing=0.1, reduction="sum") for one in (first, second)]
    shares = torch.tensor(divergence.shares, dtype=logits.dtype)
    return shares @ (torch.stack(entropies) + divergence.weight * kl), shares @ kl


@ways
def test_the_divergence_is_that_of_torchs_distributions(shares: tuple[float, float]) -> None:
    (states, weight, bias), labels = random_inputs()
    divergence = Divergence(4.0, shares)
    logits = functional.linear(states, weight, bias).detach().requires_grad_()
    sums = paired_loss(logits, labels, label_smoothing=0.1, divergence=divergence)
    expected, apart = by_distributions(logits, labels, divergence)
    torch.testing.assert_close(sums.smoothed, expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(sums.divergence, apart, rtol=1e-12, atol=0)
    found, wanted = (torch.autograd.grad(one, logits)[0] for one in (sums.smoothed, expected))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


@ways
@pytest.mark.parametrize("positions_per_chunk", [0, 1, 5, 13, 1000])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
def test_chunks_give_the_same_sums_and_gradients(
    monkeypatch: pytest.MonkeyPatch,
    shares: tuple[float, float],
    positions_per_chunk: int,
    dtype: torch.dtype,
    tolerance: float,
) -> None:
    budget = 2 * positions_per_chunk * VOCAB_SIZE  # of both passes
    monkeypatch.setitem(chunked_loss._LOGITS_PER_CHUNK, "cpu", budget)
    monkeypatch.setitem(chunked_loss._LOGITS_AT_ONCE, "cpu", 4 * VOCAB_SIZE if positions_per_chunk else 0)
    real, held = chunked_loss._paired_sums_then_gradient, []

    def noted(logits: Tensor, *others: object, **options: object) -> Tensor:
        held.append(logits.numel())
        return real(logits, *others, **options)

    monkeypatch.setattr(chunked_loss, "_paired_sums_then_gradient", noted)
    divergence = Divergence(4.0, shares)
    inputs, labels = random_inputs(dtype)
    exact = [one.detach().double().requires_grad_() for one in inputs]
    sums = chunked_loss.chunked_loss(*inputs, labels, label_smoothing=0.1, divergence=divergence)
    expected = projected_loss(*exact, labels, label_smoothing=0.1, divergence=divergence)
    assert max(held) <= max(budget, 2 * VOCAB_SIZE)
    for name in ("smoothed", "nll", "divergence"):
        assert getattr(sums, name).item() == pytest.approx(getattr(expected, name).item(), rel=tolerance)
    (0.37 * sums.smoothed).backward()
    (0.37 * expected.smoothed).backward()
    for ours, theirs in zip(inputs, exact, strict=True):
        assert ours.grad.dtype == dtype
        assert float((ours.grad - theirs.grad).norm() / theirs.grad.norm()) <= tolerance


def test_no_positions_and_no_gradients_are_no_trouble() -> None:
    (states, weight, bias), labels = random_inputs()
    divergence = Divergence(4.0, (0.5, 0.5))
    for form in (projected_loss, chunked_loss.chunked_loss):
        sums = form(states[:0], weight, bias, labels[:0], label_smoothing=0.1, divergence=divergence)
        assert sums.smoothed.item() == sums.divergence.item() == 0.0
        assert not torch.autograd.grad(sums.smoothed, weight)[0].any()
    with torch.no_grad():
        without = chunked_loss.chunked_loss(states, weight, bias, labels, label_smoothing=0.1, divergence=divergence)
    sums = chunked_loss.chunked_loss(states, weight, bias, labels, label_smoothing=0.1, divergence=divergence)
    assert torch.equal(without.smoothed, sums.smoothed)


# ---------------------------------------------------------------------------- the passes


def step(model: Transformer, consistency: RDrop | SimCut | None, batches: list[Batch]) -> tuple[Tensor, StepResult]:
    """The gradient of a step and its figures."""
    optimizer = Observed(model.parameters())
    loss = TrainingLoss(model, label_smoothing=0.1, loss=chunked_loss.chunked_loss, consistency=consistency)
    replica = SINGLE_PROCESS.wrap(loss, optimizer)
    result = train_step(replica, batches, learning_rate=0.1, autocast=contextlib.nullcontext)
    return torch.cat([one.flatten() for one in optimizer.gradients]), result


def whole() -> Batch:
    return make_batch(*zip(*PAIRS, strict=True))


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize("consistency", [RDrop(weight=5.0), simcut(Dropout(0.0))], ids=["rdrop", "simcut"])
def test_passes_that_do_not_differ_are_a_single_one(consistency: RDrop | SimCut) -> None:
    gradient, result = step(tiny_model(), consistency, [whole()])
    expected, single = step(tiny_model(), None, [whole()])
    assert abs(result.consistency) < 1e-12
    assert (result.loss, result.nll) == pytest.approx((single.loss, single.nll), rel=1e-6)
    assert relative(gradient, expected) < 1e-12
    assert single.consistency == 0.0


def test_rdrop_is_half_of_both_cross_entropies_and_half_alpha_times_the_kl_both_ways() -> None:
    """-log P1 - log P2 + α / 2 (KL(P1 ‖ P2) + KL(P2 ‖ P1)), halved; the passes differ in dropout."""
    model = tiny_model(dropout=0.3, make_dropout=Dropout).train()
    torch.manual_seed(4)
    gradient, result = step(model, RDrop(weight=5.0), [whole()])
    torch.manual_seed(4)
    twice = doubled(whole())
    logits = model(twice.source, twice.target_input).flatten(0, 1)[twice.label_indices]
    first, second = logits.chunk(2)
    assert not torch.allclose(first, second)
    p, q = Categorical(logits=first), Categorical(logits=second)
    both_ways = (kl_divergence(p, q) + kl_divergence(q, p)).sum()
    labels = whole().target_output.flatten()[whole().label_indices]
    twofold = functional.cross_entropy(logits, torch.cat([labels, labels]), label_smoothing=0.1, reduction="sum")
    loss = (twofold + 5.0 / 2 * both_ways) / 2 / len(labels)
    expected = torch.cat([one.flatten() for one in torch.autograd.grad(loss, list(model.parameters()))])
    assert relative(gradient, expected) < 1e-12
    assert result.loss == pytest.approx(twofold.item() / 2 / len(labels), rel=1e-6)
    assert result.consistency == pytest.approx(both_ways.item() / 2 / len(labels), rel=1e-6)


def test_simcut_is_the_cross_entropy_of_the_first_pass_and_alpha_times_the_kl_from_it() -> None:
    model, batch = tiny_model(), whole()
    gradient, result = step(model, simcut(), [batch])
    source_cut, target_cut = (~torch.isin(side, torch.tensor(SPARED)) for side in (batch.source, batch.target_input))
    layout = padded(batch.source, batch.target_input, pad=PAD)
    layouts = layout, replace(layout, source_cut=source_cut, target_cut=target_cut)
    hidden = [model.hidden(batch.source, batch.target_input, one) for one in layouts]
    first, second = (model.target_embedding.logits(one).flatten(0, 1)[batch.label_indices] for one in hidden)
    labels = batch.target_output.flatten()[batch.label_indices]
    entropy = functional.cross_entropy(first, labels, label_smoothing=0.1)
    kl = kl_divergence(Categorical(logits=first), Categorical(logits=second)).mean()
    parameters = list(model.parameters())
    expected = torch.cat([one.flatten() for one in torch.autograd.grad(entropy + 3.0 * kl, parameters)])
    assert relative(gradient, expected) < 1e-12
    assert result.loss == pytest.approx(entropy.item(), rel=1e-6)
    assert result.consistency == pytest.approx(kl.item(), rel=1e-6)
    assert result.consistency > 1e-3


def test_a_token_that_is_cut_has_no_embedding_and_keeps_its_position() -> None:
    model, without, batch = tiny_model(), tiny_model(), whole()
    token = int(batch.target_input[0, 1])
    with torch.no_grad():
        without.target_embedding.weight[token] = 0.0
    cuts = {"source_cut": batch.source == token, "target_cut": batch.target_input == token}
    assert all(cut.any() for cut in cuts.values())
    layout = replace(padded(batch.source, batch.target_input, pad=PAD), **cuts)
    found = model.hidden(batch.source, batch.target_input, layout)
    torch.testing.assert_close(found, without.hidden(batch.source, batch.target_input), rtol=0, atol=1e-12)


def test_only_ordinary_tokens_of_the_second_pass_are_cut_at_the_rate_given() -> None:
    torch.manual_seed(0)
    batch = doubled(make_batch(*zip(*random_pairs(3000, longest=9, vocab_size=VOCAB_SIZE, seed=1), strict=True)))
    layout = simcut(Dropout(0.05)).laid_out(batch, padded(batch.source, batch.target_input, pad=PAD))
    for cut, tokens in ((layout.source_cut, batch.source), (layout.target_cut, batch.target_input)):
        assert cut is not None
        rows = len(tokens) // 2
        ordinary = ~torch.isin(tokens, torch.tensor(SPARED))
        assert not cut[:rows].any()
        assert not cut[~ordinary].any()
        assert float(cut[rows:].sum() / ordinary[rows:].sum()) == pytest.approx(0.05, abs=0.005)


CUTS: dict[str, Callable[[], list[Batch]]] = {
    "two": lambda: [listed_pairs(PAIRS).batch(np.array(part)) for part in (range(7), range(7, 11))],
    "each alone": lambda: [make_batch(*zip(pair, strict=True)) for pair in PAIRS],
    "packed": lambda: [make_packed_batch([PAIRS[:4], PAIRS[4:6], PAIRS[6:]], pack_length=64, rows=4)],
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_a_step_is_the_same_however_its_batch_is_cut_and_padded(cut: Callable[[], list[Batch]]) -> None:
    expected, result = step(tiny_model(), simcut(), [whole()])
    found, same = step(tiny_model(), simcut(), cut())
    assert relative(found, expected) < 1e-12
    figures = [[one.loss, one.nll, one.consistency, one.target_tokens] for one in (result, same)]
    assert figures[0] == pytest.approx(figures[1], rel=1e-5)
