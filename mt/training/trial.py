"""Trials before the first step: whether the largest batch fits in memory, and how fast a size of model trains."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

import numpy as np
import torch

from mt.data import batching
from mt.data.batch import Batch, Pairs, make_packed_batch
from mt.data.loader import StepBatches, TrainingOrder
from mt.data.tokenizer import UNKNOWN
from mt.errors import UserError, out_of_memory
from mt.training.processes import Replica
from mt.training.step import SideBySide, TrainingLoss, train_step

_SHORT_TOKENS = 16  # rows so short fill any budget nearly exactly
_WARMUP_STEPS, _LEAST_SECONDS, _LONGEST = 2, 2.0, 200


def try_batches(
    loss: TrainingLoss,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[Batch],
    *,
    autocast: Callable[[], AbstractContextManager[None]],
) -> None:
    """Run these batches forward and backward, accumulating gradients, with room for Adam's moments; change nothing.

    Raises what torch raises when memory does not suffice; the gradients are freed in any case.
    """
    parameters = list(loss.parameters())
    loss.train()
    try:
        moments = [torch.empty_like(one) for one in parameters for _ in range(2)] if not optimizer.state else []
        for batch in batches:
            with autocast():
                total, _ = loss(batch.to(parameters[0].device))
            (total / max(batch.target_tokens, 1)).backward()
        if parameters[0].device.type == "cuda":
            torch.cuda.synchronize()
        del moments
    finally:
        optimizer.zero_grad(set_to_none=True)


def largest_batches(order: TrainingOrder, *, epoch: int, micro_batch_tokens: int) -> list[Batch]:
    """Made-up batches that need as much memory as any of the epoch: the longest rows, and the fullest.

    One has the rows of all micro-batches that are computed side by side.
    """
    corpus = order.corpus_of_epoch(epoch)
    longest = int(corpus.token_lengths().max(initial=1))
    batches = []
    if order.pack_length:
        lengths = batching.row_lengths(longest, pack_length=order.pack_length, batch_tokens=order.batch_tokens)
        for length in dict.fromkeys(reversed(lengths)):
            whole, rest = divmod(length, longest)
            sentences = [[UNKNOWN] * (tokens - 1) for tokens in (*[longest] * whole, rest) if tokens]
            row, rows = list(zip(sentences, sentences, strict=True)), order.rows_of(length, micro_batch_tokens)
            rows *= order.threads
            batches.append(make_packed_batch([row] * rows, pack_length=length, rows=rows))
        return batches
    tokens = min(micro_batch_tokens * order.threads, order.batch_tokens)
    if order.world_size > 1:  # what split_for_ranks may take, at most
        share = -(-order.batch_tokens // order.world_size) + longest
        tokens = min(tokens, share + share // 64 + 1)
    for length in dict.fromkeys((longest, min(longest, _SHORT_TOKENS))):
        sentences = [[UNKNOWN] * (length - 1)] * max(1, tokens // length)
        batches.append(corpus.make_batch(sentences, sentences))
    return batches


def largest_that_fits(attempt: Callable[[int], None], *, most_tokens: int, least_tokens: int) -> int:
    """The largest of `most_tokens`, its half, its quarter, … that `attempt` survives, down to `least_tokens`.

    Raises UserError when even `least_tokens` need more memory than there is; errors other than of memory pass through.
    """
    tokens = most_tokens
    while True:
        try:
            attempt(tokens)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
        else:
            return tokens
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # only here, because the error's frames hold the tensors
        if tokens == least_tokens:
            raise UserError(
                f"out of memory with micro-batches of {tokens} tokens a side: lower data.filters.max_tokens or the "
                "size of the model"
            )
        tokens = max(least_tokens, -(-tokens // 2))


def random_pairs(count: int, *, source_length: float, target_length: float, vocab_size: int) -> Pairs:
    """Pairs of random subwords with lengths around two means, for a trial of the speed."""
    random = np.random.default_rng(0)
    spread = random.uniform(0.5, 1.5, count)
    lengths = [(spread * mean).clip(1, _LONGEST).astype(np.int32) for mean in (source_length, target_length)]
    ids = random.integers(UNKNOWN, vocab_size, _LONGEST)
    return Pairs.listed(*([ids[:length] for length in side] for side in lengths))


def target_tokens_per_second(
    replica: Replica,
    steps: Iterable[StepBatches],
    *,
    autocast: Callable[[], AbstractContextManager[None]],
    side_by_side: SideBySide | None,
) -> float:
    """The speed of whole steps, measured for some seconds after steps that warm up; the weights stay as they are."""
    replica.loss.train()
    start, tokens = 0.0, 0
    for number, step in enumerate(steps):
        if number == _WARMUP_STEPS:
            start = time.monotonic()
        batches = step.micro_batches
        result = train_step(replica, batches, learning_rate=0.0, autocast=autocast, side_by_side=side_by_side)
        tokens += result.target_tokens if number >= _WARMUP_STEPS else 0
        if number > _WARMUP_STEPS and time.monotonic() - start > _LEAST_SECONDS:
            break
    return tokens / (time.monotonic() - start)
