"""Prepacked layers compute what the formulas say, and a row does not depend on the number of rows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_models import BOS, sentences, tiny_model
from torch.nn import functional

from mt.fast.engine import prepacked_linear
from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepacked_linear import Library, PrepackedLinear
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.native.tiled_linear import ComputeType
from mt.model.cached_decoder import CachedDecoder

ROOT = Path(__file__).resolve().parents[2]
PRECISIONS = [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 0.1)]
LIBRARIES: list[Library] = ["torch"]
LIBRARIES += ["onednn"] if torch.backends.mkldnn.is_available() else []
SHAPES = [(16, 16), (48, 32), (65, 64), (96, 128), (1000, 256), (512, 2048)]
AVX2 = {
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MT_NATIVE": "0",
}


def check(linear: PrepackedLinear, weight: torch.Tensor, bias: torch.Tensor, x: torch.Tensor, tolerance: float) -> None:
    plain = functional.linear(x.double(), weight.double(), bias.double())
    for found, expected in (
        (linear(x), plain),
        (linear.activated(x, "relu"), plain.clamp(min=0)),
        (linear.activated(x, "swish"), functional.silu(plain)),
    ):
        assert found.dtype == linear.out
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("precision", "tolerance", "library"),
    [*((*each, None) for each in PRECISIONS), *((torch.float32, 1e-5, library) for library in LIBRARIES)],
)
def test_the_product_and_what_follows_it(precision: torch.dtype, tolerance: float, library: Library | None) -> None:
    torch.manual_seed(0)
    weight, bias, x = (each.to(precision) for each in (torch.randn(48, 32) / 4, torch.randn(48), torch.randn(40, 32)))
    check(PrepackedLinear(weight, bias, library=library), weight, bias, x, tolerance)


@pytest.mark.parametrize(("out", "tolerance"), [(torch.bfloat16, 0.1), (torch.float32, 0.05)])
def test_weights_are_fp32_where_there_is_no_bf16_kernel(
    out: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepacked_linear, "_has_bf16", lambda: False)
    monkeypatch.setattr(prepacked_linear, "fits_tiles", lambda *_, **__: False)
    torch.manual_seed(0)
    weight, bias, x = torch.randn(48, 32) / 4, torch.randn(48), torch.randn(40, 32).bfloat16()
    linear = PrepackedLinear(weight, bias, precision=torch.bfloat16, out=out)
    assert linear.precision == torch.float32
    check(linear, weight, bias, x, tolerance)
    assert linear(x[:1, None]).shape == (1, 1, 48)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("tiled", [True, False])
def test_a_row_does_not_depend_on_the_number_of_rows(
    precision: torch.dtype, tiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the library that is chosen here; also with the one that is chosen where the processor has no AMX."""
    if not tiled:
        monkeypatch.setattr(prepacked_linear, "fits_tiles", lambda *_, **__: False)
    rows_do_not_depend_on_their_number(precision)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")
@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() not in {"AVX2", "AVX512"}, reason="needs AVX2")
def test_nor_on_a_processor_without_avx512() -> None:
    """It has no bf16 kernel. The libraries choose their code once."""
    environment = {**os.environ, **AVX2, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def rows_do_not_depend_on_their_number(precision: torch.dtype) -> None:
    torch.manual_seed(0)
    for shape in SHAPES:
        weight, x = torch.randn(shape).to(precision), torch.randn(70, shape[1]).to(precision)
        linear = PrepackedLinear(weight, None)
        whole = linear(x)
        for count in (1, 2, 3, 4, 7, 16, 20, 33, 64):
            assert torch.equal(linear(x[:count]), whole[:count]), (shape, count, linear.library)
        exact = x.double() @ weight.double().T
        largest = 2**-8 if precision == torch.bfloat16 else 2**-20
        assert (whole.double() - exact).abs().max() <= largest * exact.abs().max()


@torch.no_grad()
def decoding_works_in(compute_type: ComputeType) -> None:
    """In every precision, a search's first logits are near those of the model."""
    model, source = tiny_model(d_model=32, dtype=torch.float32), sentences([3, 9, 5], seed=0)
    prepared = PreparedModel(model, precision=torch.bfloat16, compute_type=compute_type)
    rows = torch.full((3,), BOS)
    logits = BatchedDecoder(prepared, source, rows_per_sentence=1)(rows)
    plain = CachedDecoder(model, source, rows_per_sentence=1)(rows)
    assert (logits - plain).abs().max() < 0.1 * plain.abs().max()


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in (torch.float32, torch.bfloat16):
        rows_do_not_depend_on_their_number(each)
    for one in ("bf16", "int8"):
        decoding_works_in(one)
