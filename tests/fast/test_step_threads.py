"""Micro-batches side by side: the gradient of one after another, and dropout that no timing changes."""

import contextlib
import gc
import time
from collections.abc import Iterator
from threading import Barrier, Thread

import numpy as np
import pytest
import torch
from observed import Observed
from pairs import listed_pairs, random_pairs
from tiny_models import BOS, EOS, PAD, VOCAB_SIZE, tiny_model
from torch import Tensor

from mt.errors import UserError
from mt.fast.dropout import Dropout
from mt.fast.step_threads import StepThreads, step_threads
from mt.training.consistency import SimCut
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import TrainingLoss, train_step

PAIRS = listed_pairs(random_pairs(11, longest=9, vocab_size=VOCAB_SIZE, seed=0))
CUTS = {"one": [range(11)], "two": [range(4), range(4, 11)], "five": [range(i, i + 2) for i in range(0, 10, 2)]}


@pytest.fixture(params=[2, pytest.param(3, marks=pytest.mark.long)])
def threads(request: pytest.FixtureRequest) -> Iterator[StepThreads]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    try:
        with contextlib.closing(StepThreads()) as made:
            yield made
            assert torch.get_num_threads() == request.param
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("threads", "parts"), [(3, 3), (8, 8), (9, 8), (12, 6), (16, 8), (17, 8), (20, 5), (24, 8)])
def test_all_cores_take_part(threads: int, parts: int) -> None:
    """Each of the parts has as many of torch's threads as the others."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with contextlib.closing(StepThreads()) as made:
            assert made.count == parts
            shares = made(lambda _: torch.get_num_threads(), range(parts))
    finally:
        torch.set_num_threads(before)
    assert set(shares) == {threads // parts}


def gradient(
    cut: list[range], side_by_side: StepThreads | None, *, dropout: float = 0.0, cutoff: float | None = None
) -> tuple[Tensor, float]:
    torch.manual_seed(7)
    model = tiny_model(dropout=dropout, make_dropout=Dropout).train()
    optimizer = Observed(model.parameters())
    simcut = None if cutoff is None else SimCut(weight=3.0, dropout=Dropout(cutoff), spared=[PAD, BOS, EOS])
    replica = SINGLE_PROCESS.wrap(TrainingLoss(model, label_smoothing=0.1, consistency=simcut), optimizer)
    batches = [PAIRS.batch(np.array(part)) for part in cut]
    cast = contextlib.nullcontext
    result = train_step(replica, batches, learning_rate=0.1, autocast=cast, side_by_side=side_by_side)
    assert all(parameter.grad is None for parameter in model.parameters())
    return torch.cat([one.flatten() for one in optimizer.gradients]), result.loss


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_the_gradient_is_that_of_one_after_another(cut: list[range], threads: StepThreads) -> None:
    expected, loss = gradient(cut, None)
    found, same_loss = gradient(cut, threads)
    assert float((found - expected).norm() / expected.norm()) <= 1e-12
    assert same_loss == pytest.approx(loss, rel=1e-6)


def test_dropout_is_the_same_every_time_and_another_in_each_micro_batch(threads: StepThreads) -> None:
    expected, _ = gradient(CUTS["five"], threads, dropout=0.4)
    assert all(torch.equal(gradient(CUTS["five"], threads, dropout=0.4)[0], expected) for _ in range(20))
    expected, _ = gradient(CUTS["five"], threads, cutoff=0.4)
    assert all(torch.equal(gradient(CUTS["five"], threads, cutoff=0.4)[0], expected) for _ in range(20))
    masks = threads(lambda _: Dropout(0.5)(torch.ones(64)), range(6))
    assert len({tuple(mask.tolist()) for mask in masks}) == 6


def test_results_come_in_order_whichever_thread_is_faster(threads: StepThreads) -> None:
    def drawn(milliseconds: int) -> Tensor:
        time.sleep(milliseconds / 1000)
        return Dropout(0.5)(torch.full((64,), float(milliseconds + 1)))

    torch.manual_seed(3)
    slow_first = threads(drawn, [20, 0, 0])
    torch.manual_seed(3)
    slow_last = threads(drawn, [0, 0, 20])
    assert [round(float(mask.max())) for mask in slow_first] == [42, 2, 2]
    assert all(torch.equal(one > 0, other > 0) for one, other in zip(slow_first, slow_last, strict=True))


def test_an_error_is_raised_here(threads: StepThreads) -> None:
    def refuse(number: int) -> int:
        if number == 1:
            raise UserError("the second is refused")
        return number

    with pytest.raises(UserError, match="the second is refused"):
        threads(refuse, range(3))
    assert threads(lambda number: number, range(3)) == [0, 1, 2]


def test_every_thread_has_its_share_of_torchs_threads_from_the_first_step_on() -> None:
    """Otherwise a gradient of the norms is added up by one thread or by two, as chance will have it."""
    before = torch.get_num_threads()
    try:
        for _ in range(20):
            torch.set_num_threads(4)
            with contextlib.closing(StepThreads()) as threads:
                torch.set_num_threads(2)
                together = Barrier(4)
                found = threads(lambda _, wait=together.wait: (wait(), torch.get_num_threads())[1], range(4))
                assert found == [1] * 4
    finally:
        torch.set_num_threads(before)


def test_where_no_further_thread_starts_those_that_did_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the others they would keep the process from its end."""
    started, original = list[Thread](), Thread.start

    def start(thread: Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        original(thread)

    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="new thread"):
        patched.setattr(Thread, "start", start)
        StepThreads()
    gc.collect()
    started[0].join(timeout=10)
    assert not started[0].is_alive()


def test_one_core_needs_no_threads() -> None:
    assert torch.get_num_threads() == 1  # as in all tests
    assert step_threads(torch.device("cpu")) is None
