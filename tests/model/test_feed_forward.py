"""Section 3.3: equation (2), and the smooth form of it that Marian's models have."""

import pytest
import torch

from mt.model.feed_forward import Activation, FeedForward


@pytest.mark.parametrize("activation", ["relu", "swish"])
def test_it_is_the_formula(activation: Activation) -> None:
    torch.manual_seed(0)
    network, x = FeedForward(d_model=6, d_ff=10, activation=activation).double(), torch.randn(3, 4, 6).double()
    z = x @ network.inner.weight.T + network.inner.bias
    bent = z * (z > 0) if activation == "relu" else z / (1 + (-z).exp())
    torch.testing.assert_close(network(x), bent @ network.outer.weight.T + network.outer.bias, rtol=0, atol=1e-12)
