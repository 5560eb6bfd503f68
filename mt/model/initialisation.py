"""The initial values of parameters, on which the paper is silent."""

from typing import Literal

from torch import nn

from mt.model.embedding import TokenEmbedding

Initialisation = Literal["glorot", "fan_in"]


def initialise(model: nn.Module, initialisation: Initialisation) -> None:
    """Embeddings are N(0, d_model^-½), so that scaled embeddings and the first logits have unit variance.

    `glorot` is what Tensor2Tensor does: Glorot-uniform matrices, each of Q, K, V and the output on its own, and zero
    biases. `fan_in` is torch's own for nn.Linear: matrices and biases uniform within ±1/√fan_in. They are smaller, so
    that the residual paths dominate at first, which lets narrow post-norm models learn much sooner
    (docs/failed_experiments.md has the comparison).
    """
    if next(model.parameters()).is_meta:
        return  # of shapes without values, which torch would first load its compiler for
    for name, module in model.named_modules():
        if isinstance(module, TokenEmbedding):
            nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear) and initialisation == "fan_in":
            module.reset_parameters()
        elif isinstance(module, nn.Linear):
            for matrix in module.weight.chunk(3 if name.endswith("projection") else 1):
                nn.init.xavier_uniform_(matrix)
            nn.init.zeros_(module.bias)
