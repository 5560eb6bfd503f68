"""Work done side by side: in threads, or in worker processes, which do not share Python's lock."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

import torch

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG = 1
_SENTENCES_PER_PROCESS = 32  # for fewer, a worker process does not pay

Result = TypeVar("Result")


def can_fork() -> bool:
    """Whether a process that has computed may be forked here: with the libraries of other systems it may hang."""
    return sys.platform == "linux"


class Workers:
    """Runs functions over lists of arguments in `threads` threads.

    With `processes`, it runs those over many sentences in `threads` worker processes instead, where the system has
    them. They are forked once for each function; what changes here afterwards does not reach them.
    """

    def __init__(self, threads: int, *, processes: bool = False) -> None:
        self.threads = threads
        self.processes = processes and can_fork()
        self.workers: dict[Callable[..., Any], WorkerProcesses[Any]] = {}

    def __call__(
        self, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], *, sentences: int
    ) -> list[Result]:
        """Return the function's results for each of the arguments, in order. Raises what it raises."""
        if self.processes and self.threads > 1 and sentences >= _SENTENCES_PER_PROCESS * self.threads:
            with contextlib.suppress(OSError):  # a system that makes no further process
                if function not in self.workers:
                    self.workers[function] = WorkerProcesses(function, count=self.threads)
                return self.workers[function].map(arguments)
        return in_threads(function, arguments, threads=self.threads)


def in_threads(function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], *, threads: int) -> list[Result]:
    """Return the function's results for each of the arguments, in order, computed in this number of threads.

    Each uses one of torch's own threads, even where there is only one: small products are computed faster side by
    side, one on each core, than one after another on all cores, which wait for each other at every product.
    """
    own_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        if threads == 1 or len(arguments) <= 1:
            return [function(*each) for each in arguments]
        return list(pool.map(lambda each: function(*each), arguments))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(own_threads)


class WorkerProcesses(Generic[Result]):
    """`count` forks of this process, each of which computes `function` with one of torch's threads.

    They share its memory as it was when they were made, and end with it. Make them where no thread of Python's is
    running. What a worker does not answer, because something ended it, is computed here. Raises OSError where the
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
                with warnings.catch_warnings():  # about torch's threads, which the worker does not use
                    warnings.simplefilter("ignore", DeprecationWarning)
                    process.start()
            except OSError:
                self.close()
                raise
            other_end.close()
            self._workers[connection] = process

    def __len__(self) -> int:
        """Return the number of workers left."""
        return len(self._workers)

    def map(self, arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Return the function's results for each of the arguments, in order. Raises what it raises."""
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
        """End the workers at once."""
        for connection, process in self._workers.items():
            process.kill()
            process.join()
            connection.close()
        self._workers.clear()

    def _collect(self, waiting: deque[tuple[int, tuple[Any, ...]]], answers: dict[int, Result]) -> None:
        """Give each idle worker another task, until all are done or no worker is left."""
        asked: dict[Connection, int] = {}
        while self._workers and (waiting or asked):
            for connection in [each for each in self._workers if each not in asked][: len(waiting)]:
                asked[connection], task = waiting.popleft()
                with contextlib.suppress(OSError):  # a worker that has ended is noticed below
                    connection.send(task)
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


def _serve(function: Callable[..., Result], connection: Connection, parent: int) -> None:
    """Answer tasks in a worker process. Its parent handles interrupts from the terminal."""
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
        except Exception as error:  # noqa: BLE001  any error is the parent's to handle
            answer = (None, error)
        connection.send(answer)
