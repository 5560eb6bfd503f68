"""The initial values of parameters, on which the paper is silent."""

from typing import Literal

from torch import nn

from mt.model.attention import MultiHeadAttention
from mt.model.attention_positions import RelativePositions
from mt.model.embedding import TokenEmbedding
from mt.model.encoder_only import EncoderOnly
from mt.model.positions import LearnedPositions
from mt.model.scores import AdditiveAttention, GeneralAttention

Initialisation = Literal["glorot", "fan_in"]


def initialise(model: nn.Module, initialisation: Initialisation) -> None:
    """Embeddings are N(0, 1/d_model), so that scaled embeddings and the first logits have unit variance.

    Learned positions have the variance of the embeddings that they are added to, but for an encoder alone, which learns
    sooner with N(0, 1/d_model), as fairseq has it for all.

    `glorot` is what Tensor2Tensor does: Glorot-uniform matrices, each of Q, K, V and the output on its own, and zero
    biases. `fan_in` is torch's own for nn.Linear: matrices and biases uniform within ±1/√fan_in. They are smaller, so
    that the residual paths dominate at first, which lets narrow post-norm models learn much sooner
    (docs/failed_experiments.md has the comparison). The matrices of relative positions and of the `general` score are
    Glorot-uniform in both, the vectors of the additive score uniform within ±1/√d_k.
    """
    if next(model.parameters()).is_meta:
        return  # of shapes without values, which torch would first load its compiler for
    stacked = {each.projection: each.widths for each in model.modules() if isinstance(each, MultiHeadAttention)}
    scales = [module.scale for module in model.modules() if isinstance(module, TokenEmbedding)]
    scale = 1.0 if isinstance(model, EncoderOnly) else max(scales)  # docs/failed_experiments.md
    for module in model.modules():
        if isinstance(module, TokenEmbedding | LearnedPositions):
            added_to = scale if isinstance(module, LearnedPositions) else 1.0
            nn.init.normal_(module.weight, std=added_to * module.weight.shape[1] ** -0.5)
            if isinstance(module, TokenEmbedding) and module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, RelativePositions):
            nn.init.xavier_uniform_(module.keys)
            nn.init.xavier_uniform_(module.values)
        elif isinstance(module, GeneralAttention):
            for matrix in module.weight:
                nn.init.xavier_uniform_(matrix)
        elif isinstance(module, AdditiveAttention):
            bound = module.weight.shape[1] ** -0.5
            nn.init.uniform_(module.weight, -bound, bound)
        elif isinstance(module, nn.Linear) and initialisation == "fan_in":
            module.reset_parameters()
        elif isinstance(module, nn.Linear):
            for matrix in module.weight.split(stacked.get(module, module.out_features)):
                nn.init.xavier_uniform_(matrix)
            nn.init.zeros_(module.bias)
