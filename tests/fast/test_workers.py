"""WorkerProcesses of a process: what they answer, and what becomes of it where they or their parent end."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from mt.errors import UserError
from mt.fast.workers import WorkerProcesses, can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes are copied on Linux only")
HERE = os.getpid()


def work(number: int, what: str) -> tuple[int, int, int]:
    """The number, in which process it was worked on, and with how many threads."""
    if what == "end" and os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "refuse":
        raise UserError(f"{number} is refused")
    return number, os.getpid(), torch.get_num_threads()


@pytest.fixture
def copies() -> Iterator[WorkerProcesses[tuple[int, int, int]]]:
    made = WorkerProcesses(work, count=2)
    yield made
    made.close()


def test_every_answer_comes_at_its_place_from_a_copy(copies: WorkerProcesses[tuple[int, int, int]]) -> None:
    for _ in range(2):
        answers = copies.map([(number, "work") for number in range(20)])
        assert [number for number, _, _ in answers] == list(range(20))
        assert HERE not in {process for _, process, _ in answers}
        assert {threads for _, _, threads in answers} == {1}
    assert copies.map([]) == []


def test_what_a_copy_raises_is_raised_here(copies: WorkerProcesses[tuple[int, int, int]]) -> None:
    with pytest.raises(UserError, match="3 is refused"):
        copies.map([(number, "refuse" if number == 3 else "work") for number in range(8)])
    assert not len(copies)
    assert [number for number, _, _ in copies.map([(5, "work"), (6, "work")])] == [5, 6]


@pytest.mark.reliability(24)
@pytest.mark.parametrize("ending", [{4}, {4, 5}, set(range(8))])
def test_what_a_copy_leaves_undone_is_done_here(
    ending: set[int], copies: WorkerProcesses[tuple[int, int, int]]
) -> None:
    answers = copies.map([(number, "end" if number in ending else "work") for number in range(8)])
    assert [number for number, _, _ in answers] == list(range(8))
    assert ending <= {number for number, process, _ in answers if process == HERE}
    assert [number for number, _, _ in copies.map([(5, "work"), (6, "work")])] == [5, 6]


@pytest.mark.reliability(24)
def test_where_no_process_can_be_made_an_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def fork() -> int:
        if made:
            raise BlockingIOError(errno.EAGAIN, "no more")
        made.append(real())
        return made[0]

    real = os.fork
    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(BlockingIOError):
        WorkerProcesses(work, count=2)
    assert not _runs(made[0])


ORPHANS = """
import os, signal, sys, time
from mt.fast.workers import WorkerProcesses

def work(seconds):
    os.write(1, b"%d\\n" % os.getpid())  # at once, lest the other's come between
    time.sleep(seconds)

WorkerProcesses(work, count=2).map([(60,), (60,)])
"""


@pytest.mark.reliability(24)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_copies_end_with_their_parent(number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    copies = [int(process.stdout.readline()) for _ in range(2)]
    process.send_signal(number)
    process.wait(10)
    deadline = time.monotonic() + 10
    while any(_runs(copy) for copy in copies) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(copy) for copy in copies)
    process.stdout.close()


def _runs(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
