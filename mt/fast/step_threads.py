"""The micro-batches of a training step side by side, one in each thread."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import torch

from mt.fast.dropout import own_masks

_MOST_THREADS = 8  # each holds the gradients of all parameters

Item = TypeVar("Item")
Result = TypeVar("Result")


def step_threads(device: torch.device) -> "StepThreads | None":
    """Threads for the steps of a single process on this device; None where there is nothing to share."""
    return StepThreads() if device.type == "cpu" and torch.get_num_threads() > 1 else None


class StepThreads:
    """`count` threads, each with an equal share of torch's threads.

    Where all cores share each operation, they wait for each other hundreds of times in a layer, and long where another
    program has one of them. Threads with a part of the batch each wait once a step.
    """

    def __init__(self) -> None:
        torch_threads = torch.get_num_threads()
        most = min(torch_threads, _MOST_THREADS)
        counts = range((most + 1) // 2, most + 1)
        self.count = max(counts, key=lambda count: (torch_threads // count * count, count))  # most cores, most parts
        self._pool = ThreadPoolExecutor(self.count, "step")
        begun = Barrier(self.count)
        try:
            list(self._pool.map(lambda _: _take_share(torch_threads // self.count, begun), range(self.count)))
        except RuntimeError:  # no further thread can be started, and those that were wait for it
            begun.abort()
            raise
        torch.set_num_threads(torch_threads)

    def __call__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The function's results for each item, in order. Raises what it raises.

        Dropout depends on the seed of torch's generator and on the item's number, not on which thread is faster.
        """
        seeds = torch.randint(2**62, (len(items),)).tolist()

        def seeded(item: Item, seed: int) -> Result:
            with own_masks(seed):
                return function(item)

        return list(self._pool.map(seeded, items, seeds))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


def _take_share(torch_threads: int, begun: Barrier) -> None:
    """Set this thread's number of torch's threads.

    A thread takes the number that was set last, anywhere, when it first asks for it; so all ask before any begins.
    """
    torch.set_num_threads(torch_threads)
    torch.get_num_threads()
    begun.wait()
