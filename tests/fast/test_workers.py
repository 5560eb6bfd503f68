"""Worker processes: what they answer, and what becomes of it where they or their parent end."""

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

from mt.errors import SignalledError, UserError
from mt.fast.workers import WorkerProcesses, Workers, can_fork, in_process, in_threads

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes are forked on Linux only")
HERE = os.getpid()


def work(number: int, what: str) -> tuple[int, int, int]:
    """The number, in which process it was worked on, and with how many threads."""
    if what == "end" and os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "refuse":
        raise UserError(f"{number} is refused")
    return number, os.getpid(), torch.get_num_threads()


@pytest.fixture
def workers() -> Iterator[WorkerProcesses[tuple[int, int, int]]]:
    made = WorkerProcesses(work, count=2)
    yield made
    made.close()


def test_every_answer_comes_in_order_from_a_worker(workers: WorkerProcesses[tuple[int, int, int]]) -> None:
    for _ in range(2):
        answers = workers.map([(number, "work") for number in range(20)])
        assert [number for number, _, _ in answers] == list(range(20))
        assert HERE not in {process for _, process, _ in answers}
        assert {threads for _, _, threads in answers} == {1}
    assert workers.map([]) == []


def test_what_a_worker_raises_is_raised_here(workers: WorkerProcesses[tuple[int, int, int]]) -> None:
    with pytest.raises(UserError, match="3 is refused"):
        workers.map([(number, "refuse" if number == 3 else "work") for number in range(8)])
    assert not any(each.is_alive() for each in workers._processes)


@pytest.mark.reliability(24)
@pytest.mark.parametrize("ending", [{4}, {4, 5}, set(range(8))])
def test_what_a_worker_leaves_undone_is_done_here(ending: set[int]) -> None:
    """In this call and in later ones; the other workers are ended."""
    workers = Workers(2, processes=True)
    tasks = [(number, "end" if number in ending else "work") for number in range(8)]
    for _ in range(2):
        answers = workers(work, tasks, sentences=64)
        assert [number for number, _, _ in answers] == list(range(8))
        assert {process for _, process, _ in answers} == {HERE}
    assert not any(each.is_alive() for each in workers.workers[work]._processes)


def test_many_sentences_are_shared_among_processes_and_few_among_threads() -> None:
    """Processes are forked at the first need and kept for each function; threads compute the same in order."""
    tasks = [(number, "work") for number in range(6)]
    workers = Workers(2, processes=True)
    few, many, again = (workers(work, tasks, sentences=count) for count in (63, 64, 64))
    for answers in (few, many, again):
        assert [(number, threads) for number, _, threads in answers] == [(number, 1) for number in range(6)]
    assert {process for _, process, _ in few} == {HERE}
    assert HERE not in {process for _, process, _ in many}
    assert {process for _, process, _ in again} <= {each.pid for each in workers.workers[work]._processes}
    assert {process for _, process, _ in Workers(2)(work, tasks, sentences=1000)} == {HERE}
    assert {process for _, process, _ in Workers(1, processes=True)(work, tasks, sentences=1000)} == {HERE}
    workers.workers[work].close()


def test_threads_compute_where_no_process_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(errno.EAGAIN, "no more")

    monkeypatch.setattr(os, "fork", fork)
    answers = Workers(2, processes=True)(work, [(number, "work") for number in range(6)], sentences=64)
    assert [(number, process) for number, process, _ in answers] == [(number, HERE) for number in range(6)]


@pytest.mark.reliability(5)
def test_threads_that_search_long_end_with_a_signal() -> None:
    """Which only the main thread receives."""

    def search(seconds: float) -> None:
        begun.append(time.monotonic())
        while time.monotonic() - begun[0] < seconds:
            time.sleep(0.001)

    def interrupt(*_: object) -> None:
        raise SignalledError(signal.SIGALRM)

    begun: list[float] = []
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(SignalledError):
            in_threads(search, [(15.0,)] * 5, threads=2)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begun[0] < 10
    assert len(begun) == 2


def test_what_a_process_of_its_own_does_is_returned_or_raised() -> None:
    assert in_process(lambda: work(3, "work")[1]) != HERE
    with pytest.raises(UserError, match="3 is refused"):
        in_process(lambda: work(3, "refuse"))
    with pytest.raises(UserError, match="a process was killed, perhaps because memory ran out"):
        in_process(lambda: work(3, "end"))


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
@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(number, marks=pytest.mark.long) for number in (signal.SIGTERM, signal.SIGINT))],
)
def test_workers_end_with_their_parent(number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    workers = [int(process.stdout.readline()) for _ in range(2)]
    process.send_signal(number)
    process.wait(10)
    deadline = time.monotonic() + 10
    while any(_runs(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(worker) for worker in workers)
    process.stdout.close()


def _runs(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
