"""RELIABILITY 10: too little memory shows before the first step; `auto` finds what fits and changes nothing."""

import contextlib
import copy
import errno

import pytest
import torch
from pairs import listed_pairs, random_pairs
from tiny_models import VOCAB_SIZE, tiny_model

from mt.data.loader import TrainingOrder
from mt.errors import UserError, from_system, out_of_memory
from mt.model.transformer import Transformer
from mt.training.step import TrainingLoss
from mt.training.trial import largest_batches, largest_that_fits, try_batches

PAIRS = random_pairs(50, longest=19, vocab_size=VOCAB_SIZE, seed=0)
TORCH_MESSAGE = (
    "[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
)


def limit_memory(model: Transformer, *, tokens: int) -> None:
    """Let the model run out of memory, with torch's message, above this number of tokens a side with padding."""

    def forward(_module: object, arguments: tuple[torch.Tensor, ...]) -> None:
        if arguments[0].numel() > tokens:
            raise RuntimeError(TORCH_MESSAGE)

    model.source_embedding.register_forward_pre_hook(forward)


def order() -> TrainingOrder:
    corpus = listed_pairs(PAIRS)
    return TrainingOrder(corpus_of_epoch=lambda _: corpus, batch_tokens=320, micro_batch_tokens=320, seed=0)


def fitting(model: Transformer, *, least_tokens: int = 20) -> int:
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def attempt(tokens: int) -> None:
        batches = largest_batches(order(), epoch=0, micro_batch_tokens=tokens)
        try_batches(TrainingLoss(model, label_smoothing=0.1), optimizer, batches, autocast=contextlib.nullcontext)

    return largest_that_fits(attempt, most_tokens=320, least_tokens=least_tokens)


@pytest.mark.reliability(10)
@pytest.mark.parametrize(("room", "tokens"), [(1000, 320), (320, 320), (319, 160), (100, 80), (20, 20)])
def test_the_largest_that_fits_is_found_and_then_every_batch_fits(room: int, tokens: int) -> None:
    model = tiny_model(dtype=torch.float32)
    before = copy.deepcopy(model.state_dict())
    limit_memory(model, tokens=room)
    assert fitting(model) == tokens
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    loss = TrainingLoss(model, label_smoothing=0.1)
    stream = order()
    stream.micro_batch_tokens = tokens
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    for epoch, _, micro_batches, *_ in stream.steps(epoch=0, start=0):
        if epoch:
            break
        try_batches(loss, optimizer, micro_batches, autocast=contextlib.nullcontext)


@pytest.mark.reliability(10)
def test_too_little_memory_for_any_batch_is_an_error_with_a_cure() -> None:
    model = tiny_model(dtype=torch.float32)
    limit_memory(model, tokens=15)
    with pytest.raises(UserError, match=r"out of memory with micro-batches of 20 tokens a side: lower data\.filters"):
        fitting(model)


def test_other_errors_are_not_taken_for_memory() -> None:
    def attempt(_tokens: int) -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        largest_that_fits(attempt, most_tokens=8, least_tokens=1)


def test_what_counts_as_out_of_memory() -> None:
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert out_of_memory(MemoryError())
    for refused in (OSError(errno.ENOMEM, "Cannot allocate memory"), OSError(errno.ENOMEM, "refused", "ids")):
        assert str(from_system(refused)).startswith("out of memory")
    assert out_of_memory(RuntimeError(TORCH_MESSAGE))
    assert out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    assert not out_of_memory(RuntimeError("index out of range"))
