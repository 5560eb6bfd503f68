"""The gradient of a micro-batch as one CUDA graph: a step starts one thing on the GPU instead of a thousand.

A small model's kernels take less time than the host needs to start them: on the processor beside an NVIDIA H200 a step
of four layers of 128 dimensions took 40 ms, and for the base model starting them took as long as running them. A graph
is recorded once for each shape of batch, with all its memory. So every tensor of it stays where it is: a batch is
copied into the first one's, gradients are added to those that are there, and each position has a label, which is
ignored for padding (`chunked_loss`).

Random numbers go on by the generator's state at each replay, so that a step's dropout depends on its seed as without.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mt.data.batch import Batch

_WARM_UPS = 3  # passes that compile, plan and allocate


@dataclass
class _Recorded:
    """What is replayed for one shape: the tensors it reads, and those that it writes besides the gradients."""

    batch: Batch
    figures: Float[Tensor, "3"]
    replay: Callable[[], None]
    kept: tuple[Tensor, ...]  # tables that it reads: the model may make longer ones


class CapturedGradients:
    """Adds a micro-batch's gradient to the parameters', by a graph for each shape of packed batch."""

    def __init__(self, loss: nn.Module, autocast: Callable[[], AbstractContextManager[None]]) -> None:
        self.loss = loss
        self.autocast = autocast
        self.parameters = list(loss.parameters())
        self.scale = self.parameters[0].new_ones(())
        self._recorded: dict[tuple[torch.Size, torch.Size], _Recorded] = {}
        self._gradients: list[Tensor] = []

    def __call__(self, batch: Batch, scale: float) -> Float[Tensor, "3"]:
        """Add the gradient of `scale` times the loss; returns the loss's figures, which the next call overwrites."""
        if not self._gradients:
            self._gradients = [torch.zeros_like(parameter) for parameter in self.parameters]
        for parameter, gradient in zip(self.parameters, self._gradients, strict=True):
            assert parameter.grad is None or parameter.grad is gradient
            parameter.grad = gradient
        shape = batch.source.shape, batch.target_input.shape
        if shape not in self._recorded:
            self._recorded[shape] = self._record(batch)
        recorded = self._recorded[shape]
        recorded.batch.copy_(batch)
        self.scale.fill_(scale)
        recorded.replay()
        return recorded.figures

    def zero(self) -> None:
        """Make the gradients zero where they are."""
        torch._foreach_zero_(self._gradients)

    def _record(self, like: Batch) -> _Recorded:
        batch = like.to(self.scale.device).with_tensors(Tensor.clone).with_a_label_everywhere()
        figures = torch.zeros(3, device=self.scale.device)

        def work() -> None:
            with self.autocast():
                total, found = self.loss(batch)
            (total * self.scale).backward()
            figures.copy_(found)

        before = [gradient.clone() for gradient in self._gradients]
        with torch.random.fork_rng([self.scale.device] if self.scale.is_cuda else []):
            replay = record(work)
        torch._foreach_copy_(self._gradients, before)
        return _Recorded(batch, figures, replay, tuple(self.loss.buffers()))


def record(work: Callable[[], None]) -> Callable[[], None]:
    """Record what `work` starts on the GPU, after some passes that run; returns what does it again.

    The loader's thread may allocate meanwhile, which is why only this thread's calls are watched.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        work()
    return graph.replay
