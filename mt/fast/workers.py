"""WorkerProcesses of this process that work side by side: they share its memory as it was, and not Python's lock."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

import torch

from mt.runtime import in_threads

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG = 1

Result = TypeVar("Result")


def can_fork() -> bool:
    """Whether a process that has computed may be copied here: with the libraries of other systems it may hang."""
    return sys.platform == "linux"


class WorkerProcesses(Generic[Result]):
    """`count` copies of this process, each of which computes `function` with one of torch's threads.

    They know what this process knew when they were made, and end with it. Make them where no thread of Python's is
    at work. What a copy has not answered, because something ended it, is computed here. Raises OSError where the
    system makes no further process.
    """

    def __init__(self, function: Callable[..., Result], *, count: int) -> None:
        context = multiprocessing.get_context("fork")
        self._function = function
        self._workers: dict[Connection, multiprocessing.process.BaseProcess] = {}
        for _ in range(count):
            connection, other_end = context.Pipe()
            process = context.Process(target=_serve, args=(function, other_end, os.getpid()), daemon=True)
            try:
                with warnings.catch_warnings():  # of torch's threads, which wait and which the copy does without
                    warnings.simplefilter("ignore", DeprecationWarning)
                    process.start()
            except OSError:
                self.close()
                raise
            other_end.close()
            self._workers[connection] = process

    def __len__(self) -> int:
        """How many are left."""
        return len(self._workers)

    def map(self, arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """What the function returns for each of the arguments, in their order. Raises what it raises."""
        answers: dict[int, Result] = {}
        try:
            self._collect(deque(enumerate(arguments)), answers)
        except BaseException:
            self.close()  # answers that nobody waits for would be taken for others
            raise
        left = [index for index in range(len(arguments)) if index not in answers]
        done = in_threads(self._function, [arguments[index] for index in left], threads=1)
        answers |= zip(left, done, strict=True)
        return [answers[index] for index in range(len(arguments))]

    def close(self) -> None:
        """End the copies, whatever they are at."""
        for connection, process in self._workers.items():
            process.kill()
            process.join()
            connection.close()
        self._workers.clear()

    def _collect(self, waiting: deque[tuple[int, tuple[Any, ...]]], answers: dict[int, Result]) -> None:
        """Give each copy another task as soon as it has none, until all are done or no copy is left."""
        asked: dict[Connection, int] = {}
        while self._workers and (waiting or asked):
            for connection in [each for each in self._workers if each not in asked][: len(waiting)]:
                asked[connection], task = waiting.popleft()
                _send(connection, task)
            for ready in wait(list(asked)):
                assert isinstance(ready, Connection)
                index = asked.pop(ready)
                try:
                    answer, error = ready.recv()
                except (EOFError, OSError):  # it has ended
                    self._workers.pop(ready).join()
                    continue
                if error is not None:
                    raise error
                answers[index] = answer


def _send(connection: Connection, task: tuple[Any, ...]) -> None:
    with contextlib.suppress(OSError):  # that it has ended, the waiting will notice
        connection.send(task)


def _serve(function: Callable[..., Result], connection: Connection, parent: int) -> None:
    """A copy's life. What the terminal interrupts is its parent's to decide."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    torch.set_num_threads(1)
    while True:
        task = connection.recv()
        try:
            answer: tuple[Result | None, Exception | None] = (function(*task), None)
        except Exception as error:  # noqa: BLE001  whatever it is, it is the parent's
            answer = (None, error)
        connection.send(answer)
