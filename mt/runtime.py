"""Device, precision, seeds: what the machine offers and what makes a run repeatable."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

from mt.errors import UserError

Result = TypeVar("Result")


def choose_device(name: str) -> torch.device:
    """`auto` takes CUDA, then MPS, then the CPU. Raises UserError for a device that this machine does not have."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(name, False):
        raise UserError(f"device={name} is not available on this machine: use device=auto or device=cpu")
    return torch.device(name)


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The type of a training's matrix products; `auto` is bf16 on devices that compute it natively, else fp32."""
    if name == "bf16" or (name == "auto" and _computes_bf16(device)):
        return torch.bfloat16
    return torch.float32


def decoding_precision(name: str, device: torch.device) -> torch.dtype:
    """The type of a search's numbers; `auto` is fp32 on a CPU, because bf16 rounds scores to 8 bits.

    `int8` is bf16: only its matrix products are computed otherwise.
    """
    if name == "auto" and device.type == "cpu":
        return torch.float32
    return choose_precision("bf16" if name == "int8" else name, device)


def autocast(device: torch.device, precision: torch.dtype) -> contextlib.AbstractContextManager[None]:
    """Matrix products in `precision`, everything delicate in fp32; nothing happens for fp32."""
    return torch.autocast(device.type, dtype=precision, enabled=precision != torch.float32)


@contextlib.contextmanager
def bf16_factors(*, enabled: bool) -> Iterator[None]:
    """Let oneDNN round the factors of fp32 products to bf16; sums and results stay fp32. For the whole process.

    oneDNN does so only where it gains time: on processors with AMX. Elsewhere the products stay fp32.
    """
    matmul = getattr(torch.backends.mkldnn, "matmul")  # noqa: B009  made at run time, unknown to type checkers
    before = matmul.fp32_precision
    if enabled:
        matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before


def in_threads(function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], *, threads: int) -> list[Result]:
    """What the function returns for each of the arguments, in their order, computed in so many threads at a time.

    Each of them uses one of torch's own threads, also where there is only one: small products are computed faster
    side by side, one on each core, than one after another on all cores, which wait for each other at every product.
    """
    own_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        if threads == 1 or len(arguments) <= 1:
            return [function(*each) for each in arguments]
        return list(pool.map(lambda each: function(*each), arguments))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(own_threads)


def seed_everything(*numbers: int) -> None:
    """Seed torch's generators by a tuple of numbers, such as (seed, step).

    A training that reseeds at every step needs no generator state in its checkpoints: the dropout of a step is the
    same with and without a restart before it.
    """
    state = 0
    for number in numbers:
        state = (state * 6364136223846793005 + number + 1442695040888963407) % 2**63
    torch.manual_seed(state)


def _computes_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported())
    return False
