"""Looking inside: what the decoder attends to in the source (figures 3 to 5 of the paper show such weights)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mt.model.attention import MultiHeadAttention
from mt.model.transformer import Transformer


def cross_attention_weights(
    model: Transformer, source: Int[Tensor, "1 source"], target: Int[Tensor, "1 target"]
) -> Float[Tensor, "layers heads target source"]:
    """The weights of every decoder layer's attention over the source, while reading `target` (BOS first).

    Row t shows where the model looks to choose the token after target position t; each row sums to 1.
    """
    seen: list[Tensor] = []

    def note(module: nn.Module, inputs: tuple[Tensor, Tensor, Tensor]) -> None:
        assert isinstance(module, MultiHeadAttention)
        seen.append(module.weights(*inputs)[0])

    hooks = [layer.cross_attention.register_forward_pre_hook(note) for layer in model.decoder_layers()]
    try:
        with torch.inference_mode():
            model.hidden(source, target)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(seen)
