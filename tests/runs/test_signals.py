"""RELIABILITY 5, 6: what signals do where, and one process per run folder."""

import multiprocessing
import os
import pty
import signal
from pathlib import Path

import pytest

from mt.errors import DiskError, LockedError, StoppedError
from mt.runs.signals import lock_folder, stop_on_signals
from small_runs import CODES


@pytest.mark.reliability(5)
@pytest.mark.parametrize("number", CODES)
def test_a_signal_raises_where_nothing_can_be_torn(number: signal.Signals) -> None:
    with stop_on_signals() as stop, pytest.raises(StoppedError) as caught:
        signal.raise_signal(number)
    assert caught.value.exit_code == CODES[number]
    assert stop


@pytest.mark.reliability(5)
@pytest.mark.parametrize("number", CODES)
def test_a_signal_waits_while_held_back(number: signal.Signals) -> None:
    reached = []
    with stop_on_signals() as stop, pytest.raises(StoppedError) as caught:
        with stop.held_back():
            signal.raise_signal(number)
            reached.append(bool(stop))
    assert reached == [True]
    assert caught.value.exit_code == CODES[number]


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_the_launcher_that_had_the_signal_has_it_after_the_state_is_saved(number: signal.Signals) -> None:
    """So does submitit, which queues the job again and leaves."""
    done: list[str] = []

    def queue_again(*_: object) -> None:
        done.append("queued again")
        raise SystemExit(255)

    before = signal.signal(number, queue_again)
    try:
        with pytest.raises(SystemExit), stop_on_signals() as stop, stop.held_back():
            signal.raise_signal(number)
            done.append("saved")
        assert done == ["saved", "queued again"]
        assert signal.getsignal(number) == queue_again
    finally:
        signal.signal(number, before)


@pytest.mark.reliability(5)
def test_a_closed_terminal_is_a_signal_and_no_failure_to_write() -> None:
    master, terminal = pty.openpty()
    before = os.dup(2)
    try:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(master)
        with stop_on_signals(), pytest.raises(StoppedError):
            signal.raise_signal(signal.SIGHUP)
        assert os.write(2, b"the state is saved") > 0
    finally:
        os.dup2(before, 2)
        os.close(before)


def test_nohup_is_left_to_ignore_the_end_of_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_long_stretch_inside_is_left_at_once() -> None:
    reached = []
    with stop_on_signals() as stop, pytest.raises(StoppedError), stop.held_back():
        try:
            with stop.at_once():
                signal.raise_signal(signal.SIGTERM)
                reached.append("not here")
        finally:
            signal.raise_signal(signal.SIGTERM)  # the state is being saved: nothing may end this
            reached.append("saved")
    assert reached == ["saved"]


def test_a_stretch_does_not_begin_after_the_signal() -> None:
    with stop_on_signals() as stop, pytest.raises(StoppedError), stop.held_back():
        signal.raise_signal(signal.SIGUSR1)
        with stop.at_once():
            pytest.fail("begun")


def test_an_error_while_held_back_is_not_hidden_by_the_signal() -> None:
    with stop_on_signals() as stop, pytest.raises(DiskError), stop.held_back():
        signal.raise_signal(signal.SIGTERM)
        raise DiskError("full")


def test_a_second_interrupt_goes_at_once() -> None:
    with stop_on_signals() as stop, pytest.raises(KeyboardInterrupt), stop.held_back():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in CODES]
    with pytest.raises(ZeroDivisionError), stop_on_signals():
        assert [signal.getsignal(number) for number in CODES] != before
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in CODES] == before


@pytest.mark.reliability(6)
def test_one_process_holds_a_folder(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "run"):
        with pytest.raises(LockedError, match=str(tmp_path / "run")) as caught, lock_folder(tmp_path / "run"):
            pytest.fail("entered")
        with lock_folder(tmp_path / "other"):
            pass
    assert caught.value.exit_code == 6
    with lock_folder(tmp_path / "run"):
        pass


def _hold_and_die(folder: Path) -> None:
    with lock_folder(folder):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.reliability(6)
def test_a_dead_process_holds_nothing(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_hold_and_die, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with lock_folder(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_a_disk_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(DiskError, match="choose another with run_dir="), lock_folder(tmp_path / "file" / "run"):
        pytest.fail("entered")
