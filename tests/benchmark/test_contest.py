"""Systems in processes of their own, asked in turns; one that fails leaves the others undisturbed."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mt.benchmark.contest import ContestError, Entry, Worker
from mt.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
CONTESTANT = """
import sys, time
from mt.benchmark.workers.serve import serve

def prepare(task):
    print("a library says hello")  # must not reach the answers
    calls = []
    def handle(request):
        print("and again")
        calls.append(request)
        with open(task["shared"], "a") as file:
            file.write(task["name"] + request["precision"] + " ")
        if len(calls) == task.get("fails_at"):
            raise MemoryError("no room\\nleft")
        if len(calls) == task.get("sleeps_at"):
            time.sleep(60)
        if len(calls) == task.get("dies_at"):
            sys.exit(7)
        return {"calls": len(calls), "text": "ä"}
    return {"versions": "1.0"}, handle

serve(prepare)
"""
Start = tuple[Worker, dict[str, object]]


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "system.py").write_text(CONTESTANT, encoding="utf-8")
    return tmp_path / "order"


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    started: list[Worker] = []
    yield started
    for worker in started:
        worker.close()


def start(workers: list[Worker], shared: Path, name: str, **task: int) -> Worker:
    command = [sys.executable, str(shared.parent / "system.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    worker = Worker(name, command, log=shared.parent / f"{name}.log", environment=environment, folder=ROOT)
    workers.append(worker)
    answer = worker.ask({"shared": str(shared), "name": name, **task}, timeout_seconds=30)
    assert answer == {"versions": "1.0"}
    return worker


def entries(workers: list[Worker]) -> list[Entry]:
    return [Entry(f"{one.name} {kind}", one, {"precision": kind}) for kind in "xy" for one in workers]


def test_all_are_asked_in_turns_and_the_first_round_does_not_count(workers: list[Worker], shared: Path) -> None:
    for name in "ab":
        start(workers, shared, name)
    outcome = run_contest(entries(workers), rounds=3, timeout_seconds=30)
    rounds = ["ax bx ay by", "bx ay by ax", "ay by ax bx", "by ax bx ay"]
    assert shared.read_text(encoding="utf-8").split() == " ".join(rounds).split()
    assert outcome.failures == {}
    assert outcome.values("a x", "calls") == [4, 6, 7]
    assert outcome.answers["b y"][0]["text"] == "ä"
    assert "a library says hello" in (shared.parent / "a.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"fails_at": 3}, "b: MemoryError: no room left"),
        ({"dies_at": 3}, "b: ended with code 7; see"),
        ({"sleeps_at": 3}, "b: no answer within 2 s; see"),
    ],
)
def test_who_fails_leaves_and_the_others_go_on(
    workers: list[Worker], shared: Path, fault: dict[str, int], message: str
) -> None:
    start(workers, shared, "a")
    start(workers, shared, "b", **fault)
    outcome = run_contest(entries(workers), rounds=2, timeout_seconds=2)
    assert [len(outcome.answers[name]) for name in ("a x", "a y")] == [2, 2]
    failed = [text for name, text in outcome.failures.items() if name.startswith("b")]
    assert any(text.startswith(message) for text in failed)
    assert "\n" not in "".join(failed)


def test_a_contest_without_finishers_is_no_contest(workers: list[Worker], shared: Path) -> None:
    start(workers, shared, "a", fails_at=1)
    with pytest.raises(UserError, match="no system finished: a: MemoryError"):
        run_contest(entries(workers)[:1], rounds=1, timeout_seconds=30)


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContestError, match=r"x: cannot start /nowhere/python: No such file"):
        Worker("x", ["/nowhere/python"], log=tmp_path / "log", environment={}, folder=tmp_path)
