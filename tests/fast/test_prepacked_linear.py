"""Packed layers compute what the formulas say, and rows do not depend on their company."""

import pytest
import torch
from torch.nn import functional

from mt.fast.engine.prepacked_linear import Library, PrepackedLinear

PRECISIONS = [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 0.1)]
LIBRARIES: list[Library] = ["torch"]
LIBRARIES += ["mkl"] if torch.backends.mkl.is_available() else []
LIBRARIES += ["onednn"] if torch.backends.mkldnn.is_available() else []


def layer(
    precision: torch.dtype, library: Library | None = None
) -> tuple[PrepackedLinear, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    weight, bias, x = torch.randn(48, 32) / 4, torch.randn(48), torch.randn(40, 32)
    weight, bias, x = (each.to(precision) for each in (weight, bias, x))
    return PrepackedLinear(weight, bias, library=library), weight.double(), bias.double(), x


@pytest.mark.parametrize(
    ("precision", "tolerance", "library"),
    [*((*each, None) for each in PRECISIONS), *((torch.float32, 1e-5, library) for library in LIBRARIES)],
)
def test_the_product_and_what_follows_it(precision: torch.dtype, tolerance: float, library: Library | None) -> None:
    packed, weight, bias, x = layer(precision, library)
    plain = x.double() @ weight.T + bias
    residual = torch.randn(40, 48).to(precision)
    pairs = [
        (packed(x), plain),
        (packed.activated(x, "relu"), plain.clamp(min=0)),
        (packed.activated(x, "swish"), functional.silu(plain)),
        (packed.add_to(residual, x), plain + residual.double()),
    ]
    for found, expected in pairs:
        assert found.dtype == precision
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("precision", "library"),
    [
        *((precision, None) for precision in (torch.float32, torch.bfloat16)),
        *((torch.float32, library) for library in LIBRARIES if library == "mkl"),  # also where tiles come before it
    ],
)
@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")
def test_a_row_does_not_depend_on_the_number_of_rows(precision: torch.dtype, library: Library | None) -> None:
    torch.manual_seed(0)
    weight, x = torch.randn(96, 128).to(precision), torch.randn(40, 128).to(precision)
    packed = PrepackedLinear(weight, None, library=library)
    whole = packed(x)
    for count in (1, 2, 3, 7, 16, 33):
        assert torch.equal(packed(x[:count]), whole[:count])
