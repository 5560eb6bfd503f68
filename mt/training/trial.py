"""The largest batch first: memory that does not suffice shows before the first step, not in the third hour."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import torch

from mt.data.batch import Batch
from mt.errors import UserError, out_of_memory
from mt.training.step import TrainingLoss


def try_batches(
    loss: TrainingLoss,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[Batch],
    *,
    autocast: Callable[[], AbstractContextManager[None]],
) -> None:
    """Run these batches forward and backward, gradients accumulating, with room for Adam's moments; change nothing.

    Raises what torch raises where memory does not suffice; the gradients are gone afterwards in any case.
    """
    parameters = list(loss.parameters())
    loss.train()
    try:
        moments = [torch.empty_like(one) for one in parameters for _ in range(2)] if not optimizer.state else []
        for batch in batches:
            with autocast():
                smoothed, _ = loss(batch.to(parameters[0].device))
            (smoothed / max(batch.target_tokens, 1)).backward()
        if parameters[0].device.type == "cuda":
            torch.cuda.synchronize()
        del moments
    finally:
        optimizer.zero_grad(set_to_none=True)


def largest_that_fits(attempt: Callable[[int], None], *, most_tokens: int, least_tokens: int) -> int:
    """The largest of `most_tokens`, its half, its quarter, … that `attempt` survives, none below `least_tokens`.

    Raises UserError when even the least needs more memory than there is, and whatever else `attempt` raises.
    """
    tokens = most_tokens
    while not _fits(attempt, tokens):
        if tokens == least_tokens:
            raise UserError(
                f"out of memory with micro-batches of {tokens} tokens a side: lower data.filters.max_tokens or the "
                "size of the model"
            )
        tokens = max(least_tokens, -(-tokens // 2))
    return tokens


def _fits(attempt: Callable[[int], None], tokens: int) -> bool:
    try:
        attempt(tokens)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
    else:
        return True
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # out here: the error's frames hold the tensors
    return False
