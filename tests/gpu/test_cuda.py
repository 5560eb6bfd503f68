"""What only a GPU can show: its kernels agree with the formulas, and a step never waits for it in the middle."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
import torch
from pairs import ListedPairs, random_pairs
from tiny_models import VOCAB_SIZE, tiny_model
from torch import Tensor

from mt.data.batch import Batch, make_batch
from mt.data.loader import TrainingOrder
from mt.fast.compiled import compile_layers, programs_made
from mt.model.transformer import Transformer
from mt.runtime import autocast
from mt.training.step import accumulate, train_step, update_on_device

pytestmark = pytest.mark.gpu
CUDA = torch.device("cuda")
PAIRS = random_pairs(200, longest=30, vocab_size=VOCAB_SIZE, seed=0)
Autocast = Callable[[], AbstractContextManager[None]]


def tiles() -> Iterator[list[Batch]]:
    order = TrainingOrder(
        corpus_of_epoch=lambda _: ListedPairs(PAIRS),
        batch_tokens=1024,
        micro_batch_tokens=512,
        seed=0,
        pack_length=128,
        one_shape=True,
        pin=True,
    )
    stream = order.steps(epoch=0, start=0)
    for _ in range(4):
        yield next(stream)[2]
    stream.close()


def model(**changes: object) -> Transformer:
    return tiny_model(dtype=torch.float32, num_layers=3, d_model=64, d_ff=128, **changes).to(CUDA).train()


def gradient(of: Transformer, batches: list[Batch], cast: Autocast = contextlib.nullcontext) -> Tensor:
    accumulate(of, batches, label_smoothing=0.1, autocast=cast)
    found = torch.cat([parameter.grad.flatten() for parameter in of.parameters()])
    of.zero_grad()
    return found


def test_packed_and_padded_and_the_cpu_agree() -> None:
    [batches, *_] = tiles()
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
    [batches, *_] = tiles()
    exact = gradient(model(), batches)
    rounded = gradient(model(), batches, functools.partial(autocast, CUDA, torch.bfloat16))
    assert float((rounded - exact).norm() / exact.norm()) < 0.05


def test_a_step_does_not_wait_for_the_device() -> None:
    learner = model(dropout=0.1)
    optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3, fused=True)
    cast = functools.partial(autocast, CUDA, torch.bfloat16)
    steps = list(tiles())
    train_step(learner, optimizer, steps[0], learning_rate=1e-3, label_smoothing=0.1, autocast=cast)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batches in steps[1:]:
            loss, _ = accumulate(learner, batches, label_smoothing=0.1, autocast=cast)
            update_on_device(optimizer, usable=loss.isfinite())
            optimizer.zero_grad(set_to_none=True)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_compiled_tiles_give_the_same_and_are_compiled_once() -> None:
    torch.compiler.reset()
    plain, compiled = model(), model()
    compile_layers(compiled, static_shapes=True)
    steps = list(tiles())
    first = gradient(compiled, steps[0])
    warm = programs_made()
    for batches in steps:
        expected = gradient(plain, batches)
        assert float((gradient(compiled, batches) - expected).norm() / expected.norm()) < 1e-4
    assert programs_made() == warm
    assert torch.isfinite(first).all()


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    learner = model()
    optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3, fused=True)
    [batches, *_] = tiles()
    hook = learner.decoder.layers[0].feed_forward.outer.bias.register_hook(lambda one: one * float("nan"))
    before = [parameter.clone() for parameter in learner.parameters()]
    cast = contextlib.nullcontext
    result = train_step(learner, optimizer, batches, learning_rate=1e-3, label_smoothing=0.1, autocast=cast)
    hook.remove()
    assert not result.finite
    assert all(torch.equal(old, new) for old, new in zip(before, learner.parameters(), strict=True))
    assert train_step(learner, optimizer, batches, learning_rate=1e-3, label_smoothing=0.1, autocast=cast).finite
