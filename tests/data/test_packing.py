"""Every pair in exactly one packed row with room for both sides, batches of one shape, the same for the same epoch."""

import functools
import time
from collections import Counter

import numpy as np
import pytest
from pairs import listed_pairs

from mt.data.batching import Lengths, pack, plan_packed_rows, split_evenly
from mt.data.loader import TrainingOrder
from mt.data.tokenizer import BOS, EOS, PAD
from mt.errors import UserError
from mt.training.trial import largest_batches


def corpus(count: int, *, seed: int, longest: int = 120) -> Lengths:
    """Lengths as those of real sentences: most short, few long, the sides alike."""
    random = np.random.default_rng(seed)
    source = np.clip(random.lognormal(3, 0.6, count), 1, longest).astype(np.int32)
    target = np.clip(source * random.lognormal(0, 0.2, count), 1, longest).astype(np.int32)
    return np.stack((source, target))


def test_rows_hold_every_pair_once_and_no_more_than_fits() -> None:
    random = np.random.default_rng(0)
    for case in range(300):
        count, pack_length = random.integers(0, 40), int(random.integers(5, 60))
        lengths = random.integers(1, pack_length + 1, (2, count))
        rows = pack(random.permutation(count), lengths, pack_length=pack_length)
        assert sorted(int(i) for one in rows for i in one) == list(range(count)), case
        assert all(int(side[one].sum()) <= pack_length for one in rows for side in lengths)


def test_each_pair_is_in_the_first_row_that_has_room() -> None:
    lengths = corpus(400, seed=4)
    rows: list[list[int]] = []
    for pair in np.argsort(-lengths.max(axis=0), kind="stable").tolist():
        fits = (row for row in rows if (lengths[:, [*row, pair]].sum(axis=1) <= 128).all())
        row = next(fits, None)
        if row is None:
            rows.append(row := [])
        row.append(pair)
    assert [one.tolist() for one in pack(np.arange(400), lengths, pack_length=128)] == rows


def test_planning_takes_a_few_milliseconds_a_step() -> None:
    """The loader's thread shares Python's lock with the one that drives the GPU."""
    lengths = corpus(6000, seed=1)
    steps, seconds = lengths.sum(axis=1).max() / 25_000, []
    for _ in range(3):
        start = time.thread_time()
        pack(np.arange(6000), lengths, pack_length=128)
        seconds.append(time.thread_time() - start)
    assert min(seconds) / steps < 0.012  # it is 4 ms, and was 25 with operations on pairs of numbers


def test_rows_are_full() -> None:
    lengths = corpus(6000, seed=1)
    rows = pack(np.arange(6000), lengths, pack_length=128)
    assert all(int(side.sum()) / (128 * len(rows)) > 0.93 for side in lengths)


def test_batches_of_a_class_have_one_shape_and_hold_every_pair_once() -> None:
    lengths = corpus(5000, seed=2, longest=300)
    plan = list(plan_packed_rows(lengths, batch_tokens=1000, pack_length=128, seed=0, epoch=0))
    assert Counter(int(i) for _, rows in plan for one in rows for i in one) == Counter(range(5000))
    assert {tokens for tokens, _ in plan} == {128, 256}
    for pack_length in (128, 256):
        sizes = [len(rows) for tokens, rows in plan if tokens == pack_length]
        assert set(sizes[:-1]) == {1000 // pack_length}
        assert sizes[-1] <= sizes[0]


def test_the_plan_is_a_function_of_seed_and_epoch_alone() -> None:
    lengths = corpus(800, seed=3)
    plans = {}
    for seed, epoch in [(0, 0), (0, 1), (1, 0)]:
        plan, again = (
            [
                [one.tolist() for one in rows]
                for _, rows in plan_packed_rows(lengths, batch_tokens=512, pack_length=128, seed=seed, epoch=epoch)
            ]
            for _ in range(2)
        )
        assert plan == again
        plans[seed, epoch] = str(plan)
    assert len(set(plans.values())) == 3


def test_a_pair_too_long_for_a_batch_is_the_users_to_fix() -> None:
    lengths = np.array([[5, 140], [4, 4]])
    plan = functools.partial(plan_packed_rows, lengths, pack_length=128, seed=0, epoch=0)
    assert [tokens for tokens, _ in plan(batch_tokens=140)] == [128, 140]
    with pytest.raises(UserError, match="batch_tokens=139 cannot hold a pair of 140 tokens: raise it, or lower data"):
        next(plan(batch_tokens=139))


@pytest.mark.parametrize(("whole", "most", "size"), [(195, 97, 65), (195, 195, 195), (195, 1, 1), (4, 3, 2)])
def test_parts_are_few_and_even(whole: int, most: int, size: int) -> None:
    assert split_evenly(whole, most=most) == size


@pytest.mark.parametrize("one_shape", [False, True])
def test_micro_batches_have_one_shape_and_bring_every_pair(one_shape: bool) -> None:
    source, target = corpus(400, seed=4)
    pairs = [([7] * int(s - 1), [8] * int(t - 1)) for s, t in zip(source, target, strict=True)]
    order = TrainingOrder(
        corpus_of_epoch=lambda _: listed_pairs(pairs),
        batch_tokens=1024,
        micro_batch_tokens=400,
        seed=0,
        pack_length=128,
        one_shape=one_shape,
    )
    shapes, lengths = set(), []
    for epoch, _, micro_batches, *_ in order.steps(epoch=0, start=0):
        if epoch:
            break
        for batch in micro_batches:
            shapes.add((*batch.source.shape, *batch.target_input.shape, *batch.target_output.shape))
            assert batch.source_segments is not None
            assert ((batch.source_segments < 0) == (batch.source == PAD)).all()
            assert batch.target_output.flatten()[batch.label_indices].ne(PAD).all()
            assert len(batch.label_indices) == batch.target_tokens
            lengths.append((int((batch.source == EOS).sum()), int((batch.target_input == BOS).sum())))
    last = shapes - {(3, 128) * 3}
    assert len(last) == (0 if one_shape else 1)
    assert all(shape[0] < 3 and shape[1] == 128 for shape in last)
    assert [sum(side) for side in zip(*lengths, strict=True)] == [400, 400]


@pytest.mark.reliability(10)
@pytest.mark.parametrize("pack_length", [None, 128])
def test_no_batch_is_larger_than_the_largest(pack_length: int | None) -> None:
    """What the trial before training runs needs at least as many tokens, and rows as long, as any batch."""
    source, target = corpus(700, seed=5, longest=200)
    pairs = [([7] * int(s - 1), [8] * int(t - 1)) for s, t in zip(source, target, strict=True)]
    order = TrainingOrder(
        corpus_of_epoch=lambda _: listed_pairs(pairs),
        batch_tokens=1600,
        micro_batch_tokens=800,
        seed=0,
        pack_length=pack_length,
        one_shape=True,
    )
    trial = largest_batches(order, epoch=0, micro_batch_tokens=800)
    for epoch, _, micro_batches, *_ in order.steps(epoch=0, start=0):
        if epoch:
            break
        for batch in micro_batches:
            assert batch.source.shape[1] <= max(one.source.shape[1] for one in trial)
            assert max(batch.source.numel(), batch.target_input.numel()) <= max(one.source.numel() for one in trial)
            assert any(batch.source.shape == one.source.shape for one in trial) or not pack_length
