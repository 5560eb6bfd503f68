"""Section 5.4, residual dropout: the rate, the scale, one mask for both directions, and sharing of random bits."""

import math

import pytest
import torch

from mt.fast.dropout import Dropout

COUNT = 2**18
probabilities = pytest.mark.parametrize("dropout", [0.1, 0.3, 0.5])


def within_chance(share: float, probability: float, count: int) -> bool:
    """Five standard deviations: a right code fails once in a million draws, and the seeds are fixed."""
    return abs(share - probability) < 5 * math.sqrt(probability * (1 - probability) / count)


@probabilities
def test_the_share_of_zeros_is_the_probability_in_each_of_the_four_lanes(dropout: float) -> None:
    """Four elements share one random number; each must meet the rate, and no two may agree more than by chance."""
    torch.manual_seed(1)
    zeros = Dropout(dropout)(torch.ones(COUNT)) == 0
    lanes = zeros.view(-1, 4)
    for lane in range(4):
        assert within_chance(float(lanes[:, lane].double().mean()), dropout, COUNT // 4)
        for other in [*range(lane), *range(lane + 1, 4)]:
            both = float((lanes[:, lane] & lanes[:, other]).double().mean())
            assert within_chance(both, dropout**2, COUNT // 4)
    following = float((lanes[1:, 0] & lanes[:-1, 0]).double().mean())
    assert within_chance(following, dropout**2, COUNT // 4 - 1)


@probabilities
def test_kept_elements_are_scaled_so_that_the_mean_stays(dropout: float) -> None:
    torch.manual_seed(2)
    x = torch.rand(COUNT, dtype=torch.float64) + 1
    y = Dropout(dropout)(x)
    torch.testing.assert_close(y[y != 0], x[y != 0] / (1 - dropout), rtol=1e-12, atol=0)
    deviation = float(x.square().mean()) ** 0.5 * math.sqrt(dropout / (1 - dropout) / COUNT)
    assert abs(float(y.mean() - x.mean())) < 5 * deviation


def test_a_probability_near_one_drops_nearly_all() -> None:
    assert float((Dropout(0.999999)(torch.ones(COUNT)) == 0).double().mean()) > 0.999


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (4,), (5,), (7, 3), (2, 3, 5), (0, 4)])
def test_the_gradient_passes_where_the_value_passed(shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    for _ in range(20):
        x = (torch.rand(shape) + 1).requires_grad_()
        y = Dropout(0.4)(x)
        gradient = torch.randn(shape)
        y.backward(gradient)
        assert y.shape == x.shape
        torch.testing.assert_close(x.grad, torch.where(y == 0, 0, gradient / 0.6))


def test_a_transposed_input_keeps_its_places() -> None:
    torch.manual_seed(4)
    x = torch.arange(1.0, 13).view(3, 4).T
    y = Dropout(0.5)(x)
    assert ((y == 0) | (y == 2 * x)).all()


def test_nothing_happens_in_evaluation_or_with_probability_zero() -> None:
    x = torch.randn(5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_seed_decides_the_mask_and_every_call_draws_another() -> None:
    x, layer = torch.ones(1000), Dropout(0.3)
    torch.manual_seed(5)
    first, second = layer(x), layer(x)
    torch.manual_seed(5)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, second)


def test_types_are_kept() -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        assert Dropout(0.5)(torch.ones(8, dtype=dtype)).dtype == dtype


@pytest.mark.gpu
@probabilities
def test_on_a_gpu_too(dropout: float) -> None:
    torch.manual_seed(6)
    y = Dropout(dropout)(torch.ones(COUNT, device="cuda"))
    assert within_chance(float((y == 0).double().mean()), dropout, COUNT)
    torch.testing.assert_close(y[y != 0].unique(), torch.tensor([1 / (1 - dropout)], device="cuda"))
