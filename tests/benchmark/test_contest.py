"""Systems in processes of their own, asked in turns; the failure of one does not affect the others."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from mt.benchmark.contest import Entry, System, Worker, programs, run_contest, started
from mt.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = """
import sys
from mt.benchmark.worker import serve

def prepare(task):
    print("a library says hello")  # must not reach the answers
    calls = []
    def handle(request):
        print("and again")
        calls.append(request)
        with open(task["shared"], "a") as file:
            file.write(task["name"] + request["precision"] + " ")
        if len(calls) == task.get("fails_at"):
            raise MemoryError("no memory\\nleft")
        if len(calls) == task.get("dies_at"):
            sys.exit(7)
        return {"calls": len(calls), "seconds": 2.0, "text": "ä"}
    return {"versions": "1.0"}, handle

serve(prepare)
"""


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "answering.py").write_text(SYSTEM, encoding="utf-8")
    return tmp_path / "order"


def system(shared: Path, name: str, **task: int) -> System:
    environment = {"PYTHONPATH": f"{shared.parent}:{ROOT}"}
    return System(name, [sys.executable, "-m", "answering"], {"shared": str(shared), "name": name, **task}, environment)


def entries(workers: dict[str, Worker]) -> list[Entry]:
    return [Entry(f"{name} {kind}", one, {"precision": kind}) for kind in "xy" for name, one in workers.items()]


def test_all_are_asked_in_turns_and_the_first_round_does_not_count(shared: Path) -> None:
    with started([system(shared, name) for name in "ab"], logs=shared.parent) as (workers, about):
        outcome = run_contest(entries(workers), rounds=3)
    assert about == {"a": {"versions": "1.0"}, "b": {"versions": "1.0"}}
    rounds = ["ax bx ay by", "bx ay by ax", "ay by ax bx", "by ax bx ay"]
    assert shared.read_text(encoding="utf-8").split() == " ".join(rounds).split()
    assert outcome.failures == {}
    assert outcome.rates("a x", "calls") == [2, 3, 3.5]
    assert outcome.answers["b y"][0]["text"] == "ä"
    assert "a library says hello" in (shared.parent / "a.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"fails_at": 3}, "b: MemoryError: no memory left"),
        pytest.param({"dies_at": 3}, "b: ended with code 7: ", marks=pytest.mark.long),
    ],
)
def test_a_system_that_fails_is_named_and_the_others_continue(
    shared: Path, fault: dict[str, int], message: str
) -> None:
    with started([system(shared, "a"), system(shared, "b", **fault)], logs=shared.parent) as (workers, _):
        outcome = run_contest(entries(workers), rounds=2)
    assert [len(outcome.answers[name]) for name in ("a x", "a y")] == [2, 2]
    failed = [text for name, text in outcome.failures.items() if name.startswith("b")]
    assert any(text.startswith(message) for text in failed)
    assert "\n" not in "".join(failed)


def test_without_a_system_that_finishes_there_is_no_outcome(shared: Path) -> None:
    with started([system(shared, "a", fails_at=1)], logs=shared.parent) as (workers, _):
        one = entries(workers)[:1]
        with pytest.raises(UserError, match="no system finished: a: MemoryError"):
            run_contest(one, rounds=1)


def test_systems_that_cannot_start_are_reported_and_left_out(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems = [System("x", ["/nowhere/python"], {}), System("y", [sys.executable, "-m", "no_such_module"], {})]
    with started(systems, logs=shared.parent) as (workers, about):
        assert workers == {}
    assert about["x"]["failed"] == "x: cannot start /nowhere/python: No such file or directory"
    assert about["y"]["failed"].startswith("y: ended with code 1: ")
    assert "out: x: cannot start" in capsys.readouterr().err


def test_the_interpreter_of_the_other_systems_has_to_exist(tmp_path: Path) -> None:
    python = str(tmp_path / "python")
    for job in ("training", "decoding"):
        ours, others = programs(["ours", "ours_int8"], job=job, python=python)
        assert find_spec(ours[-1])
        assert others[0] == python
        assert Path(others[1]).is_file()
    with pytest.raises(UserError, match=r"systems_python: .* does not exist; make benchmark sets it up"):
        programs(["ours", "torch"], job="training", python=python)


def test_an_installed_package_measures_its_own_side_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("mt.benchmark.contest._OTHER_SYSTEMS", tmp_path / "scripts/systems")
    assert programs(["ours"], job="training", python="python")
    with pytest.raises(UserError, match="from a checkout of the repository"):
        programs(["ours", "torch"], job="training", python=sys.executable)
