"""Section 5.4: the loss against explicit distributions, and in chunks against the whole, gradients included."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from mt.fast import chunked_loss
from mt.training.loss import LossSums, label_smoothed_loss, projected_loss

TOKENS, D_MODEL, VOCAB_SIZE = 13, 6, 17
smoothings = pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.6])
precisions = pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
sizes = pytest.mark.parametrize("positions_per_chunk", [0, 1, 5, 13, 1000])


def random_inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    hidden = torch.randn(TOKENS, D_MODEL, generator=random, dtype=torch.float64).to(dtype).requires_grad_()
    weight = torch.randn(VOCAB_SIZE, D_MODEL, generator=random, dtype=torch.float64).to(dtype).requires_grad_()
    return hidden, weight, torch.randint(VOCAB_SIZE, (TOKENS,), generator=random)


def chunked(
    hidden: Tensor, weight: Tensor, gold: Tensor, *, label_smoothing: float, compiled: bool = False
) -> LossSums:
    return chunked_loss.chunked_loss(hidden, weight, None, gold, label_smoothing=label_smoothing, compiled=compiled)


def set_chunk(monkeypatch: pytest.MonkeyPatch, positions: int) -> None:
    """So many positions in a chunk, two at once of their softmax; with a budget below one row, still one."""
    monkeypatch.setitem(chunked_loss._LOGITS_PER_CHUNK, "cpu", positions * VOCAB_SIZE)
    monkeypatch.setitem(chunked_loss._LOGITS_AT_ONCE, "cpu", 2 * VOCAB_SIZE if positions else 0)


def relative_error(value: Tensor, expected: Tensor) -> float:
    return float((value - expected).norm() / expected.norm())


@smoothings
def test_the_loss_is_cross_entropy_against_the_smoothed_distribution(label_smoothing: float) -> None:
    """(1 - ε) · one-hot + ε / V on every class, the label included."""
    hidden, weight, gold = random_inputs()
    logits = (hidden @ weight.T).detach()
    log_probabilities = logits.log_softmax(-1)
    smoothed = likelihood = 0.0
    for row, token in zip(log_probabilities, gold.tolist(), strict=True):
        wanted = torch.full((VOCAB_SIZE,), label_smoothing / VOCAB_SIZE, dtype=torch.float64)
        wanted[token] += 1 - label_smoothing
        assert float(wanted.sum()) == pytest.approx(1)
        smoothed -= float(wanted @ row)
        likelihood -= float(row[token])
    sums = label_smoothed_loss(logits, gold, label_smoothing=label_smoothing)
    assert float(sums.smoothed) == pytest.approx(smoothed, rel=1e-12)
    assert float(sums.nll) == pytest.approx(likelihood, rel=1e-12)


@smoothings
def test_the_loss_is_torchs_own(label_smoothing: float) -> None:
    hidden, weight, gold = random_inputs()
    logits = hidden @ weight.T
    expected = functional.cross_entropy(logits, gold, label_smoothing=label_smoothing, reduction="sum")
    ours = label_smoothed_loss(logits, gold, label_smoothing=label_smoothing).smoothed
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=0)
    theirs = torch.autograd.grad(expected, logits, retain_graph=True)[0]
    torch.testing.assert_close(torch.autograd.grad(ours, logits)[0], theirs, rtol=0, atol=1e-13)


def test_half_precision_logits_are_summed_in_single_precision() -> None:
    logits = torch.randn(500, 300).to(torch.bfloat16)
    gold = torch.randint(300, (500,))
    sums = label_smoothed_loss(logits, gold, label_smoothing=0.1)
    expected = label_smoothed_loss(logits.double(), gold, label_smoothing=0.1)
    assert sums.smoothed.dtype == torch.float32
    assert float(sums.smoothed) == pytest.approx(float(expected.smoothed), rel=1e-5)


@smoothings
@precisions
@sizes
def test_chunks_give_the_same_sums_and_gradients(
    monkeypatch: pytest.MonkeyPatch,
    label_smoothing: float,
    dtype: torch.dtype,
    tolerance: float,
    positions_per_chunk: int,
) -> None:
    set_chunk(monkeypatch, positions_per_chunk)
    monkeypatch.setattr(
        chunked_loss, "_compiled", lambda: chunked_loss._fusable_sums_then_gradient
    )  # a GPU's compiler is another test
    exact = [part.detach().double().requires_grad_() for part in random_inputs(dtype)[:2]]
    gold = random_inputs(dtype)[2]
    expected = label_smoothed_loss(exact[0] @ exact[1].T, gold, label_smoothing=label_smoothing)
    (0.37 * expected.smoothed).backward()
    for compiled in (False, True):
        given = random_inputs(dtype)[:2]
        sums = chunked(*given, gold, label_smoothing=label_smoothing, compiled=compiled)
        (0.37 * sums.smoothed).backward()
        assert float(sums.smoothed) == pytest.approx(float(expected.smoothed), rel=tolerance)
        assert float(sums.nll) == pytest.approx(float(expected.nll), rel=tolerance)
        for ours, theirs in zip(given, exact, strict=True):
            assert ours.grad.dtype == dtype
            assert relative_error(ours.grad, theirs.grad) <= tolerance


def test_the_bias_of_the_output_is_learned_too() -> None:
    found = []
    for form in (projected_loss, chunked_loss.chunked_loss):
        hidden, weight, gold = random_inputs()
        bias = torch.linspace(-1, 1, VOCAB_SIZE, dtype=torch.float64).requires_grad_()
        sums = form(hidden, weight, bias, gold, label_smoothing=0.1)
        found.append([sums.smoothed, *torch.autograd.grad(sums.smoothed, (hidden, weight, bias))])
    for plain, fast in zip(*found, strict=True):
        torch.testing.assert_close(fast, plain, rtol=1e-12, atol=1e-12)


def test_the_gradient_is_that_of_finite_differences() -> None:
    hidden, weight, gold = random_inputs()

    def loss(hidden: Tensor, weight: Tensor) -> Tensor:
        return chunked(hidden, weight, gold, label_smoothing=0.1).smoothed

    assert torch.autograd.gradcheck(loss, (hidden, weight), fast_mode=False)


@pytest.mark.parametrize("without", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_sums_are_the_same_and_none_are_computed(
    monkeypatch: pytest.MonkeyPatch, without: Callable[[], AbstractContextManager[None]]
) -> None:
    set_chunk(monkeypatch, 4)
    hidden, weight, gold = random_inputs()
    expected = chunked(hidden, weight, gold, label_smoothing=0.1)
    real, asked = chunked_loss._sums_then_gradient, []

    def noted(logits: Tensor, gold: Tensor, *, label_smoothing: float, learning: bool) -> Tensor:
        asked.append(learning)
        return real(logits, gold, label_smoothing=label_smoothing, learning=learning)

    monkeypatch.setattr(chunked_loss, "_sums_then_gradient", noted)
    with without():
        sums = chunked(hidden * 1.0, weight, gold, label_smoothing=0.1)
    assert asked == [False] * 4
    assert not sums.smoothed.requires_grad
    assert float(sums.smoothed) == float(expected.smoothed)
    assert float(sums.nll) == float(expected.nll)


def test_one_side_may_be_frozen() -> None:
    for frozen in (0, 1):
        inputs = random_inputs()
        inputs[frozen].requires_grad_(False)
        chunked(*inputs, label_smoothing=0.1).smoothed.backward()
        full = random_inputs()
        chunked(*full, label_smoothing=0.1).smoothed.backward()
        assert inputs[frozen].grad is None
        assert torch.equal(inputs[1 - frozen].grad, full[1 - frozen].grad)


def test_no_positions_cost_nothing() -> None:
    hidden, weight, gold = random_inputs()
    sums = chunked(hidden[:0], weight, gold[:0], label_smoothing=0.1)
    sums.smoothed.backward()
    assert (float(sums.smoothed), float(sums.nll)) == (0.0, 0.0)
    assert not weight.grad.any()


def test_under_autocast_products_are_bf16_and_sums_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    set_chunk(monkeypatch, 5)
    hidden, weight, gold = random_inputs(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        sums = chunked(hidden, weight, gold, label_smoothing=0.1)
    sums.smoothed.backward()
    exact = [part.detach().bfloat16().double().requires_grad_() for part in (hidden, weight)]
    expected = label_smoothed_loss(exact[0] @ exact[1].T, gold, label_smoothing=0.1).smoothed
    expected.backward()
    assert sums.smoothed.dtype == hidden.grad.dtype == weight.grad.dtype == torch.float32
    assert float(sums.smoothed) == pytest.approx(float(expected), rel=5e-3)
    assert relative_error(weight.grad, exact[1].grad) < 2e-2
    assert relative_error(hidden.grad, exact[0].grad) < 2e-2
    plain = chunked(hidden, weight, gold, label_smoothing=0.1).smoothed
    assert float(sums.smoothed) != pytest.approx(float(plain), rel=1e-6)


def test_far_logits_stay_finite() -> None:
    hidden, weight, gold = random_inputs(torch.float32)
    sums = chunked(1e4 * hidden.detach(), weight, gold, label_smoothing=0.1)
    sums.smoothed.backward()
    assert sums.smoothed.isfinite()
    assert weight.grad.isfinite().all()
