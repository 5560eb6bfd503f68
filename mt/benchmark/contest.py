"""A contest: every system in a process of its own, asked in turn, round after round, idle while others run.

Measured one after another, systems would meet different conditions (another process's load, heat, clock rates); in
turns, all meet the same ones. The protocol is a line of JSON each way (`mt/benchmark/worker.py`).
"""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mt.errors import UserError
from mt.reporting import report

_ROOT = Path(__file__).resolve().parents[2]
_OTHER_SYSTEMS = _ROOT / "scripts/systems"  # in the repository alone


class ContestError(Exception):
    """A system could not start or answer; the message says which and why, in one line."""


@dataclass(frozen=True)
class System:
    """How to start a system: the interpreter and its arguments, the first request, and more environment."""

    name: str
    command: Sequence[str]
    task: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)


class Worker:
    """A system's process; what it writes to standard error goes to `log`. Raises ContestError if it cannot start."""

    def __init__(self, system: System, *, log: Path) -> None:
        self.name = system.name
        self.log = log
        try:
            with log.open("wb") as errors:
                self._process = subprocess.Popen(  # noqa: S603  the contest's own command
                    system.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(_ROOT), **system.environment},
                    cwd=_ROOT,
                    encoding="utf-8",
                )
        except OSError as error:
            raise ContestError(f"{self.name}: cannot start {system.command[0]}: {error.strerror}") from error

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer. Raises ContestError."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(json.dumps(request) + "\n")
            requests.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self._process.wait()
            said = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((text for text in reversed(said) if text.strip()), "no message")
            raise ContestError(f"{self.name}: ended with code {code}: {last}; see {self.log}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ContestError(f"{self.name}: {answer['error']}")
        return answer

    def close(self) -> None:
        """End the process by the end of its input."""
        self._process.communicate()


Workers = dict[str, Worker]
About = dict[str, dict[str, Any]]


@contextlib.contextmanager
def started(systems: Sequence[System], *, logs: Path) -> Iterator[tuple[Workers, About]]:
    """A worker for each system that starts, until the block ends.

    Also what each system says of itself; of one that could not start, why, under `failed`.
    """
    workers: Workers = {}
    about: About = {}
    with contextlib.ExitStack() as stack:
        for system in systems:
            try:
                worker = Worker(system, log=logs / (re.sub(r"\W+", "-", system.name) + ".log"))
                stack.callback(worker.close)
                about[system.name] = worker.ask(system.task)
                workers[system.name] = worker
            except ContestError as error:
                report(f"out: {error}")
                about[system.name] = {"failed": str(error)}
        yield workers, about


@dataclass(frozen=True)
class Entry:
    """Something to be measured: a request to a worker. One worker may serve several entries."""

    name: str
    worker: Worker
    request: Mapping[str, Any]


@dataclass
class Outcome:
    """The answers of every entry, one a round, and why the entries that failed are missing."""

    answers: dict[str, list[dict[str, Any]]]
    failures: dict[str, str]

    def rates(self, entry: str, figure: str) -> list[float]:
        """One figure of an entry's answers per second, round by round."""
        return [answer[figure] / answer["seconds"] for answer in self.answers[entry]]


def run_contest(entries: Sequence[Entry], *, rounds: int) -> Outcome:
    """Ask every entry once without counting it (compilers and caches warm up), then once in each round.

    The round's order begins one entry further each time. An entry that fails leaves the contest and is named in
    `failures`. Raises UserError when none is left.
    """
    outcome = Outcome({entry.name: [] for entry in entries}, {})
    for number in range(rounds + 1):
        report("warming up" if number == 0 else f"round {number} of {rounds}")
        shift = number % max(1, len(entries))
        for entry in (*entries[shift:], *entries[:shift]):
            if entry.name in outcome.failures:
                continue
            try:
                answer = entry.worker.ask(entry.request)
            except ContestError as error:
                outcome.failures[entry.name] = str(error)
                outcome.answers.pop(entry.name)
                report(f"  out: {error}")
                continue
            if number:
                outcome.answers[entry.name].append(answer)
    if not outcome.answers:
        raise UserError(f"no system finished: {'; '.join(outcome.failures.values()) or 'none could be started'}")
    return outcome


def programs(systems: Sequence[str], *, job: str, python: str) -> tuple[list[str], list[str]]:
    """The commands that start our side of the `job` (training, decoding) and that of another system.

    Raises UserError when others are asked for and their `python`, or the repository, is missing.
    """
    if any(not name.startswith("ours") for name in systems):
        if not _OTHER_SYSTEMS.is_dir():
            raise UserError("systems: the others are measured from a checkout of the repository; give those of ours")
        if not Path(python).exists():
            raise UserError(f"systems_python: {python} does not exist; make benchmark sets it up")
    ours = [sys.executable, "-m", f"mt.benchmark.ours_{job}"]
    return ours, [str(Path(python).absolute()), str(_OTHER_SYSTEMS / f"{job}.py")]
