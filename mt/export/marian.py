"""The parameters under Marian's names, as `MarianMTModel` of transformers has them, and back, bit for bit.

Apart from the names, two things differ. Marian lays the position features out as all sines and then all cosines, where
the paper interleaves them, with the same frequencies: so the features of width d_model are permuted, in every matrix
that reads or writes them. And Marian keeps W^Q, W^K and W^V apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

LOGITS_BIAS = "final_logits_bias"
SHARED = "model.shared.weight"
TARGET_EMBEDDING, SOURCE_EMBEDDING = "target_embedding.weight", "source_embedding.weight"
OUTPUT_BIAS = "target_embedding.bias"

_ATTENTION = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
_NORMS = {
    "self_attention_residual": "self_attn_layer_norm",
    "cross_attention_residual": "encoder_attn_layer_norm",
    "feed_forward_residual": "final_layer_norm",
}


@dataclass(frozen=True)
class Parameter:
    """One parameter, Marian's names of its blocks of rows, and which of its axes are features of width d_model."""

    name: str
    blocks: tuple[str, ...]
    feature_axes: tuple[int, ...]


def to_marian(
    tensors: Mapping[str, Tensor], *, num_layers: int, source_rows: Sequence[int], target_rows: Sequence[int]
) -> dict[str, Tensor]:
    """Our parameters as Marian's; `rows` gives for each of Marian's token ids the id of our subword.

    Where source and target share their embedding, both lists are the same.
    """
    order = sines_then_cosines(tensors[TARGET_EMBEDDING].shape[1])
    found = {}
    for parameter in _layer_parameters(num_layers):
        blocks = tensors[parameter.name].chunk(len(parameter.blocks))
        for name, block in zip(parameter.blocks, blocks, strict=True):
            found[name] = _permuted(block, order, parameter.feature_axes)
    target = tensors[TARGET_EMBEDDING][list(target_rows)][:, order]
    if SOURCE_EMBEDDING in tensors:
        found["model.encoder.embed_tokens.weight"] = tensors[SOURCE_EMBEDDING][list(source_rows)][:, order]
        found["model.decoder.embed_tokens.weight"] = target
    else:
        found[SHARED] = target
    bias = tensors.get(OUTPUT_BIAS, torch.zeros(tensors[TARGET_EMBEDDING].shape[0]))
    found[LOGITS_BIAS] = bias[list(target_rows)].unsqueeze(0)
    return {name: tensor.contiguous() for name, tensor in found.items()}


def from_marian(tensors: Mapping[str, Tensor], *, num_layers: int) -> dict[str, Tensor]:
    """The parameters of the layers, from Marian's. Raises KeyError for a missing one."""
    order = sines_then_cosines(tensors["model.encoder.layers.0.fc1.weight"].shape[1])
    back = torch.argsort(order)
    return {
        parameter.name: torch.cat([_permuted(tensors[name], back, parameter.feature_axes) for name in parameter.blocks])
        for parameter in _layer_parameters(num_layers)
    }


def embedding_from_marian(
    embedding: Float[Tensor, "marian_vocabulary d_model"], rows: Int[Tensor, " vocabulary"]
) -> Float[Tensor, "vocabulary d_model"]:
    """The embedding whose row i is Marian's row `rows[i]`, with the features interleaved."""
    return embedding[rows][:, torch.argsort(sines_then_cosines(embedding.shape[1]))].contiguous()


def layer_names(num_layers: int) -> set[str]:
    """Marian's names of everything in the layers."""
    return {name for parameter in _layer_parameters(num_layers) for name in parameter.blocks}


def _layer_parameters(num_layers: int) -> Iterator[Parameter]:
    for stack in ("encoder", "decoder"):
        for layer in range(num_layers):
            ours, marian = f"{stack}.layers.{layer}", f"model.{stack}.layers.{layer}"
            for attention, name in _ATTENTION.items():
                if stack == "decoder" or attention == "self_attention":
                    yield from _attention(f"{ours}.{attention}", f"{marian}.{name}")
            for norm, name in _NORMS.items():
                if stack == "decoder" or norm != "cross_attention_residual":
                    for end in ("weight", "bias"):
                        yield Parameter(f"{ours}.{norm}.norm.{end}", (f"{marian}.{name}.{end}",), (0,))
            yield Parameter(f"{ours}.feed_forward.inner.weight", (f"{marian}.fc1.weight",), (1,))
            yield Parameter(f"{ours}.feed_forward.inner.bias", (f"{marian}.fc1.bias",), ())
            yield Parameter(f"{ours}.feed_forward.outer.weight", (f"{marian}.fc2.weight",), (0,))
            yield Parameter(f"{ours}.feed_forward.outer.bias", (f"{marian}.fc2.bias",), (0,))


def _attention(ours: str, marian: str) -> Iterator[Parameter]:
    """The features inside a head are not position features, so they are not permuted."""
    for end, axes in (("weight", (1,)), ("bias", ())):
        yield Parameter(f"{ours}.projection.{end}", tuple(f"{marian}.{role}_proj.{end}" for role in "qkv"), axes)
    for end in ("weight", "bias"):
        yield Parameter(f"{ours}.output.{end}", (f"{marian}.out_proj.{end}",), (0,))


def sines_then_cosines(d_model: int) -> Int[Tensor, " d_model"]:
    """The index of each of Marian's features among the interleaved ones: 0, 2, 4, …, then 1, 3, 5, …"""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def _permuted(tensor: Tensor, order: Int[Tensor, " d_model"], axes: tuple[int, ...]) -> Tensor:
    for axis in axes:
        tensor = tensor.index_select(axis, order)
    return tensor
