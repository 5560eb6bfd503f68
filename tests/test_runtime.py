"""Device, precision, seeds."""

import pytest
import torch

from mt.errors import UserError
from mt.runtime import autocast, choose_device, choose_precision, decoding_precision, seed_everything

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("cuda", "mps", "chosen"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_takes_the_fastest_device_and_others_are_taken_or_refused(
    monkeypatch: pytest.MonkeyPatch, *, cuda: bool, mps: bool, chosen: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert choose_device("auto").type == chosen
    for name, available in (("cpu", True), ("cuda", cuda), ("mps", mps)):
        if available:
            assert choose_device(name).type == name
        else:
            with pytest.raises(UserError, match=f"device={name} is not available on this machine: use device=auto"):
                choose_device(name)


@pytest.mark.parametrize(
    ("amx", "avx512", "intel", "native"),
    [(True, True, True, True), (False, True, True, False), (False, True, False, True), (False, False, False, False)],
)
def test_auto_is_bf16_only_where_it_is_faster(
    monkeypatch: pytest.MonkeyPatch, *, amx: bool, avx512: bool, intel: bool, native: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr("mt.runtime._is_intel", lambda: intel)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: native)
    for device in (CPU, torch.device("cuda")):
        assert choose_precision("bf16", device) == torch.bfloat16
        assert choose_precision("fp32", device) == torch.float32
        assert choose_precision("auto", device) == (torch.bfloat16 if native else torch.float32)
        assert decoding_precision("fp32", device) == torch.float32
        assert decoding_precision("bf16", device) == decoding_precision("int8", device) == torch.bfloat16
    assert decoding_precision("auto", CPU) == torch.float32
    assert decoding_precision("auto", torch.device("cuda")) == (torch.bfloat16 if native else torch.float32)
    assert choose_precision("auto", torch.device("mps")) == torch.float32


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32])
def test_products_are_in_the_precision_that_was_chosen(precision: torch.dtype) -> None:
    a, b = torch.ones(2, 2), torch.ones(2, 2)
    with autocast(CPU, precision):
        assert (a @ b).dtype == precision


def test_seeds_repeat_and_differ() -> None:
    def draw(*numbers: int) -> tuple[float, ...]:
        seed_everything(*numbers)
        return tuple(torch.rand(4).tolist())

    assert draw(1, 2) == draw(1, 2)
    pairs = [(seed, step) for seed in (0, 1, 2, 2**31) for step in range(200)]
    assert len({draw(*pair) for pair in pairs}) == len(pairs)
