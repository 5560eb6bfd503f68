"""Section 5.1: every pair once, within the budget, similar lengths together, the same for the same (seed, epoch)."""

import numpy as np
import pytest
from reliability import Trials

from mt.data.batching import Indices, Lengths, plan_epoch, plan_in_order, split_batch
from mt.errors import UserError


def corpus(count: int, *, seed: int) -> Lengths:
    """Lengths as those of real sentences: most short, few long, the sides alike."""
    random = np.random.default_rng(seed)
    source = np.clip(random.lognormal(3, 0.6, count), 1, 150).astype(np.int32)
    target = np.clip(source * random.lognormal(0, 0.2, count), 1, 150).astype(np.int32)
    return np.stack((source, target))


def tokens(batch: Indices, lengths: Lengths) -> int:
    """What the larger of the two padded tensors holds."""
    return len(batch) * max(int(side[batch].max()) for side in lengths)


def padding_share(plan: list[Indices], lengths: Lengths) -> float:
    padded = sum(len(batch) * int(side[batch].max()) for batch in plan for side in lengths)
    return 1 - sum(int(side.sum()) for side in lengths) / padded


def neighbours(plan: list[Indices]) -> set[tuple[int, int]]:
    return {pair for batch in plan for pair in zip(batch.tolist(), batch[1:].tolist(), strict=False)}


@pytest.mark.reliability(10)
@pytest.mark.parametrize("cases", [1000, pytest.param(10_000, marks=pytest.mark.long)])
def test_no_batch_exceeds_its_budget_and_every_pair_comes_once(cases: int, trials: Trials) -> None:
    """Random lists of lengths, budgets down to the longest pair, padding counted."""
    random = np.random.default_rng(0)
    for case in trials(range(cases)):
        count, most = random.integers(0, 16), random.integers(2, 40)
        lengths = random.integers(1, most, (2, count))
        longest = int(np.maximum(*lengths).max(initial=1))
        budget = longest + int(random.integers(0, 4 * longest))
        plan = plan_epoch(lengths, batch_tokens=budget, seed=case, epoch=0)
        in_order = plan_in_order(lengths, batch_tokens=budget)
        micro_budget = int(random.integers(longest, budget + 1))
        parts = [split_batch(batch, lengths, micro_batch_tokens=micro_budget) for batch in plan]
        for batches in (plan, in_order):
            assert sorted(index for batch in batches for index in batch.tolist()) == list(range(len(lengths[0])))
            assert all(tokens(batch, lengths) <= budget for batch in batches)
        for batch, micro_batches in zip(plan, parts, strict=True):
            assert np.concatenate(micro_batches).tolist() == batch.tolist()
            assert all(tokens(part, lengths) <= micro_budget for part in micro_batches)


def test_the_plan_is_a_function_of_seed_and_epoch_alone() -> None:
    lengths = corpus(2000, seed=1)
    plans = {}
    for seed, epoch in [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1)]:
        plan, again = (
            [batch.tolist() for batch in plan_epoch(lengths, batch_tokens=600, seed=seed, epoch=epoch)]
            for _ in range(2)
        )
        assert plan == again
        plans[seed, epoch] = str(plan)
        np.random.seed(epoch)  # noqa: NPY002  the global generator has no part in it
    assert len(set(plans.values())) == len(plans)


def test_epochs_bring_other_neighbours_and_another_order() -> None:
    lengths = corpus(20_000, seed=2)
    first, second = (plan_epoch(lengths, batch_tokens=1000, seed=0, epoch=epoch) for epoch in (0, 1))
    shared = neighbours(first) & neighbours(second)
    assert len(shared) < 0.02 * len(neighbours(first))
    longest = [int(lengths[0][batch].max()) for batch in first]
    assert abs(np.corrcoef(longest[1:], longest[:-1])[0, 1]) < 0.1, "batches of one length follow each other"


def test_similar_lengths_meet_and_batches_are_full() -> None:
    lengths = corpus(20_000, seed=3)
    plan = plan_epoch(lengths, batch_tokens=2000, seed=0, epoch=0)
    shuffled = np.random.default_rng(0).permutation(20_000)
    assert padding_share(plan, lengths) < 0.15
    assert padding_share([shuffled[i : i + 60] for i in range(0, 20_000, 60)], lengths) > 0.5
    filled = [tokens(batch, lengths) for batch in plan]
    assert np.mean(filled) > 0.9 * 2000
    assert padding_share(plan_in_order(lengths, batch_tokens=2000), lengths) < 0.15


def test_validation_begins_with_the_longest() -> None:
    lengths = corpus(500, seed=4)
    longest = [int(np.maximum(*lengths)[batch].max()) for batch in plan_in_order(lengths, batch_tokens=300)]
    assert longest == sorted(longest, reverse=True)


def test_a_pair_too_long_for_the_budget_is_the_users_to_fix() -> None:
    for lengths in ([5, 11, 3], [4, 4, 4]), ([4, 4, 4], [5, 3, 11]):
        with pytest.raises(UserError, match="batch_tokens=10 cannot hold a pair of 11 tokens: raise it, or lower"):
            plan_epoch(np.array(lengths), batch_tokens=10, seed=0, epoch=0)
        assert plan_epoch(np.array(lengths), batch_tokens=11, seed=0, epoch=0)


def test_no_pairs_give_no_batches() -> None:
    nothing = np.zeros((2, 0), dtype=np.int32)
    assert plan_epoch(nothing, batch_tokens=10, seed=0, epoch=0) == []
    assert plan_in_order(nothing, batch_tokens=10) == []
