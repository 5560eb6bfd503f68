"""A queue for few threads that translate: what waits while they are busy goes into the next batches."""

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any

from mt.errors import MtError

Key = Hashable  # the language pair and the options: texts with different ones cannot be translated together
Translate = Callable[[Any, list[str], Callable[[], bool]], Sequence[Any]]

_LONGEST_RETRY_SECONDS = 60
_NEWEST_SHARE = 0.3  # of the newest batch in the mean speed
_TOKENS_OF_A_SECOND = 12  # who has waited for one is quick before who comes with so many tokens less
_LARGE_SHARE = 1 / 4  # of a thread's time, which a large batch has while quick ones keep coming
_QUICK_SHARE = 1 / 8  # of the largest batch: who waits for no more than that is let in between


class OverloadedError(MtError):
    """More waits than may wait; `retry_seconds` is how long that will take."""

    def __init__(self, retry_seconds: int) -> None:
        super().__init__(f"the server is busy; try again in {retry_seconds} s")
        self.retry_seconds = retry_seconds


@dataclass(frozen=True)
class BatchReport:
    """What is known of a batch when it is done."""

    texts: int
    tokens: int
    seconds: float
    waits: list[float]
    """How long the requests whose first batch it is waited, in seconds."""


@dataclass(eq=False)
class _Job:
    """The texts of one request, which may be translated in several batches."""

    key: Key
    texts: Sequence[str]
    tokens: Sequence[int]
    future: Future[list[Any]]
    arrived: float
    results: list[Any] = field(init=False)
    taken: int = 0
    missing: int = field(init=False)
    left: int = field(init=False)
    """The tokens that wait."""

    def __post_init__(self) -> None:
        self.results = [None] * len(self.texts)
        self.missing, self.left = len(self.texts), sum(self.tokens)

    @property
    def waits(self) -> bool:
        """Whether texts wait."""
        return self.taken < len(self.texts)


Batch = list[tuple[_Job, int]]  # requests, each with the number of one of its texts


class Batcher:
    """Collects texts of requests into batches of at most `batch_tokens`, or of a single longer text.

    Requests with little left are quick, and are translated in small batches, the shortest first unless others have
    waited for long; documents in large ones, which cost less a text, and which the first of them share. Between the
    steps of a large batch its thread lets quick ones in, so that a document does not hold up a line that comes after
    it, but not for ever: while lines keep coming, documents have a quarter of its time. Groups of texts with one key
    take turns. A future that is cancelled takes its texts out of the queue, and a batch whose futures are all cancelled
    stops.
    """

    def __init__(
        self,
        translate: Translate,
        *,
        batch_tokens: int,
        queue_tokens: int,
        report: Callable[[BatchReport], None],
        threads: int = 1,
    ) -> None:
        """Start the threads. `translate` gives a result, or the exception, for each text; `report` hears of batches."""
        self._translate, self._report = translate, report
        self._batch_tokens, self._queue_tokens = batch_tokens, queue_tokens
        self._quick_tokens = _QUICK_SHARE * batch_tokens
        self._changed = threading.Condition()
        self._groups: dict[Key, list[_Job]] = {}
        self._closing = False
        self._tokens_per_second = 0.0
        self.waiting_tokens = 0
        self.failed_in_a_row = 0  # batches of which not one text was translated
        self._threads = [threading.Thread(target=self._run, name="model", daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, key: Key, texts: Sequence[str], tokens: Sequence[int]) -> Future[list[Any]]:
        """Queue texts with the number of tokens of each; the future holds their results in order.

        A result may be an exception. Raises OverloadedError when the queue is full; an empty queue takes any request.
        """
        future: Future[list[Any]] = Future()
        job = _Job(key, texts, tokens, future, time.monotonic())
        if not texts:
            future.set_result([])
            return future
        with self._changed:
            if self._closing or (self.waiting_tokens and self.waiting_tokens + sum(tokens) > self._queue_tokens):
                raise OverloadedError(self._retry_seconds(self.waiting_tokens + sum(tokens) - self._queue_tokens))
            self.waiting_tokens += sum(tokens)
            self._groups.setdefault(key, []).append(job)
            self._changed.notify_all()
        future.add_done_callback(lambda _: self._drop(job))
        return future

    def close(self) -> None:
        """Translate what waits, take nothing more, and end the threads."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _retry_seconds(self, tokens: int) -> int:
        """How long it takes until so many of those that wait have been translated."""
        seconds = tokens / self._tokens_per_second if self._tokens_per_second else 1.0
        return min(_LONGEST_RETRY_SECONDS, max(1, math.ceil(seconds)))

    def _drop(self, job: _Job) -> None:
        """Take what waits of a job out of the queue; a job that is done has nothing left."""
        with self._changed:
            self.waiting_tokens -= job.left
            job.taken, job.left = len(job.texts), 0

    def _run(self) -> None:
        while batch := self._next_batch():
            self._translate_batch(batch)
            del batch  # while it waits for the next one, the thread holds on to no model

    def _next_batch(self) -> Batch:
        """Wait for texts and take those of the next batch; nothing when the batcher is closed and nothing waits."""
        with self._changed:
            while not (batch := self._take(self._large_batch) or self._take(self._quick_batch)):
                if self._closing:
                    return []
                self._changed.wait()
            return batch

    def _take(self, choose: Callable[[list[_Job]], Batch]) -> Batch:
        """What `choose` takes of the first group that has something for it; that group goes behind the others."""
        for key in list(self._groups):
            jobs = [job for job in self._groups.pop(key) if job.waits]
            batch = choose(jobs)
            if waiting := [job for job in jobs if job.waits]:
                self._groups[key] = waiting
            if batch:
                return batch
        return []

    def _is_quick(self, job: _Job) -> bool:
        return job.left <= self._quick_tokens

    def _large_batch(self, jobs: list[_Job]) -> Batch:
        large = [job for job in jobs if not self._is_quick(job)]
        fair = sum(job.left for job in large) / len(self._threads)
        room = min(max(fair, self._quick_tokens), self._batch_tokens)
        share = max(room / max(1, len(large)), self._quick_tokens)
        batch: Batch = []
        for job in large:
            if not batch or job.tokens[job.taken] <= room:
                taken = self._taken([job], min(share, room))
                room -= sum(job.tokens[index] for _, index in taken)
                batch += taken
        return batch

    def _quick_batch(self, jobs: list[_Job]) -> Batch:
        now = time.monotonic()
        quick = sorted(
            filter(self._is_quick, jobs), key=lambda job: job.left - _TOKENS_OF_A_SECOND * (now - job.arrived)
        )
        return self._taken(quick, self._quick_tokens)

    def _taken(self, jobs: Iterable[_Job], room: float) -> Batch:
        """Take what fits of each, and if nothing else does, a first text alone."""
        batch: Batch = []
        for job in jobs:
            while job.waits and ((tokens := job.tokens[job.taken]) <= room or not batch):
                batch.append((job, job.taken))
                room, job.left, self.waiting_tokens = room - tokens, job.left - tokens, self.waiting_tokens - tokens
                job.taken += 1
        return batch

    def _translate_batch(self, batch: Batch) -> None:
        start, elsewhere = time.monotonic(), 0.0
        jobs = {job: None for job, _ in batch}
        texts = [job.texts[index] for job, index in batch]
        tokens = sum(job.tokens[index] for job, index in batch)

        def stop() -> bool:
            """Let a quick batch in between; whether nobody waits for this one."""
            nonlocal elsewhere
            before = time.monotonic()
            if tokens > self._quick_tokens and elsewhere <= (1 - _LARGE_SHARE) * (before - start):
                with self._changed:
                    between = self._take(self._quick_batch)
                if between:
                    self._translate_batch(between)
                elsewhere += time.monotonic() - before
            return all(job.future.cancelled() for job in jobs)

        results: Sequence[Any]
        try:
            results = self._translate(batch[0][0].key, texts, stop)
        except Exception as error:  # noqa: BLE001  the thread outlives any fault; those who wait learn of it
            results = [error] * len(batch)
        seconds = time.monotonic() - start - elsewhere
        if all(isinstance(result, Exception) for result in results):  # at once, so that its speed says nothing
            self.failed_in_a_row += not all(job.future.cancelled() for job in jobs)
        else:
            self.failed_in_a_row = 0
            newest, before = len(self._threads) * tokens / max(seconds, 1e-9), self._tokens_per_second
            self._tokens_per_second = newest if not before else before + _NEWEST_SHARE * (newest - before)
            waits = [start - job.arrived for job, index in batch if index == 0]
            self._report(BatchReport(len(batch), tokens, seconds, waits))
        for (job, index), result in itertools.zip_longest(batch, results):
            job.results[index] = result
        with self._changed:  # of a request, several threads may translate parts
            for job, _ in batch:
                job.missing -= 1
            done = [job for job in jobs if not job.missing]
        for job in done:
            with contextlib.suppress(InvalidStateError):  # cancelled
                job.future.set_result(job.results)
