"""The initial values of parameters. The paper is silent; `glorot` is what Tensor2Tensor does.

Embeddings are N(0, d_model^-½) in both, so that scaled embeddings have unit variance next to the positions, and the
first logits do too.
"""

from collections.abc import Callable
from typing import Literal

from torch import nn

from mt.model.attention import MultiHeadAttention
from mt.model.embedding import TokenEmbedding
from mt.model.feed_forward import FeedForward

Initialisation = Literal["glorot", "fan_in"]


def glorot(model: nn.Module) -> None:
    """Glorot-uniform matrices, each of Q, K, V and the output on its own, and zero biases."""
    _embeddings(model)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            matrices = [*module.projection.weight.chunk(3), module.output.weight]
            biases = [module.projection.bias, module.output.bias]
        elif isinstance(module, FeedForward):
            matrices = [module.inner.weight, module.outer.weight]
            biases = [module.inner.bias, module.outer.bias]
        else:
            continue
        for matrix in matrices:
            nn.init.xavier_uniform_(matrix)
        for bias in biases:
            nn.init.zeros_(bias)


def fan_in(model: nn.Module) -> None:
    """Torch's own for nn.Linear, matrices and biases uniform within ±1/√fan_in.

    They are smaller than Glorot's, so that the residual paths dominate at first, which lets narrow post-norm models
    learn much sooner (docs/failed_experiments.md has the comparison).
    """
    _embeddings(model)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.reset_parameters()


INITIALISATIONS: dict[Initialisation, Callable[[nn.Module], None]] = {"glorot": glorot, "fan_in": fan_in}


def _embeddings(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, TokenEmbedding):
            nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
