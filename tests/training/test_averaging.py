"""Section 6.1: the average of checkpoints."""

import numpy as np
import pytest
import torch

from mt.training.averaging import average


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_the_average_is_the_arithmetic_mean(count: int) -> None:
    random = np.random.default_rng(count)
    arrays = {"a": random.normal(size=(count, 3, 4)), "b": 1e3 * random.normal(size=(count, 7))}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    checkpoints = [{name: torch.from_numpy(array[i]) for name, array in arrays.items()} for i in range(count)]
    mean = average(iter(checkpoints))
    assert mean.keys() == arrays.keys()
    for name, array in arrays.items():
        assert mean[name].dtype == torch.float32
        expected = array.astype(np.float64).mean(axis=0).astype(np.float32)
        np.testing.assert_allclose(mean[name].numpy(), expected, rtol=1e-7, atol=0)


def test_sums_do_not_round() -> None:
    mean = average({"a": torch.tensor([number])} for number in (1e8, 1.0, -1e8))
    assert float(mean["a"]) == pytest.approx(1 / 3)


def test_the_checkpoints_stay_as_they_are() -> None:
    checkpoints = [{"a": torch.tensor([1.0], dtype=torch.float64)}, {"a": torch.tensor([3.0], dtype=torch.float64)}]
    assert float(average(checkpoints)["a"]) == 2.0
    assert [float(one["a"]) for one in checkpoints] == [1.0, 3.0]


@pytest.mark.parametrize("other", [{"a": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0, "c": 1.0}, {}])
def test_other_names_are_refused(other: dict[str, float]) -> None:
    first = {"a": torch.tensor(1.0), "b": torch.tensor(1.0)}
    with pytest.raises(ValueError, match="the checkpoints hold different parameters"):
        average([first, {name: torch.tensor(value) for name, value in other.items()}])


def test_nothing_has_no_average() -> None:
    with pytest.raises(ValueError, match="no checkpoints to average"):
        average([])
