"""Device, precision, seeds: what the machine offers and what makes a run repeatable."""

import contextlib
import platform
import re
from pathlib import Path

import torch

from mt.errors import UserError


def choose_device(name: str) -> torch.device:
    """`auto` takes CUDA, then MPS, then the CPU. Raises UserError for a device that this machine does not have.

    CUDA multiplies fp32 numbers as TF32 from here on: factors of 10 bits, sums in fp32, several times as fast. Its
    attention is not cuDNN's, which plans each new shape for 40 ms and on an H200 has gradients that are not finite for
    some masks (pytorch/pytorch#196678).
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    available = [device for device, is_there in there.items() if is_there]
    if name not in ("auto", *available):
        raise UserError(f"device={name} is not available on this machine: use device=auto or device=cpu")
    device = torch.device(available[0] if name == "auto" else name)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The type of a training's matrix products; `auto` is bf16 where that is faster, else fp32.

    On CPUs that is with AMX or with AMD's AVX-512: docs/results/training_speed.md.
    """
    if name == "bf16" or (name == "auto" and _bf16_is_faster(device)):
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


def processor() -> str:
    """The name of the processor, as the system gives it."""
    name = re.search(r"model name\s*:\s*(.+)", processor_information())
    return name[1] if name else platform.processor() or platform.machine()


def processor_information() -> str:
    """What Linux says of the processors; elsewhere nothing."""
    information = Path("/proc/cpuinfo")
    return information.read_text(encoding="utf-8") if information.exists() else ""


def seed_everything(*numbers: int) -> None:
    """Seed torch's generators by a tuple of numbers, such as (seed, step).

    A training that reseeds at every step needs no generator state in its checkpoints: the dropout of a step is the
    same with and without a restart before it.
    """
    state = 0
    for number in numbers:
        state = (state * 6364136223846793005 + number + 1442695040888963407) % 2**63
    torch.manual_seed(state)


def _bf16_is_faster(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return torch.cpu._is_amx_tile_supported() or (torch.cpu._is_avx512_bf16_supported() and not _is_intel())
    return False


def _is_intel() -> bool:
    """Whether Linux says that Intel made the processor: its AVX-512 multiplies bf16 no faster than fp32, AMD's does."""
    return "GenuineIntel" in processor_information()
