"""The training benchmark: what every system is asked, and what is measured of its answers."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from mt.benchmark.worker import Answer, Handler, Request, measured

PAD, BOS, EOS = 0, 2, 3  # of all systems

Batch = TypeVar("Batch")


class TokenBatch(NamedTuple):
    """Padded ids (batch, length), the same for every system; source and output end in EOS, input begins with BOS."""

    source: Tensor
    target_input: Tensor
    target_output: Tensor

    @property
    def tokens(self) -> int:
        """Real ones of source and target."""
        return int((self.source != PAD).sum() + (self.target_output != PAD).sum())

    def flop(self, *, num_layers: int, d_model: int, d_ff: int, vocab_size: int) -> float:
        """Floating-point operations of a step by the formulas of section 3: three forward passes.

        A multiplication with its addition counts as two. Only matrix products of real tokens count, and in the
        decoder's self-attention only what its mask allows.
        """
        source, target = ((ids != PAD).sum(1).double() for ids in (self.source, self.target_output))
        matrix, feed_forward = 2.0 * d_model * d_model, 4.0 * d_model * d_ff
        encoder = source.sum() * (4 * matrix + feed_forward) + 4 * d_model * (source * source).sum()
        decoder = target.sum() * (6 * matrix + feed_forward) + 2 * matrix * source.sum()
        decoder += 4 * d_model * ((target * (target + 1) / 2).sum() + (source * target).sum())
        return float(3 * (num_layers * (encoder + decoder) + 2.0 * d_model * vocab_size * target.sum()))


def read_token_batches(path: str, *, pin: bool = False) -> list[TokenBatch]:
    """The batches of a task, which are saved as plain tuples; in page-locked memory with `pin`."""
    batches = torch.load(path)
    return [TokenBatch(*(tensor.pin_memory() if pin else tensor for tensor in batch)) for batch in batches]


def timed_training(step: Callable[[Batch, torch.dtype], Any], batches: Sequence[Batch], task: Request) -> Handler:
    """Answer requests with `precision` by a round: a step for each batch.

    The answer has the seconds and peak memory of the round, its real tokens, their arithmetic over the best matrix
    product measured after it, and the loss per target token that the last step returned.
    """
    counted = read_token_batches(task["batches"])
    sizes = {name: task["sizes"][name] for name in ("num_layers", "d_model", "d_ff", "vocab_size")}
    tokens, flop = sum(batch.tokens for batch in counted), sum(batch.flop(**sizes) for batch in counted)

    def answer(request: Request) -> Answer:
        precision = {"fp32": torch.float32, "bf16": torch.bfloat16}[request["precision"]]
        losses: list[Any] = []
        device = torch.device(task["device"])
        figures = measured(lambda: losses.extend(step(batch, precision) for batch in batches), device)
        mfu = flop / figures["seconds"] / best_product(device, precision)
        return {**figures, "tokens": tokens, "mfu": mfu, "loss": float(losses[-1])}

    return answer


def best_product(device: torch.device, precision: torch.dtype) -> float:
    """Floating-point operations per second of the fastest of some products of two large matrices."""
    size = 8192 if device.type == "cuda" else 2048
    left, right = torch.randn(2, size, size, device=device).to(precision)
    out = torch.empty_like(left)

    def product() -> None:
        torch.mm(left, right, out=out)

    return 2 * size**3 / min(measured(product, device)["seconds"] for _ in range(8))
