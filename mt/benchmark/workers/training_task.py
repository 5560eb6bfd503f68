"""What every system is asked in the training benchmark, and what is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from mt.benchmark.workers.meter import measured
from mt.benchmark.workers.serve import Answer, Handler, Request

Batch = TypeVar("Batch")


@dataclass
class TokenBatch:
    """Padded ids (batch, length), the same for every system; source and output end in EOS, input begins with BOS."""

    source: np.ndarray
    target_input: np.ndarray
    target_output: np.ndarray

    @property
    def source_tokens(self) -> int:
        """Real ones."""
        return int((self.source != 0).sum())

    @property
    def target_tokens(self) -> int:
        """Real ones."""
        return int((self.target_output != 0).sum())

    @property
    def positions(self) -> int:
        """Those of source and target, padding included."""
        return self.source.size + self.target_input.size


def write_token_batches(path: Path, batches: Sequence[TokenBatch]) -> None:
    """Write them as one .npz file, in order."""
    arrays = {f"{name}_{i}": array for i, batch in enumerate(batches) for name, array in vars(batch).items()}
    np.savez(path, count=np.array(len(batches)), **arrays)


def read_token_batches(path: Path | str) -> list[TokenBatch]:
    """What `write_token_batches` wrote."""
    with np.load(path) as file:
        names = ("source", "target_input", "target_output")
        return [TokenBatch(*(file[f"{name}_{i}"] for name in names)) for i in range(int(file["count"]))]


def timed_training(
    step: Callable[[Batch, torch.dtype], Any], batches: Sequence[Batch], task: Request, *, positions: int
) -> Handler:
    """Answer requests with `precision` by a round: a step for each batch.

    The answer has the seconds and peak memory of the round, its real tokens and `positions`, and the loss per target
    token that the last step returned.
    """
    counted = read_token_batches(task["batches"])

    def answer(request: Request) -> Answer:
        losses: list[Any] = []
        return {
            **measured(lambda: run_steps(step, batches, request, losses), torch.device(task["device"])),
            "source_tokens": sum(batch.source_tokens for batch in counted),
            "target_tokens": sum(batch.target_tokens for batch in counted),
            "positions": positions,
            "loss": float(losses[-1]),
        }

    return answer


def run_steps(
    step: Callable[[Batch, torch.dtype], Any], batches: Sequence[Batch], request: Request, losses: list[Any]
) -> None:
    """A step for each batch in the requested precision; each one's loss is appended."""
    precision = {"fp32": torch.float32, "bf16": torch.bfloat16}[request["precision"]]
    losses.extend(step(batch, precision) for batch in batches)
