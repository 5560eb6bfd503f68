"""How fast this machine multiplies matrices at best: what utilisation is measured against."""

import time

import torch

from mt.benchmark.workers.meter import measured, versions
from mt.benchmark.workers.serve import Answer, Request, serve

_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
_SIZES = {"cpu": 2048, "cuda": 8192}
_SECONDS = 0.7


def prepare(task: Request) -> tuple[Answer, "ProductPeak"]:
    """Take `device` from the task."""
    return versions("torch"), ProductPeak(torch.device(task["device"]))


class ProductPeak:
    """Products of two square matrices of random numbers, one after another."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        size = _SIZES.get(device.type, 2048)
        self.matrices = torch.randn(2, size, size, device=device)

    def __call__(self, request: Request) -> Answer:
        """Floating-point operations per second in `precision`, the best of products during 0.7 s."""
        left, right = self.matrices.to(_TYPES[request["precision"]])
        out = torch.empty_like(left)

        def product() -> None:
            torch.mm(left, right, out=out)

        best, end = float("inf"), time.perf_counter() + _SECONDS
        while time.perf_counter() < end:
            best = min(best, measured(product, self.device)["seconds"])
        return {"flop_per_second": 2 * left.shape[0] ** 3 / best}


if __name__ == "__main__":
    serve(prepare)
