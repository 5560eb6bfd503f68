"""What only a GPU can show: its kernels agree with the formulas, and a step never waits for it in the middle."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from observed import Observed
from pairs import listed_pairs, random_pairs
from tiny_models import BOS, VOCAB_SIZE, sentences, tiny_model
from torch import Tensor

from mt.data.batch import Batch, make_batch
from mt.data.loader import TrainingOrder
from mt.fast.chunked_loss import chunked_loss
from mt.fast.dropout import Dropout
from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.fused_attention import fused_attention
from mt.fast.workers import made_in_process
from mt.model.transformer import Transformer
from mt.runtime import autocast
from mt.training.processes import SINGLE_PROCESS, Replica
from mt.training.step import TrainingLoss, train_step

pytestmark = pytest.mark.gpu
CUDA = torch.device("cuda")
PAIRS = random_pairs(200, longest=30, vocab_size=VOCAB_SIZE, seed=0)
Autocast = Callable[[], AbstractContextManager[None]]


def packed_steps() -> Iterator[list[Batch]]:
    order = TrainingOrder(
        corpus_of_epoch=lambda _: listed_pairs(PAIRS),
        batch_tokens=1024,
        micro_batch_tokens=512,
        seed=0,
        pack_length=128,
        one_shape=True,
        pin=True,
        prefetch=made_in_process,
        drawn=False,
    )
    stream = order.steps(epoch=0, start=0)
    for _ in range(4):
        yield next(stream)[2]
    stream.close()


def model(**changes: object) -> Transformer:
    fast = {"attention": fused_attention, "make_dropout": Dropout}
    return tiny_model(dtype=torch.float32, num_layers=2, d_model=64, d_ff=128, **fast, **changes).to(CUDA).train()


def replica_of(learner: Transformer, optimizer: torch.optim.Optimizer) -> Replica:
    return SINGLE_PROCESS.wrap(TrainingLoss(learner, label_smoothing=0.1, loss=chunked_loss), optimizer)


def gradient(of: Transformer, batches: list[Batch], cast: Autocast = contextlib.nullcontext) -> Tensor:
    optimizer = Observed(of.parameters())
    train_step(replica_of(of, optimizer), batches, learning_rate=0.0, autocast=cast)
    return torch.cat([one.flatten() for one in optimizer.gradients])


def test_packed_and_padded_and_the_cpu_agree() -> None:
    [batches, *_] = packed_steps()
    tokens = [batch.source[batch.source > 0] for batch in batches]
    assert all(part.is_pinned() for part in (batches[0].source, batches[0].target_input, batches[0].label_indices))
    assert sum(map(len, tokens)) == sum(batch.source_tokens for batch in batches)
    on_gpu = gradient(model(), batches).cpu()
    on_cpu = gradient(model().cpu(), batches)
    assert float((on_gpu - on_cpu).norm() / on_cpu.norm()) < 1e-5
    padded = make_batch(*zip(*PAIRS, strict=True))
    on_gpu, on_cpu = gradient(model(), [padded]).cpu(), gradient(model().cpu(), [padded])
    assert float((on_gpu - on_cpu).norm() / on_cpu.norm()) < 1e-5


def test_bf16_is_near_fp32() -> None:
    [batches, *_] = packed_steps()
    exact = gradient(model(), batches)
    rounded = gradient(model(), batches, functools.partial(autocast, CUDA, torch.bfloat16))
    assert float((rounded - exact).norm() / exact.norm()) < 0.05


def test_decoding_in_bf16_is_near_the_model() -> None:
    trained, source = model().eval(), sentences([9, 4], seed=0).to(CUDA)
    tokens = torch.full((4,), BOS, device=CUDA)
    decoder = BatchedDecoder(PreparedModel(trained, precision=torch.bfloat16), source, rows_per_sentence=2)
    with torch.inference_mode():
        exact, rounded = trained(source, tokens[::2, None])[:, 0], decoder(tokens)[::2].float()
    assert float((rounded - exact).norm() / exact.norm()) < 0.05


def test_a_step_does_not_wait_for_the_device() -> None:
    learner = model(dropout=0.1)
    optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3, fused=True)
    settings: dict[str, Any] = {"learning_rate": 1e-3, "autocast": functools.partial(autocast, CUDA, torch.bfloat16)}
    replica = replica_of(learner, optimizer)
    steps = list(packed_steps())
    train_step(replica, steps[0], **settings)
    launched = []

    def after_update(*_: object) -> None:
        torch.cuda.set_sync_debug_mode("default")  # all work of the step is on the device: its result may be read
        launched.append(True)

    optimizer.register_step_post_hook(after_update)
    try:
        for batches in steps[1:]:
            torch.cuda.set_sync_debug_mode("error")
            assert train_step(replica, batches, **settings).finite
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(launched) == len(steps) - 1


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    learner = model()
    replica = replica_of(learner, torch.optim.Adam(learner.parameters(), lr=1e-3, fused=True))
    [batches, *_] = packed_steps()
    hook = learner.decoder.layers[0].feed_forward.outer.bias.register_hook(lambda one: one * float("nan"))
    before = [parameter.clone() for parameter in learner.parameters()]
    result = train_step(replica, batches, learning_rate=1e-3, autocast=contextlib.nullcontext)
    hook.remove()
    assert not result.finite
    assert all(torch.equal(old, new) for old, new in zip(before, learner.parameters(), strict=True))
    assert train_step(replica, batches, learning_rate=1e-3, autocast=contextlib.nullcontext).finite
