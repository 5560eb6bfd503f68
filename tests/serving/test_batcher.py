"""The queue: what is translated together, in which order, and what leaves it."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from served import TestClient  # noqa: F401  skips without the extra

from mt.serving.batcher import Batcher, BatchReport, OverloadedError


class Model:
    """Translates when it is allowed to, and remembers what it was given."""

    def __init__(self) -> None:
        self.batches: list[tuple[Any, list[str]]] = []
        self.reports: list[BatchReport] = []
        self.began, self.free = threading.Semaphore(0), threading.Semaphore(0)
        self.stop: Callable[[], bool] = bool

    def __call__(self, key: Any, texts: list[str], stop: Callable[[], bool]) -> Sequence[Any]:
        self.batches.append((key, texts))
        self.stop = stop
        self.began.release()
        assert self.free.acquire(timeout=20)
        if "bug" in texts:
            raise KeyError("bug")
        return [text.upper() for text in texts]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def batcher(model: Model) -> Iterator[Batcher]:
    """One whose thread is busy with a first text."""
    batcher = Batcher(model, batch_tokens=6, queue_tokens=30, report=model.reports.append)
    batcher.submit("first", ["first"], [1])
    assert model.began.acquire(timeout=20)
    yield batcher
    model.free.release(100)
    batcher.close()


def finished(model: Model, *futures: Future[Any]) -> list[Any]:
    model.free.release(100)
    return [future.result(20) for future in futures]


def test_a_batch_holds_what_fits_and_a_longer_text_is_alone(model: Model, batcher: Batcher) -> None:
    found = finished(model, batcher.submit("k", ["a", "b", "long", "c"], [3, 3, 9, 1]))
    assert found == [["A", "B", "LONG", "C"]]
    assert [texts for _, texts in model.batches[1:]] == [["a", "b"], ["long"], ["c"]]
    assert [(report.texts, report.tokens) for report in model.reports] == [(1, 1), (2, 6), (1, 9), (1, 1)]
    assert [len(report.waits) for report in model.reports] == [1, 1, 0, 0]  # a request waits for its first batch


class Stepping:
    """Translates in steps of a second, lines in three, before each of which something may come.

    Of each batch, its first text is noted.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.coming: list[Callable[[], object]] = []
        self.began: list[str] = []
        self.ended: list[str] = []

    def __call__(self, key: Any, texts: list[str], stop: Callable[[], bool]) -> Sequence[Any]:
        del key
        self.began.append(texts[0])
        for _ in range(12 if texts[0].startswith("d") else 3):
            self.now += 1
            if self.coming:
                self.coming.pop(0)()
            assert not stop()
        self.ended.append(texts[0])
        return [text.upper() for text in texts]


@pytest.fixture
def stepping(monkeypatch: pytest.MonkeyPatch) -> Stepping:
    stepping = Stepping()
    monkeypatch.setattr("mt.serving.batcher.time.monotonic", lambda: stepping.now)
    return stepping


@pytest.fixture
def stepped(stepping: Stepping) -> Iterator[Batcher]:
    batcher = Batcher(stepping, batch_tokens=16, queue_tokens=99, report=lambda _: None)
    yield batcher
    batcher.close()


@pytest.mark.parametrize("key", ["k", "other"])
def test_lines_are_let_in_between_the_steps_of_a_document(stepping: Stepping, stepped: Batcher, key: str) -> None:
    """The shortest first, and not between the steps of another line."""
    lines: list[Future[list[Any]]] = []
    for texts in (["one", "two"], ["three"], ["four"]):
        stepping.coming.append(lambda texts=texts: lines.append(stepped.submit(key, texts, [1 for _ in texts])))
    document = stepped.submit("k", [f"d{number}" for number in range(8)], [2] * 8)
    assert document.result(20) == [f"D{number}" for number in range(8)]
    assert [line.result(20) for line in lines] == [["ONE", "TWO"], ["THREE"], ["FOUR"]]
    assert stepping.began == ["d0", "one", "three"]
    assert stepping.ended == ["one", "three", "d0"]


def test_a_document_has_a_quarter_of_the_time_while_lines_keep_coming(stepping: Stepping, stepped: Batcher) -> None:
    """Each of its twelve steps is followed by a line, which takes three."""

    def come() -> None:
        stepping.coming.append(come)
        if len(stepping.began) < 40:
            stepped.submit("k", ["line"], [2])

    stepping.coming.append(come)
    stepped.submit("k", [f"d{number}" for number in range(8)], [2] * 8).result(20)
    assert stepping.ended.index("d0") == 12


def test_who_has_waited_is_quick_before_who_is_shorter(stepping: Stepping) -> None:
    batcher = Batcher(stepping, batch_tokens=80, queue_tokens=99, report=lambda _: None)
    stepping.coming = [
        lambda: [batcher.submit("k", [text], [tokens]) for text, tokens in (("longer", 10), ("shorter", 2))],
        *[lambda: None] * 2,
        lambda: batcher.submit("k", ["new"], [9]),
    ]
    batcher.submit("k", ["first"], [1]).result(20)
    batcher.close()
    assert stepping.began == ["first", "shorter", "longer", "new"]


def test_documents_share_a_large_batch(model: Model, batcher: Batcher) -> None:
    documents = [batcher.submit("k", [f"{name}{number}" for number in range(5)], [1] * 5) for name in "ab"]
    finished(model, *documents)
    assert [texts for _, texts in model.batches[1:]] == [
        ["a0", "a1", "a2", "b0", "b1", "b2"],
        ["a3", "a4", "b3", "b4"],
    ]


class Pair(Model):
    """Two threads translate, and begin their next batches together."""

    def __init__(self) -> None:
        super().__init__()
        self.done = threading.Barrier(3)

    def __call__(self, key: Any, texts: list[str], stop: Callable[[], bool]) -> Sequence[Any]:
        del stop
        self.batches.append((key, texts))
        self.began.release()
        with contextlib.suppress(threading.BrokenBarrierError):
            self.done.wait(timeout=20)
        return [text.upper() for text in texts]

    def begun(self) -> list[list[str]]:
        """What the threads are at, once both are."""
        for _ in range(2):
            assert self.began.acquire(timeout=20)
        return sorted(texts for _, texts in self.batches[-2:])


@pytest.fixture
def pair() -> Pair:
    return Pair()


@pytest.fixture
def shared(pair: Pair) -> Iterator[Batcher]:
    """One whose threads are both busy."""
    batcher = Batcher(pair, batch_tokens=16, queue_tokens=99, report=pair.reports.append, threads=2)
    for key in ("first", "second"):
        batcher.submit(key, [key], [2])
    pair.begun()
    yield batcher
    pair.done.abort()
    batcher.close()


def test_threads_share_a_request(pair: Pair, shared: Batcher) -> None:
    document = shared.submit("k", list("abcdefghijklmnop"), [1] * 16)
    pair.done.wait(timeout=20)
    assert sorted(map(len, pair.begun())) == [4, 8]
    pair.done.abort()
    assert document.result(20) == list("ABCDEFGHIJKLMNOP")


def test_groups_take_turns_and_do_not_mix(model: Model, batcher: Batcher) -> None:
    futures = [batcher.submit(key, [key] * 4, [3] * 4) for key in ("a", "b")]
    assert finished(model, *futures) == [["A"] * 4, ["B"] * 4]
    assert [key for key, _ in model.batches[1:]] == ["a", "b", "a", "b"]
    assert all(texts == [key] * 2 for key, texts in model.batches[1:])


def test_what_is_cancelled_leaves_the_queue_and_stops_its_batch(model: Model, batcher: Batcher) -> None:
    going, staying = batcher.submit("k", ["a", "b"], [2, 2]), batcher.submit("k", ["c"], [2])
    assert batcher.waiting_tokens == 6
    going.cancel()
    assert batcher.waiting_tokens == 2
    assert not model.stop()
    assert finished(model, staying) == [["C"]]
    assert model.batches[1] == ("k", ["c"])
    assert not model.stop()


def test_a_batch_stops_when_nobody_waits_for_it_any_more(model: Model, batcher: Batcher) -> None:
    futures = [batcher.submit("k", [text], [1]) for text in "ab"]
    model.free.release()
    assert model.began.acquire(timeout=20)
    assert model.batches[1] == ("k", ["a", "b"])
    stops = [model.stop()]
    for future in futures:
        future.cancel()
        stops.append(model.stop())
    assert stops == [False, False, True]


def test_a_full_queue_refuses_and_says_when_to_come_again(model: Model, batcher: Batcher) -> None:
    batcher.submit("k", ["a"], [29])
    with pytest.raises(OverloadedError) as refused:
        batcher.submit("k", ["b", "c"], [1, 1])
    assert 1 <= refused.value.retry_seconds <= 60
    batcher.submit("k", ["d"], [1])


def test_who_is_too_much_waits_until_there_is_room(model: Model, batcher: Batcher) -> None:
    batcher.submit("k", ["a"], [29])
    batcher._tokens_per_second = 1.0
    with pytest.raises(OverloadedError) as refused:
        batcher.submit("k", ["b"], [5])
    assert refused.value.retry_seconds == 29 + 5 - 30


def test_batches_that_fail_are_counted_and_say_nothing_of_the_speed(model: Model, batcher: Batcher) -> None:
    finished(model, *[batcher.submit(f"bad {number}", ["bug"], [5]) for number in range(3)])
    assert [report.texts for report in model.reports] == [1]  # of the first
    assert batcher.failed_in_a_row == 3
    finished(model, batcher.submit("k", ["a"], [1]))
    assert batcher.failed_in_a_row == 0


def test_a_fault_is_that_of_its_batch_and_the_thread_goes_on(model: Model, batcher: Batcher) -> None:
    bad, good = batcher.submit("bad", ["bug"], [1]), batcher.submit("good", ["a"], [1])
    found = finished(model, bad, good)
    assert isinstance(found[0][0], KeyError)
    assert found[1] == ["A"]


def test_closing_answers_what_waits_and_takes_nothing_more(model: Model, batcher: Batcher) -> None:
    waiting = [batcher.submit("k", ["a"], [1]) for _ in range(9)]
    model.free.release(100)
    batcher.close()
    assert [future.result(0) for future in waiting] == [["A"]] * 9
    with pytest.raises(OverloadedError):
        batcher.submit("k", ["a"], [1])
    assert batcher.submit("k", [], []).result(0) == []
