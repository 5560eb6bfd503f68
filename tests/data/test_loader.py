"""The stream of steps: the same from wherever it is entered, and the same pairs however a batch is cut."""

import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from pairs import listed_pairs, random_pairs
from reliability import Trials

from mt.data.batch import Batch, Pairs
from mt.data.loader import Prefetch, StepBatches, TrainingOrder, in_thread, validation_batches
from mt.data.tokenizer import BOS, EOS, PAD
from mt.errors import StoppedError, UserError
from mt.fast.workers import can_fork, made_in_process

PAIRS = random_pairs(60, longest=12, vocab_size=40_000, seed=0)
forks = pytest.mark.skipif(not can_fork(), reason="without forks a thread prepares the steps")
Item = tuple[int, int, list[list[list[int]]]]


def order(*, micro_batch_tokens: int = 50, seed: int = 3, pairs: list = PAIRS) -> TrainingOrder:
    corpus = listed_pairs(pairs)
    return TrainingOrder(
        corpus_of_epoch=lambda _: corpus, batch_tokens=50, micro_batch_tokens=micro_batch_tokens, seed=seed
    )


def by_process(pairs: list = PAIRS) -> TrainingOrder:
    return replace(order(pairs=pairs), prefetch=made_in_process, drawn=False)


def taken(stream: Iterator[StepBatches], count: int) -> list[Item]:
    return [
        (epoch, index, [[batch.source.tolist(), batch.target_output.tolist()] for batch in batches])
        for epoch, index, batches, *_ in itertools.islice(stream, count)
    ]


def pairs_of(batches: list[Batch]) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The pairs of a step, read back from its tensors."""
    found: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for batch in batches:
        for source, given, wanted in zip(batch.source, batch.target_input, batch.target_output, strict=True):
            sides = [side[side != PAD].tolist() for side in (source, wanted)]
            assert all(side[-1] == EOS for side in sides)
            assert given[given != PAD].tolist() == [BOS, *sides[1][:-1]]
            found[tuple(sides[0][:-1]), tuple(sides[1][:-1])] += 1
    return found


@pytest.mark.reliability(7)
def test_the_stream_is_the_same_from_any_batch(trials: Trials) -> None:
    whole = taken(order().steps(epoch=0, start=0), 60)
    per_epoch = Counter(epoch for epoch, _, _ in whole)
    assert len(per_epoch) >= 3
    for done in trials(range(2 * per_epoch[0] + 1)):
        epoch, start = (whole[done - 1][0], whole[done - 1][1]) if done else (0, 0)
        again = taken(order().steps(epoch=epoch, start=start), 12)
        assert again == whole[done : done + 12], f"after step {done}"


@forks
def test_a_process_of_its_own_prepares_the_same_steps() -> None:
    state = torch.get_rng_state()
    with closing(by_process().steps(epoch=0, start=1)) as steps:
        prepared = taken(steps, 40)
    assert prepared == taken(order().steps(epoch=0, start=1), 40)
    assert {epoch for epoch, _, _ in prepared} >= {0, 1}
    assert torch.equal(torch.get_rng_state(), state)


@forks
def test_the_process_ends_with_the_stream_and_not_by_a_signal_to_the_whole_job() -> None:
    stream = by_process().steps(epoch=0, start=0)
    next(stream)
    [process] = multiprocessing.active_children()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        os.kill(process.pid or 0, number)
    taken(stream, 200)  # more than fit into the pipe
    assert process.is_alive()
    stream.close()
    assert not multiprocessing.active_children()


@forks
@pytest.mark.parametrize("batch_tokens", [50, 20_000])  # between two messages, or in one that fills the pipe
def test_after_a_process_that_is_killed_a_thread_goes_on(batch_tokens: int, capfd: pytest.CaptureFixture[str]) -> None:
    pairs = random_pairs(2000, longest=40, vocab_size=40_000, seed=0)
    whole = replace(order(pairs=pairs), batch_tokens=batch_tokens, micro_batch_tokens=20_000, drawn=False)
    stream = replace(whole, prefetch=made_in_process).steps(epoch=0, start=0)
    begun = taken(stream, 3)
    [process] = multiprocessing.active_children()
    time.sleep(0.2)
    process.kill()
    more = 20 if batch_tokens > 50 else 200  # than fit into the pipe
    assert begun + taken(stream, more) == taken(whole.steps(epoch=0, start=0), 3 + more)
    assert "warning: a process was killed (SIGKILL), perhaps because memory ran out: " in capfd.readouterr().err


@forks
def test_without_another_process_a_thread_prepares_the_steps(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def none_left() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", none_left)
    stream = by_process().steps(epoch=0, start=0)
    assert taken(stream, 30) == taken(order().steps(epoch=0, start=0), 30)
    assert "warning: no process can be made (Resource temporarily unavailable)" in capfd.readouterr().err


@forks
def test_a_signal_while_the_process_is_made_waits_until_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    here, forked = os.getpid(), list[int]()

    def forked_and_signalled(fork: Callable[[], int] = os.fork) -> int:
        forked.append(fork())
        os.kill(os.getpid(), signal.SIGTERM)
        return forked[0]

    def stopped(*_: object) -> NoReturn:
        if os.getpid() != here:
            os._exit(3)  # it would go on as a second one of this process
        raise StoppedError("stopped", signal_number=signal.SIGTERM)

    monkeypatch.setattr(os, "fork", forked_and_signalled)
    handler = signal.signal(signal.SIGTERM, stopped)
    try:
        with pytest.raises(StoppedError):
            next(by_process().steps(epoch=0, start=0))
    finally:
        signal.signal(signal.SIGTERM, handler)
    with pytest.raises(ChildProcessError):  # it has ended and nothing of it is left
        os.waitpid(forked[0], os.WNOHANG)


@forks
def test_many_micro_batches_and_a_step_half_sent_leave_nothing_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    pairs = random_pairs(2000, longest=40, vocab_size=40_000, seed=0)
    many = replace(by_process(pairs), batch_tokens=20_000, micro_batch_tokens=50)
    with closing(many.steps(epoch=0, start=0)) as steps:
        assert len(next(steps).micro_batches) > 150
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert not multiprocessing.active_children()


def test_an_epoch_holds_every_pair_once() -> None:
    seen: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    indices = []
    for epoch, index, batches, *_ in order().steps(epoch=5, start=0):
        if epoch > 5:
            break
        seen += pairs_of(batches)
        indices.append(index)
    assert seen == Counter((tuple(source), tuple(target)) for source, target in PAIRS)
    assert indices == list(range(1, len(indices) + 1))


@pytest.mark.parametrize("micro_batch_tokens", [13, 20, 49])
def test_cutting_a_step_keeps_its_pairs(micro_batch_tokens: int) -> None:
    whole = order().steps(epoch=0, start=0)
    cut = order(micro_batch_tokens=micro_batch_tokens).steps(epoch=0, start=0)
    most = 0
    for (_, index, together, *_), (_, same_index, apart, *_) in itertools.islice(zip(whole, cut, strict=True), 30):
        assert len(together) == 1
        assert index == same_index
        assert pairs_of(apart) == pairs_of(together)
        for batch in apart:
            assert max(batch.source.numel(), batch.target_input.numel()) <= micro_batch_tokens
        most = max(most, len(apart))
    assert most > 1


@pytest.mark.parametrize("pack_length", [None, 10])
def test_threads_share_a_step_about_evenly(pack_length: int | None) -> None:
    corpus = listed_pairs(PAIRS)
    options = {"batch_tokens": 100, "micro_batch_tokens": 100, "seed": 3, "pack_length": pack_length}
    alone = TrainingOrder(corpus_of_epoch=lambda _: corpus, **options).steps(epoch=0, start=0)
    cut = TrainingOrder(corpus_of_epoch=lambda _: corpus, **options, threads=2).steps(epoch=0, start=0)
    shares = []
    for whole, parts in itertools.islice(zip(alone, cut, strict=True), 30):
        assert len(parts.micro_batches) <= 2
        assert sum(batch.target_tokens for batch in parts.micro_batches) == whole.target_tokens
        if pack_length is None:
            assert pairs_of(parts.micro_batches) == pairs_of(whole.micro_batches)
        if len(parts.micro_batches) == 2:
            shares.append(max(batch.target_tokens for batch in parts.micro_batches) / whole.target_tokens)
    assert len(shares) > 15
    assert sum(shares) / len(shares) < 0.65


@pytest.mark.reliability(7)
@pytest.mark.parametrize("world_size", [2, 3, 4, 7])
@pytest.mark.parametrize("micro_batch_tokens", [13, 50])
def test_ranks_share_the_steps_of_one_process(world_size: int, micro_batch_tokens: int) -> None:
    """The same pairs in every step, as many micro-batches for every rank, and no more than they need."""
    alone = order(micro_batch_tokens=micro_batch_tokens).steps(epoch=0, start=0)
    corpus = listed_pairs(PAIRS)
    together = [
        TrainingOrder(
            corpus_of_epoch=lambda _: corpus,
            batch_tokens=50,
            micro_batch_tokens=micro_batch_tokens,
            seed=3,
            rank=rank,
            world_size=world_size,
        ).steps(epoch=0, start=0)
        for rank in range(world_size)
    ]
    idle = 0
    for whole, *shares in itertools.islice(zip(alone, *together, strict=True), 40):
        micro_batches = [batch for share in shares for batch in share.micro_batches]
        assert pairs_of([batch for batch in micro_batches if batch.target_tokens]) == pairs_of(whole.micro_batches)
        assert {share[:2] + share[3:] for share in shares} == {whole[:2] + whole[3:]}
        assert {len(share.micro_batches) for share in shares} == {-(-len(whole.micro_batches) // world_size)}
        assert sum(batch.target_tokens for batch in micro_batches) == whole.target_tokens
        assert all(
            max(batch.source.numel(), batch.target_input.numel()) <= micro_batch_tokens for batch in micro_batches
        )
        idle += sum(not batch.target_tokens for batch in micro_batches)
        assert not any(len(batch.label_indices) for batch in micro_batches if not batch.target_tokens)
    assert idle > 0 or world_size < 4


def test_ranks_have_about_equal_work() -> None:
    """The longest share of a step is little more than the mean."""
    corpus = listed_pairs(random_pairs(4000, longest=40, vocab_size=100, seed=1))
    for world_size in (2, 4, 8):
        streams = [
            TrainingOrder(
                corpus_of_epoch=lambda _: corpus,
                batch_tokens=4096,
                micro_batch_tokens=4096,
                seed=3,
                rank=rank,
                world_size=world_size,
            ).steps(epoch=0, start=0)
            for rank in range(world_size)
        ]
        for shares in itertools.islice(zip(*streams, strict=True), 5):
            sizes = [max(batch.source.numel(), batch.target_input.numel()) for [batch] in (s[2] for s in shares)]
            assert max(sizes) < 1.15 * sum(sizes) / world_size


def test_seeds_give_different_streams() -> None:
    streams = [taken(order(seed=seed).steps(epoch=0, start=0), 5) for seed in (3, 3, 4)]
    assert streams[0] == streams[1] != streams[2]


def test_each_epoch_reads_its_own_corpus() -> None:
    """As under BPE-dropout, where the subwords of every epoch differ."""

    def corpus_of_epoch(epoch: int) -> Pairs:
        return listed_pairs([([10 + epoch] * (1 + i % 5), [20 + epoch]) for i in range(30)])

    stream = TrainingOrder(corpus_of_epoch=corpus_of_epoch, batch_tokens=30, micro_batch_tokens=30, seed=0)
    for epoch, _, batches, *_ in itertools.islice(stream.steps(epoch=2, start=1), 20):
        for batch in batches:
            assert set(batch.source.flatten().tolist()) <= {PAD, EOS, 10 + epoch}
            assert set(batch.target_output.flatten().tolist()) <= {PAD, EOS, 20 + epoch}


@pytest.mark.parametrize("prefetch", [in_thread, pytest.param(made_in_process, marks=forks)])
def test_an_error_while_reading_reaches_the_trainer(prefetch: Prefetch) -> None:

    def gone(index: int) -> list[int]:
        raise OSError(f"pair {index}: the disk is gone")

    corpus = replace(listed_pairs(PAIRS), source=gone)
    whole = TrainingOrder(corpus_of_epoch=lambda _: corpus, batch_tokens=50, micro_batch_tokens=50, seed=0)
    with pytest.raises(OSError, match=r"^pair \d+: the disk is gone$"):
        next(replace(whole, prefetch=prefetch, drawn=False).steps(epoch=0, start=0))


def test_leaving_the_stream_ends_its_thread() -> None:
    stream = order().steps(epoch=0, start=0)
    next(stream)
    assert any(thread.name.startswith("loader") for thread in threading.enumerate())
    stream.close()
    assert not any(thread.name.startswith("loader") for thread in threading.enumerate())


def test_a_corpus_without_pairs_is_refused() -> None:
    with pytest.raises(UserError, match=r"no training pairs are left: look at the corpora and at data\.filters"):
        next(order(pairs=[]).steps(epoch=0, start=0))


def test_validation_reads_every_pair_once_within_the_budget() -> None:
    batches = list(validation_batches(listed_pairs(PAIRS), batch_tokens=40))
    assert pairs_of(batches) == Counter((tuple(source), tuple(target)) for source, target in PAIRS)
    assert all(max(batch.source.numel(), batch.target_input.numel()) <= 40 for batch in batches)
    assert torch.equal(batches[0].source, next(validation_batches(listed_pairs(PAIRS), batch_tokens=40)).source)
