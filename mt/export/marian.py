"""The parameters under Marian's names, as `MarianMTModel` of transformers has them, and back, bit for bit.

Apart from the names, two things differ. Marian lays the position features out as all sines and then all cosines, where
the paper interleaves them, with the same frequencies: so the features of width d_model are permuted, in every matrix
that reads or writes them. Marian also keeps W^Q, W^K and W^V apart.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

Depths = tuple[int, int]  # the numbers of layers of the encoder and of the decoder

LOGITS_BIAS = "final_logits_bias"
SHARED = "model.shared.weight"
TARGET_EMBEDDING, SOURCE_EMBEDDING = "target_embedding.weight", "source_embedding.weight"
OUTPUT_BIAS = "target_embedding.bias"

# Parts of a layer: ours, Marian's for each block of rows, and the axes of the weight and of the bias that are features
# of width d_model. The features inside a head are not position features, so they are not permuted.
_ENCODER = (
    ("self_attention.projection", ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), (1,), ()),
    ("self_attention.output", ("self_attn.out_proj",), (0,), (0,)),
    ("self_attention_residual.norm", ("self_attn_layer_norm",), (0,), (0,)),
    ("feed_forward.inner", ("fc1",), (1,), ()),
    ("feed_forward.outer", ("fc2",), (0,), (0,)),
    ("feed_forward_residual.norm", ("final_layer_norm",), (0,), (0,)),
)
_DECODER = (
    *_ENCODER,
    ("cross_attention.projection", ("encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj"), (1,), ()),
    ("cross_attention.output", ("encoder_attn.out_proj",), (0,), (0,)),
    ("cross_attention_residual.norm", ("encoder_attn_layer_norm",), (0,), (0,)),
)


def to_marian(
    tensors: Mapping[str, Tensor], *, num_layers: Depths, source_rows: Sequence[int], target_rows: Sequence[int]
) -> dict[str, Tensor]:
    """Our parameters as Marian's; `rows` gives for each of Marian's token ids the id of our subword.

    Where source and target share their embedding, both lists are the same.
    """
    order = sines_then_cosines(tensors[TARGET_EMBEDDING].shape[1])
    found = {}
    for ours, theirs, axes in _layer_parameters(num_layers):
        for name, block in zip(theirs, tensors[ours].chunk(len(theirs)), strict=True):
            found[name] = _permuted(block, order, axes)
    target = tensors[TARGET_EMBEDDING][list(target_rows)][:, order]
    if SOURCE_EMBEDDING in tensors:
        found["model.encoder.embed_tokens.weight"] = tensors[SOURCE_EMBEDDING][list(source_rows)][:, order]
        found["model.decoder.embed_tokens.weight"] = target
    else:
        found[SHARED] = target
    bias = tensors.get(OUTPUT_BIAS, torch.zeros(tensors[TARGET_EMBEDDING].shape[0]))
    found[LOGITS_BIAS] = bias[list(target_rows)].unsqueeze(0)
    return {name: tensor.contiguous() for name, tensor in found.items()}


def from_marian(
    tensors: Mapping[str, Tensor], *, num_layers: Depths, rows: Int[Tensor, " vocabulary"]
) -> dict[str, Tensor]:
    """Our parameters from Marian's, without the output bias; `rows` gives for each of our subwords Marian's token id.

    Raises KeyError for a missing one.
    """
    back = torch.argsort(sines_then_cosines(tensors[SHARED].shape[1]))
    found = {TARGET_EMBEDDING: tensors[SHARED][rows][:, back].contiguous()}
    for ours, theirs, axes in _layer_parameters(num_layers):
        found[ours] = torch.cat([_permuted(tensors[name], back, axes) for name in theirs])
    return found


def layer_shapes(*, num_layers: Depths, d_model: int, d_ff: int) -> dict[str, tuple[int, ...]]:
    """Marian's names and shapes of everything in the layers."""
    shapes = {"fc1": (d_ff, d_model), "fc2": (d_model, d_ff)}
    found: dict[str, tuple[int, ...]] = {}
    for name in (name for _, theirs, _ in _layer_parameters(num_layers) for name in theirs):
        *_, part, end = name.split(".")
        shape = shapes.get(part, (d_model, d_model))
        found[name] = shape if end == "weight" and not part.endswith("norm") else shape[:1]
    return found


def _layer_parameters(num_layers: Depths) -> Iterator[tuple[str, tuple[str, ...], tuple[int, ...]]]:
    """Our name, Marian's names of its blocks of rows, and which of its axes are features of width d_model."""
    for stack, depth, parts in zip(("encoder", "decoder"), num_layers, (_ENCODER, _DECODER), strict=True):
        for layer, (ours, theirs, *axes) in itertools.product(range(depth), parts):
            for end, feature_axes in zip(("weight", "bias"), axes, strict=True):
                blocks = tuple(f"model.{stack}.layers.{layer}.{name}.{end}" for name in theirs)
                yield f"{stack}.layers.{layer}.{ours}.{end}", blocks, feature_axes


def sines_then_cosines(d_model: int) -> Int[Tensor, " d_model"]:
    """The index of each of Marian's features among the interleaved ones: 0, 2, 4, …, then 1, 3, 5, …"""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def _permuted(tensor: Tensor, order: Int[Tensor, " d_model"], axes: tuple[int, ...]) -> Tensor:
    for axis in axes:
        tensor = tensor.index_select(axis, order)
    return tensor
