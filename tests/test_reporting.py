"""Lines on standard error: progress without a terminal, and times."""

import pytest

from mt import reporting
from mt.reporting import Progress, format_seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the next look at the clock shows."""
    now = [100.0]
    monkeypatch.setattr(reporting.time, "monotonic", lambda: now[0])
    return now


def test_a_long_pass_says_now_and_then_how_far_it_is(clock: list[float], capfd: pytest.CaptureFixture[str]) -> None:
    progress = Progress("encoding", total=1000, unit="pairs")
    for seconds in range(1, 26):
        clock[0] = 100.0 + seconds
        progress.advance(20)
    progress.close()
    assert capfd.readouterr().err.split("\n") == [
        "encoding: 200 of 1,000 pairs  20 pairs/s  40 s left",
        "encoding: 400 of 1,000 pairs  20 pairs/s  30 s left",
        "",
    ]


def test_a_resumed_training_shows_its_numbers_and_its_last_step(
    clock: list[float], capfd: pytest.CaptureFixture[str]
) -> None:
    for shown in (True, False):
        progress = Progress("training", total=60, unit="steps", done=40, shown=shown)
        clock[0] += 10
        progress.reach(50, loss="3.1")
        clock[0] += 1
        progress.reach(55, loss="3.0")
        progress.line("step 55 validation")
        progress.reach(60, loss="2.9")
    assert capfd.readouterr().err.split("\n") == [
        "training: 50 of 60 steps  loss 3.1  10 s left",
        "step 55 validation",
        "training: 60 of 60 steps  loss 2.9  0 s left",
        "",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (3599.7, "1 h 00 min"), (3725, "1 h 02 min")],
)
def test_times_read_well(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
