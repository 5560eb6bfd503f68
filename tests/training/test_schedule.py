"""Section 5.3: equation (3)."""

import math

import pytest

from mt.training.schedule import decay, learning_rate


@pytest.mark.parametrize("d_model", [128, 512, 1024])
@pytest.mark.parametrize("warmup_steps", [1, 100, 4000])
def test_the_rate_is_equation_3(d_model: int, warmup_steps: int) -> None:
    for step in [1, 2, 99, 100, 101, 3999, 4000, 4001, 100_000]:
        expected = 1 / math.sqrt(d_model) * min(1 / math.sqrt(step), step / math.sqrt(warmup_steps) ** 3)
        assert learning_rate(step, d_model=d_model, warmup_steps=warmup_steps) == pytest.approx(expected, rel=1e-12)
        twice = learning_rate(step, d_model=d_model, warmup_steps=warmup_steps, factor=2.0)
        assert twice == pytest.approx(2 * expected, rel=1e-12)


@pytest.mark.parametrize(("d_model", "warmup_steps", "factor"), [(512, 4000, 1.0), (128, 100, 2.5), (1024, 1, 0.1)])
def test_the_peak_is_the_rate_at_the_end_of_the_warm_up(d_model: int, warmup_steps: int, factor: float) -> None:
    sizes = {"d_model": d_model, "warmup_steps": warmup_steps}
    assert learning_rate(warmup_steps, **sizes, factor=factor) == pytest.approx(
        factor / math.sqrt(d_model * warmup_steps), rel=1e-12
    )


def test_the_peak_of_base_is_at_the_end_of_the_warm_up() -> None:
    rates = [learning_rate(step, d_model=512, warmup_steps=4000) for step in range(1, 12_001)]
    assert max(rates) == rates[3999] == pytest.approx(6.99e-4, abs=5e-7)
    assert rates[:4000] == sorted(rates[:4000])
    assert rates[3999:] == sorted(rates[3999:], reverse=True)
    assert rates[0] == pytest.approx(rates[3999] / 4000)
    assert rates[11_999] == pytest.approx(rates[3999] / math.sqrt(3))


def test_the_decay_is_linear_and_reaches_zero_after_the_last_step() -> None:
    factors = [decay(step, max_steps=100, fraction=0.19) for step in range(1, 103)]
    assert factors[:81] == [1.0] * 81
    assert factors[81:101] == pytest.approx([1 - 0.05 * step for step in range(1, 21)])
    assert factors[101] == 0.0
    assert [decay(step, max_steps=5, fraction=0.0) for step in range(1, 6)] == [1.0] * 5
