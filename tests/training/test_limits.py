"""The time that a limit leaves, and what does not fit into it."""

import time

import pytest

from mt.training.limits import Clock, unfitting_intervals


def test_the_time_for_steps_leaves_room_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock = Clock(max_minutes=7, started=80.0, validations_at_end=3.0)
    assert clock.seconds_left() == pytest.approx(420 - 42 - 20)
    assert not clock.lacks_validation()
    now[0] = 80 + 0.41 * 420
    assert clock.lacks_validation()
    clock.validation_seconds = 20.0
    assert clock.seconds_left() == pytest.approx(420 - 60 - 0.41 * 420)
    assert not clock.lacks_validation()
    assert Clock().seconds_left() > 1e9


def test_the_last_step_is_known_once_the_speed_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step, of 50 s here, tells nothing of the others."""
    now = [50.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock = Clock(max_minutes=10, started=0.0)
    expected = []
    for step in range(101, 130):
        expected.append(clock.expected_steps(step))
        now[0] += 0.5
    assert expected[:10] == [None] * 10
    assert expected[10] == 111 + int((600 - 60 - 55) / 0.5)
    assert expected[11:] == [None] * 18
    assert Clock().expected_steps(500) is None


# The recipes that ship, of the paper too, must fit.
SHIPPED = [(100_000, 4000, 1500, 1500, 5), (300_000, 4000, 1500, 600, 20), (20_000, 2000, 1000, 500, 5)]
SHIPPED += [(1400, 500, 700, 100, 2), (7000, 2000, 500, 200, 10)]
NAMES = ("warmup_steps", "validate_every_steps", "checkpoint_every_steps", "average_checkpoints")


@pytest.mark.parametrize("recipe", SHIPPED)
def test_the_recipes_fit(recipe: tuple[int, ...]) -> None:
    assert unfitting_intervals(recipe[0], **dict(zip(NAMES, recipe[1:], strict=True))) == {}


@pytest.mark.parametrize("steps", [1, 7, 463, 3000])
def test_what_is_proposed_fits(steps: int) -> None:
    values = dict(zip(NAMES, (2000, 1000, 500, 5), strict=True))
    found = unfitting_intervals(steps, **values)
    assert ("warmup_steps" in found) == (steps < 4000)
    assert ("validate_every_steps" in found) == (steps < 2000)
    assert "checkpoint_every_steps" in found
    assert {name: value for name, (value, _) in found.items()} == {name: values[name] for name in found}
    proposed = {name: value for name, (_, value) in found.items()}
    again = unfitting_intervals(steps, **{**values, **proposed})
    assert again == {}
