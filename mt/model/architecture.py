"""Which models are the paper's: what computes or writes them elsewhere asks here, and refuses the others by name."""

from typing import get_args

from torch import nn

from mt.model.attention import MultiHeadAttention
from mt.model.embedding import TokenEmbedding
from mt.model.feed_forward import Activation, FeedForward
from mt.model.positions import Positions, SinusoidalPositions
from mt.model.residual import PostNorm
from mt.model.stacks import DecoderLayer, EncoderLayer, Stack
from mt.model.transformer import Transformer

# Exact types: a subclass may compute something else.
_PAPER = (
    *(Transformer, TokenEmbedding, SinusoidalPositions, Stack, EncoderLayer, DecoderLayer, PostNorm),
    *(MultiHeadAttention, Positions, FeedForward, nn.ModuleList, nn.Linear, nn.LayerNorm),
)


def unknown_part(model: nn.Module) -> str | None:
    """The first part of a model that is not of the paper's architecture, by name; None if there is none.

    Dropout may be of any class, for translation has none, and swish is known besides the paper's ReLU.
    """
    for name, module in model.named_modules():
        if name.rpartition(".")[2] != "dropout" and type(module) not in _PAPER:
            return f"{name or 'the model'} is {type(module).__name__}"
        if isinstance(module, MultiHeadAttention) and type(module.positions) is not Positions:
            return f"{name}.positions is {type(module.positions).__name__}"
        if isinstance(module, FeedForward) and module.activation not in get_args(Activation):
            return f"{name}.activation is {module.activation}"
        if isinstance(module, Stack) and module.final_norm is not None:
            return f"{name}.final_norm is {type(module.final_norm).__name__}"
    return None
