"""Trying the largest batch first, so that too little memory shows before the first step."""

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
