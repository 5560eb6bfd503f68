"""RELIABILITY 7, 11: several processes train as one does; what ends one ends all."""

import contextlib
import itertools
import os
from pathlib import Path

import pytest
import torch
from observed import Observed
from pairs import listed_pairs, random_pairs
from tiny_models import BOS, EOS, PAD, VOCAB_SIZE, CutAll, tiny_model
from torch import Tensor

import small_runs
from mt.data.loader import StepBatches, TrainingOrder
from mt.training.consistency import SimCut
from mt.training.processes import SINGLE_PROCESS, ProcessGroup, Replica
from mt.training.step import StepResult, TrainingLoss, train_step

PAIRS = listed_pairs(random_pairs(31, longest=9, vocab_size=VOCAB_SIZE, seed=0))
# Budgets of a step and of a micro-batch: one for each rank, several for each, and fewer pairs than ranks.
CASES = {"one": (120, 120), "accumulated": (120, 21), "ragged": (11, 11), "packed": (300, 128)}
CASES["two passes"] = (120, 21)
STEPS = 3
TOLERANCES = {torch.float32: 1e-6, torch.float64: 1e-12}


def gradients(ranks: ProcessGroup, case: str, dtype: torch.dtype) -> tuple[list[Tensor], list[list[float]]]:
    """The whole gradients of a few steps, and the figures that the steps report."""
    batch_tokens, micro_batch_tokens = CASES[case]
    order = TrainingOrder(
        corpus_of_epoch=lambda _: PAIRS,
        batch_tokens=batch_tokens,
        micro_batch_tokens=micro_batch_tokens,
        seed=3,
        pack_length=128 if case == "packed" else None,
        rank=ranks.rank,
        world_size=ranks.world_size,
    )
    model = tiny_model(dtype=dtype)
    consistency = SimCut(weight=3.0, dropout=CutAll(), spared=[PAD, BOS, EOS]) if case == "two passes" else None
    loss = TrainingLoss(model, label_smoothing=0.1, consistency=consistency)
    whole = Observed(model.parameters(), lr=0.0)
    replica = ranks.wrap(loss, whole)
    if getattr(ranks, "_fsdp", False) and not ranks.is_rank_zero:
        assert not any(parameter.numel() for parameter in whole.param_groups[0]["params"]), "a whole model is kept"
    found, reported = [], []
    with contextlib.closing(order.steps(epoch=0, start=0)) as stream:
        for batches in itertools.islice(stream, STEPS):
            result = step(replica, batches, ranks)
            assert isinstance(replica.optimizer, Observed)
            found.append(torch.cat([ranks.whole(gradient).flatten() for gradient in replica.optimizer.gradients]))
            tokens = [result.source_tokens, result.target_tokens]
            reported.append([result.loss, result.nll, result.consistency, result.gradient_norm, *tokens])
    return found, reported


def step(replica: Replica, batches: StepBatches, ranks: ProcessGroup) -> StepResult:
    return train_step(
        replica,
        batches.micro_batches,
        learning_rate=0.1,
        autocast=contextlib.nullcontext,
        ranks=ranks,
        tokens=(batches.source_tokens, batches.target_tokens),
    )


def compute_gradients(folder: Path) -> None:
    """On one of several ranks: every case, replicated and sharded."""
    from mt.training.distributed import Distributed  # noqa: PLC0415  in the process that needs it

    torch.set_num_threads(1)
    found = {}
    for fsdp in (False, True):
        with Distributed(environment=os.environ, fsdp=fsdp) as ranks:
            started = ranks._last_progress
            for case, dtype in itertools.product(CASES, TOLERANCES):
                found[fsdp, case, dtype] = gradients(ranks, case, dtype)
            assert ranks._last_progress > started, "accumulating micro-batches is no progress"
            stopped = poisoned_step(ranks)
            assert not stopped, "a gradient that one rank cannot use was used"
            if not fsdp:
                encoder = tiny_model(family="encoder", num_classes=2, eos=EOS)
                ranks.wrap(TrainingLoss(encoder, label_smoothing=0.1), Observed(encoder.parameters(), lr=0.0))
    torch.save(found, folder / os.environ["RANK"])


def poisoned_step(ranks: ProcessGroup) -> bool:
    """Whether a step is made although one rank's loss is not finite."""
    model = tiny_model(dtype=torch.float32)
    loss = TrainingLoss(model, label_smoothing=0.1)
    if not ranks.is_rank_zero:
        loss.register_forward_hook(lambda *arguments: (arguments[-1][0] * float("nan"), arguments[-1][1]))
    replica = ranks.wrap(loss, torch.optim.Adam(model.parameters(), lr=0.0))
    order = TrainingOrder(
        corpus_of_epoch=lambda _: PAIRS, batch_tokens=90, micro_batch_tokens=90, seed=3,
        rank=ranks.rank, world_size=ranks.world_size,
    )  # fmt: skip
    with contextlib.closing(order.steps(epoch=0, start=0)) as stream:
        return step(replica, next(stream), ranks).finite


@pytest.mark.reliability(11)
@pytest.mark.parametrize("world_size", [2, pytest.param(4, marks=pytest.mark.long)])
def test_ranks_give_the_gradient_of_one_process(tmp_path: Path, world_size: int) -> None:
    environments = small_runs.torchrun_environments(world_size)
    processes = [small_runs.start(compute_gradients, tmp_path, environment=one) for one in environments]
    expected = {(case, dtype): gradients(SINGLE_PROCESS, case, dtype) for case in CASES for dtype in TOLERANCES}
    assert small_runs.ended(processes) == [0] * world_size
    for rank in range(world_size):
        for (fsdp, case, dtype), (found, reported) in torch.load(tmp_path / str(rank)).items():
            expected_gradients, expected_reports = expected[case, dtype]
            for ours, theirs in zip(found, expected_gradients, strict=True):
                difference = float((ours - theirs).norm() / theirs.norm())
                assert difference <= TOLERANCES[dtype], (fsdp, case, dtype, rank, difference)
            for ours, theirs in zip(reported, expected_reports, strict=True):
                assert ours == pytest.approx(theirs, rel=1e-5), (fsdp, case, dtype, rank)
