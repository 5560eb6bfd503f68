"""Looking inside a model: what its decoder attends to, and whether its parts are the paper's."""

import copy
import math
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mt.errors import UserError
from mt.model.attention import Attention, MultiHeadAttention
from mt.model.attention_positions import RelativePositions
from mt.model.decoder_only import AnyTransformer
from mt.model.embedding import TokenEmbedding
from mt.model.feed_forward import FeedForward
from mt.model.positions import Positions, SinusoidalPositions
from mt.model.residual import PostNorm
from mt.model.stacks import DecoderLayer, EncoderLayer, Stack
from mt.model.transformer import Transformer

Kind = Literal["encoder", "decoder", "cross"]  # of an attention

# Exact types: a subclass may compute something else.
_PAPER = (
    Transformer, TokenEmbedding, SinusoidalPositions, Stack, EncoderLayer, DecoderLayer, PostNorm, MultiHeadAttention,
    Positions, FeedForward, nn.ModuleList, nn.Linear, nn.LayerNorm,
)  # fmt: skip


def unknown_part(model: nn.Module) -> str | None:
    """The first part of a model that is not of the paper's architecture, by name; None if there is none.

    The fast engine and the exports refuse such models. Dropout may be of any class, because translation has none.
    Swish is known in addition to the paper's ReLU, and so are stacks of different depth.
    """
    if isinstance(model, Transformer) and model.output_embedding is not model.target_embedding:
        return "output_embedding is not tied to target_embedding"
    for name, module in model.named_modules():
        if name.rpartition(".")[2] != "dropout" and type(module) not in _PAPER:
            return f"{name or 'the model'} is {type(module).__name__}"
        if isinstance(module, MultiHeadAttention) and type(module.positions) is not Positions:
            return f"{name}.positions is {type(module.positions).__name__}"
        if isinstance(module, MultiHeadAttention) and module.widths != 3 * [module.d_model]:
            return f"{name} has d_k or d_v other than d_model / h"
        if isinstance(module, Stack) and module.norm is not None:
            return f"{name}.norm is {type(module.norm).__name__}"
        if isinstance(module, TokenEmbedding) and module.scale != math.sqrt(module.weight.shape[1]):
            return f"{name} is not scaled by the square root of d_model"
        if isinstance(module, nn.LayerNorm) and module.eps != 1e-5:
            return f"{name} has the epsilon {module.eps}"
        if isinstance(module, FeedForward) and module.activation not in ("relu", "swish"):
            return f"{name}.activation is {module.activation}"
    if isinstance(model, Transformer) and type(model.positions) is not SinusoidalPositions:
        return "positions are not added to the embeddings"
    return None


@torch.inference_mode()
def all_attention_weights(
    model: AnyTransformer,
    source: Int[Tensor, "batch source"],
    target: Int[Tensor, "batch target"],
    *,
    kinds: Sequence[Kind] = ("encoder", "decoder", "cross"),
) -> dict[Kind, Float[Tensor, "layers batch heads query memory"]]:
    """The weights of every layer's attention, by kind (section 3.2.3), while the decoder reads `target` (BOS first).

    Figures 3 to 5 of the paper show such weights. Row t of the cross attention shows where the model looks to choose
    the token after target position t; each row sums to 1. Padded memory positions have weight 0; rows of padded
    positions mean nothing. Raises UserError for a model without an encoder.
    """
    if not isinstance(model, Transformer):
        raise UserError("model.family=decoder has no attention over an encoder: there are no alignments and pictures")
    tensors = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    observed = copy.deepcopy(model, tensors)  # with the same tensors; other threads do not see what changes here
    seen: dict[Kind, list[Tensor]] = {kind: [] for kind in kinds}
    for kind in kinds:
        for layer in (observed.encoder if kind == "encoder" else observed.decoder).layers:
            _observe(layer.cross_attention if kind == "cross" else layer.self_attention, seen[kind])
    observed.hidden(source, target)
    return {kind: torch.stack(weights) for kind, weights in seen.items()}


def _observe(layer: MultiHeadAttention, seen: list[Tensor]) -> None:
    """Let an attention note its weights."""
    layer.attention = _Remembering(layer.attention, seen)
    if isinstance(layer.positions, RelativePositions):  # which do not call it
        weights = layer.positions.weights

        def noted(*inputs: Tensor | None) -> Tensor:
            seen.append(weights(*inputs))
            return seen[-1]

        layer.positions.weights = noted


class _Remembering(nn.Module):
    """An attention that notes its weights: what it gathers where each memory position has a feature of its own."""

    def __init__(self, attention: Attention, seen: list[Tensor]) -> None:
        super().__init__()
        self.attention = attention
        self.seen = seen

    def forward(self, query: Tensor, key: Tensor, value: Tensor, *mask_and_bias: Tensor | None) -> Tensor:
        """The same as `attention`."""
        one_hot = torch.eye(key.shape[2], dtype=key.dtype, device=key.device).expand(*key.shape[:3], -1)
        self.seen.append(self.attention(query, key, one_hot, *mask_and_bias))
        return self.attention(query, key, value, *mask_and_bias)
