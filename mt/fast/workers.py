"""Work done side by side: in threads, or in worker processes, which do not share Python's lock."""

import contextlib
import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

import torch

from mt.errors import MtError, UserError, WorkerLostError
from mt.fast.memory import give_back_freed_memory

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG = 1
_SENTENCES_PER_PROCESS = 32  # for fewer, a worker process does not pay

Result = TypeVar("Result")
_one_at_a_time = threading.Lock()  # the number of torch's threads belongs to the whole process
_function_of_worker: list[Callable[..., Any]] = []  # in a worker process: what it computes


def can_fork() -> bool:
    """Whether a process that has computed may be forked here: with the libraries of other systems it may hang.

    A daemon of multiprocessing may have no children.
    """
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


class Workers:
    """Runs functions over lists of arguments in `threads` threads.

    With `processes`, it runs those over many sentences in `threads` worker processes instead, where the system has
    them. They are forked once for each function; what changes here afterwards does not reach them. Where one of them
    is ended from outside, the work is done here.
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
            with contextlib.suppress(OSError, BrokenProcessPool):  # no further process, or one that was killed
                if function not in self.workers:
                    give_back_freed_memory()  # instead of keeping it once for each process
                    self.workers[function] = WorkerProcesses(function, count=self.threads)
                return self.workers[function].map(arguments)
        return in_threads(function, arguments, threads=self.threads)


def in_threads(function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], *, threads: int) -> list[Result]:
    """Return the function's results for each of the arguments, in order, computed in this number of threads.

    Each uses one of torch's own threads, even where there is only one: small products are computed faster side by
    side, one on each core, than one after another on all cores, which wait for each other at every product. Calls
    from several threads are answered one after another, unless torch has a single thread anyway.
    """
    if threads == torch.get_num_threads() == 1:
        return [function(*each) for each in arguments]
    with _one_at_a_time:
        own_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            if threads == 1 or len(arguments) <= 1:
                return [function(*each) for each in arguments]
            return _in_pool(function, arguments, threads=threads)
        finally:
            torch.set_num_threads(own_threads)


def _in_pool(function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], *, threads: int) -> list[Result]:
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    busy: set[int] = set()

    def work(each: tuple[Any, ...]) -> Result:
        busy.add(threading.get_ident())
        try:
            return function(*each)
        finally:
            busy.discard(threading.get_ident())

    try:
        return list(pool.map(work, arguments))
    except BaseException:  # such as a signal, which only this thread receives: the others need not finish
        for thread in tuple(busy):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def in_process(function: Callable[[], Result]) -> Result:
    """Return the function's result, computed in a process of its own, which ends when a signal comes.

    Where the system makes no process, it is computed here. Raises what it raises, and UserError where it was killed.
    """
    if can_fork():
        with contextlib.suppress(OSError):
            worker = WorkerProcesses(function, count=1)
            try:
                return worker.map([()])[0]
            except BrokenProcessPool as error:
                time.sleep(1)  # what ends all processes of a job, as a cluster does, ends this one too
                advice = "a tokenizer needs less with a smaller tokenizer.input_sentence_size"
                raise UserError(f"a process was killed, perhaps because memory ran out: {advice}") from error
            finally:
                worker.close()
    return function()


class WorkerProcesses(Generic[Result]):
    """`count` forks of this process, each of which computes `function` with one of torch's threads.

    They share its memory as it was when they were made, and end with it. Make them where no thread of Python's holds
    a lock that they need. Raises OSError where the system makes no further process.
    """

    def __init__(self, function: Callable[..., Result], *, count: int) -> None:
        before = multiprocessing.active_children()
        context = multiprocessing.get_context("fork")
        self._pool = ProcessPoolExecutor(count, context, _begin_worker, (function, os.getpid()))
        try:
            with _about_to_fork():
                self._pool.submit(os.getpid)  # forks all of them
        except BaseException:
            self._processes = [each for each in multiprocessing.active_children() if each not in before]
            self.close()
            raise
        self._processes = [each for each in multiprocessing.active_children() if each not in before]

    def map(self, arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Return the function's results for each of the arguments, in order.

        Raises what it raises, and BrokenProcessPool when a worker has ended; then all are ended.
        """
        try:
            futures = [self._pool.submit(_work, task) for task in arguments]
            return [future.result() for future in futures]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the workers at once."""
        for process in self._processes:
            process.kill()
        self._pool.shutdown()  # its thread waits for them too
        for process in self._processes:
            process.join()


@contextlib.contextmanager
def _about_to_fork() -> Iterator[None]:
    """While a process is made: signals wait until it is, and neither it nor what torch and Python do then meets one."""
    gc.freeze()  # looking for garbage writes into objects, whose memory would be copied
    noted: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():  # others may set no handlers, and run none
        handlers = {each: signal.getsignal(each) for each in (*_SIGNALS, signal.SIGINT)}
    for each, handler in handlers.items():
        if callable(handler):
            signal.signal(each, lambda number, _: noted.append(number))
    try:
        with warnings.catch_warnings():  # about torch's threads, which the worker does not use
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        gc.unfreeze()
        for each, handler in handlers.items():
            if callable(handler):
                signal.signal(each, handler)
        for number in noted:
            signal.raise_signal(number)


def made_in_process(items: Iterator[Result]) -> Generator[Result, None, None]:
    """The items, each made by a process of its own while the one before it is used.

    Each is sent as bytes. No signal to all processes of a job ends that process; closing the generator does. Raises
    the expected error of making them, WorkerLostError where it was killed or cannot be made, and RuntimeError where it
    has ended otherwise: then its traceback is shown.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    arguments = (items, receiver, sender, os.getpid())
    process = multiprocessing.get_context("fork").Process(target=_send_all, args=arguments)
    try:
        with sender, _about_to_fork():  # it is closed here, so that the end of the process is seen
            try:
                process.start()
            except OSError as error:
                raise WorkerLostError(f"no process can be made ({error})") from error
        while (ready := _received(receiver, process)) is not None:
            if isinstance(ready, Exception):
                raise ready
            yield ready
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
        receiver.close()


def _received(receiver: Connection, sender: BaseProcess) -> Any:
    try:
        return receiver.recv()
    except (EOFError, OSError) as error:  # between two messages, or in one
        sender.join()
        if (code := sender.exitcode or 0) < 0:
            raise WorkerLostError(f"a process was killed ({signal.Signals(-code).name})") from error
        raise RuntimeError("a process ended with the error above") from error


def _send_all(items: Iterator[Any], receiver: Connection, sender: Connection, parent: int) -> None:
    """Send each item, then None, or what making it raised."""
    _set_up_worker(parent, signal.SIG_IGN)
    receiver.close()
    with contextlib.suppress(BrokenPipeError):
        try:
            for item in items:
                sender.send_bytes(pickle.dumps(item))
        except (MtError, OSError, MemoryError) as error:
            sender.send_bytes(pickle.dumps(error))
        else:
            sender.send_bytes(pickle.dumps(None))


def _begin_worker(function: Callable[..., Any], parent: int) -> None:
    _set_up_worker(parent, signal.SIG_DFL)
    _function_of_worker.append(function)


def _set_up_worker(parent: int, by_signals: signal.Handlers) -> None:
    """Prepare a worker process. Its parent handles interrupts from the terminal."""
    for number in _SIGNALS:
        signal.signal(number, by_signals)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit
    torch.set_num_threads(1)


def _work(task: tuple[Any, ...]) -> Any:
    return _function_of_worker[-1](*task)
