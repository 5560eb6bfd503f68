"""What the other engines can compute: the paper's architecture. The exports ask here before they write."""

from dataclasses import dataclass

from torch import nn

from mt.model.architecture import unknown_part
from mt.model.attention import MultiHeadAttention
from mt.model.feed_forward import Activation, FeedForward
from mt.model.transformer import Transformer

LAYER_NORM_EPSILON = 1e-5
_WRITTEN = "only post-norm residuals, sinusoidal positions, relu or swish and tied target embeddings can be exported"


@dataclass(frozen=True)
class Architecture:
    """The sizes of a model, equal in all its layers."""

    d_model: int
    d_ff: int
    num_heads: int
    activation: Activation


def unsupported(model: Transformer) -> str | None:
    """The first part of the model that cannot be exported, in words; None if all of it can."""
    if part := unknown_part(model):
        return f"{part}: {_WRITTEN}"
    for name, module in model.named_modules():
        if isinstance(module, nn.LayerNorm) and module.eps != LAYER_NORM_EPSILON:
            return f"{name} has ε = {module.eps}: only {LAYER_NORM_EPSILON} can be exported"
    if len(model.encoder.layers) != len(model.decoder.layers) or len(_sizes(model)) != 1:
        return "its layers differ in number or size: only encoders and decoders of N equal layers can be exported"
    return None


def architecture(model: Transformer) -> Architecture:
    """The sizes of a model that is not unsupported."""
    return _sizes(model).pop()


def _sizes(model: Transformer) -> set[Architecture]:
    networks = [module for module in model.modules() if isinstance(module, FeedForward)]
    return {
        Architecture(attention.d_model, network.inner.out_features, attention.num_heads, network.activation)
        for attention in model.modules()
        if isinstance(attention, MultiHeadAttention)
        for network in networks
    }
