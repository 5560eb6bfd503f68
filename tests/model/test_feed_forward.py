"""Section 3.3: equation (2), and its variants."""

import math

import pytest
import torch

from mt.model.feed_forward import Activation, FeedForward, SwiGLU


@pytest.mark.parametrize("activation", ["relu", "swish", "gelu", "gelu_tanh", "squared_relu"])
def test_it_is_the_formula(activation: Activation) -> None:
    torch.manual_seed(0)
    network, x = FeedForward(d_model=6, d_ff=10, activation=activation).double(), torch.randn(3, 4, 6).double()
    z = x @ network.inner.weight.T + network.inner.bias
    bent = {
        "relu": z * (z > 0),
        "swish": z / (1 + (-z).exp()),
        "gelu": z * (1 + (z / math.sqrt(2)).erf()) / 2,
        "gelu_tanh": z * (1 + (math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)).tanh()) / 2,
        "squared_relu": z * z * (z > 0),
    }[activation]
    torch.testing.assert_close(network(x), bent @ network.outer.weight.T + network.outer.bias, rtol=0, atol=1e-12)


def test_swiglu_is_the_formula() -> None:
    torch.manual_seed(0)
    network, x = SwiGLU(d_model=6, d_ff=10).double(), torch.randn(3, 4, 6).double()
    first, second = (x @ linear.weight.T + linear.bias for linear in (network.inner, network.gate))
    product = first / (1 + (-first).exp()) * second
    torch.testing.assert_close(network(x), product @ network.outer.weight.T + network.outer.bias, rtol=0, atol=1e-12)
