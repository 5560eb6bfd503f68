"""Section 6.1: "we used a single model obtained by averaging the last 5 checkpoints"."""

from collections.abc import Iterable

from torch import Tensor


def average(checkpoints: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each parameter over several checkpoints, summed in fp64, returned in fp32.

    Tied parameters are stored once in a checkpoint and so are averaged once. Raises ValueError when there is nothing
    to average or the names differ.
    """
    sums: dict[str, Tensor] = {}
    count = 0
    for tensors in checkpoints:
        if count and tensors.keys() != sums.keys():
            raise ValueError("the checkpoints hold different parameters")
        for name, tensor in tensors.items():
            sums[name] = sums[name] + tensor.double() if count else tensor.double()
        count += 1
    if not count:
        raise ValueError("no checkpoints to average")
    return {name: (total / count).float() for name, total in sums.items()}
