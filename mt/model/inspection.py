"""Looking inside: what the decoder attends to in the source (figures 3 to 5 of the paper show such weights)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mt.model.attention import MultiHeadAttention
from mt.model.transformer import Transformer


def cross_attention_weights(
    model: Transformer, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
) -> Float[Tensor, "layers batch heads target source"]:
    """The weights of every decoder layer's attention over the source, while reading `target` (BOS first).

    Row t shows where the model looks to choose the token after target position t; each row sums to 1. Padded source
    positions have weight 0, the rows of padded target positions mean nothing.
    """
    seen: list[Tensor] = []

    def remember(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(module, MultiHeadAttention)
        seen.append(module.weights(*inputs))

    hooks = [layer.cross_attention.register_forward_pre_hook(remember) for layer in model.decoder.layers]
    try:
        with torch.inference_mode():
            model.hidden(source, target)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(seen)


def alignment_attention(
    model: Transformer, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
) -> Float[Tensor, "batch target source"]:
    """The attention over the source that says best which word a target token translates; `target` begins with BOS.

    That is the mean over all heads of all decoder layers but the first, which looks elsewhere; of the only
    layer where there is one. docs/failed_experiments.md compares single layers.
    """
    weights = cross_attention_weights(model, source, target)
    return (weights[1:] if len(weights) > 1 else weights).mean(dim=(0, 2))
