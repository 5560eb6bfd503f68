"""A folder that the engine CTranslate2 loads: its `TransformerSpec`, filled directly from the model.

No converter stands in between, and nothing is permuted: the table of positions is written out, interleaved as the
paper has it, because the engine's own table is another one (all sines, then all cosines, other frequencies).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from mt.model.positions import positional_encoding
from mt.model.transformer import Transformer

SETTINGS = "translate_batch.json"


def write_ctranslate2(
    folder: Path,
    *,
    model: Transformer,
    tensors: Mapping[str, Tensor],
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    quantization: str,
    longest: int,
) -> None:
    """Write `model.bin`, `config.json` and the vocabulary into an existing folder.

    `quantization` is the type of the matrices on disk, `longest` the number of positions. Raises ImportError
    without the engine, OSError.
    """
    from ctranslate2.specs import common_spec, transformer_spec  # noqa: PLC0415  an optional library

    layer = model.decoder.layers[0]
    activations = {"relu": common_spec.Activation.RELU, "swish": common_spec.Activation.SWISH}
    spec = transformer_spec.TransformerSpec.from_config(
        len(model.encoder.layers),
        layer.self_attention.num_heads,
        pre_norm=False,
        activation=activations[layer.feed_forward.activation],
    )
    arrays = {name: tensor.numpy().copy() for name, tensor in tensors.items()}  # the engine quantises in place
    table = positional_encoding(longest, layer.self_attention.d_model).numpy().astype(np.float32)
    target = arrays["target_embedding.weight"]
    for stack in (spec.encoder, spec.decoder):
        stack.scale_embeddings = True
        stack.position_encodings.encodings = table
    spec.encoder.embeddings[0].weight = arrays.get("source_embedding.weight", target)
    spec.decoder.embeddings.weight = target
    spec.decoder.projection.weight = target
    if "target_embedding.bias" in arrays:
        spec.decoder.projection.bias = arrays["target_embedding.bias"]
    for number, encoder_layer in enumerate(spec.encoder.layer):
        _fill_layer(encoder_layer, arrays, f"encoder.layers.{number}")
    for number, decoder_layer in enumerate(spec.decoder.layer):
        _fill_layer(decoder_layer, arrays, f"decoder.layers.{number}")
        _fill_cross_attention(decoder_layer.attention, arrays, f"decoder.layers.{number}.cross_attention")
    spec.register_source_vocabulary(list(source_pieces))
    spec.register_target_vocabulary(list(target_pieces))
    config = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "decoder_start_token": "<s>"}
    for key, value in {**config, "add_source_eos": True, "layer_norm_epsilon": 1e-5}.items():
        setattr(spec.config, key, value)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def settings_file(settings: Mapping[str, Any]) -> bytes:
    """The content of `translate_batch.json`: arguments of the engine's `Translator.translate_batch`."""
    return (json.dumps(settings, indent=2) + "\n").encode()


def _fill_layer(spec: Any, arrays: Mapping[str, np.ndarray], name: str) -> None:
    attention = spec.self_attention
    _fill(attention.linear[0], arrays, f"{name}.self_attention.projection")
    _fill(attention.linear[1], arrays, f"{name}.self_attention.output")
    _fill_norm(attention.layer_norm, arrays, f"{name}.self_attention_residual.norm")
    _fill(spec.ffn.linear_0, arrays, f"{name}.feed_forward.inner")
    _fill(spec.ffn.linear_1, arrays, f"{name}.feed_forward.outer")
    _fill_norm(spec.ffn.layer_norm, arrays, f"{name}.feed_forward_residual.norm")


def _fill_cross_attention(spec: Any, arrays: Mapping[str, np.ndarray], name: str) -> None:
    """The engine projects queries alone, keys and values together."""
    d_model = arrays[f"{name}.output.bias"].shape[0]
    for linear, part in ((spec.linear[0], slice(None, d_model)), (spec.linear[1], slice(d_model, None))):
        linear.weight = arrays[f"{name}.projection.weight"][part]
        linear.bias = arrays[f"{name}.projection.bias"][part]
    _fill(spec.linear[2], arrays, f"{name}.output")
    _fill_norm(spec.layer_norm, arrays, f"{name}_residual.norm")


def _fill(spec: Any, arrays: Mapping[str, np.ndarray], name: str) -> None:
    spec.weight, spec.bias = arrays[f"{name}.weight"], arrays[f"{name}.bias"]


def _fill_norm(spec: Any, arrays: Mapping[str, np.ndarray], name: str) -> None:
    spec.gamma, spec.beta = arrays[f"{name}.weight"], arrays[f"{name}.bias"]
