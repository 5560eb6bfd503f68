"""A folder that CTranslate2 loads: its `TransformerSpec`, filled directly from the model; and loading it for the proof.

No converter is used, and nothing is permuted: the table of positions is written out, interleaved as in the paper,
because the engine's own table differs (all sines, then all cosines, other frequencies).
"""

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from mt.config.schema import Decoding
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError
from mt.export.folder import write_files
from mt.export.search_settings import EXTRA_POSITIONS, batch_settings, longest_sequence
from mt.export.supported import LAYER_NORM_EPSILON, architecture
from mt.model.positions import positional_encoding
from mt.model.transformer import Transformer
from mt.runs.checkpoint import model_tensors
from mt.translation.translator import Translator

_SETTINGS = "translate_batch.json"  # arguments of the engine's `Translator.translate_batch`
_CONFIG = {
    "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "decoder_start_token": "<s>",
    "add_source_eos": True, "layer_norm_epsilon": LAYER_NORM_EPSILON,
}  # fmt: skip


def write_ctranslate2(folder: Path, *, translator: Translator, decoding: Decoding, quantization: str) -> None:
    """Write into an existing folder all but the SentencePiece models; `quantization` is the type of the matrices.

    Raises UserError without the engine, OSError, DiskError.
    """
    if importlib.util.find_spec("ctranslate2") is None:
        raise UserError("ctranslate2 is not installed: pip install 'mt-transformer[export]'")
    spec = _spec(translator.model, positions=longest_sequence(decoding) + EXTRA_POSITIONS)
    target = _subwords(translator.target_tokenizer)
    spec.register_source_vocabulary(_subwords(translator.source_tokenizer))
    spec.register_target_vocabulary(target)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    settings = batch_settings(decoding, [target[token] for token in translator.search.forbidden])
    write_files(folder, {_SETTINGS: (json.dumps(settings, indent=2) + "\n").encode()})


def _spec(model: Transformer, *, positions: int) -> Any:
    """The engine's description of the model, with its parameters."""
    from ctranslate2.specs import common_spec, transformer_spec  # noqa: PLC0415  an optional library

    layer = architecture(model)
    activations = {"relu": common_spec.Activation.RELU, "swish": common_spec.Activation.SWISH}
    spec = transformer_spec.TransformerSpec.from_config(
        len(model.encoder.layers), layer.num_heads, pre_norm=False, activation=activations[layer.activation]
    )
    arrays = {name: tensor.numpy().copy() for name, tensor in model_tensors(model).items()}  # quantised in place
    table = positional_encoding(positions, layer.d_model).numpy().astype(np.float32)
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
    for key, value in _CONFIG.items():
        setattr(spec.config, key, value)
    return spec


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
    for linear, rows in ((spec.linear[0], slice(None, d_model)), (spec.linear[1], slice(d_model, None))):
        linear.weight = arrays[f"{name}.projection.weight"][rows]
        linear.bias = arrays[f"{name}.projection.bias"][rows]
    _fill(spec.linear[2], arrays, f"{name}.output")
    _fill_norm(spec.layer_norm, arrays, f"{name}_residual.norm")


def _fill(spec: Any, arrays: Mapping[str, np.ndarray], name: str) -> None:
    spec.weight, spec.bias = arrays[f"{name}.weight"], arrays[f"{name}.bias"]


def _fill_norm(spec: Any, arrays: Mapping[str, np.ndarray], name: str) -> None:
    spec.gamma, spec.beta = arrays[f"{name}.weight"], arrays[f"{name}.bias"]


class CTranslate2Engine:
    """CTranslate2 on the CPU, one thread, with the types that the folder's weights have."""

    def __init__(self, folder: Path, *, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> None:
        import ctranslate2  # noqa: PLC0415  an optional library

        self.translator: Any = ctranslate2.Translator(str(folder), device="cpu", inter_threads=1, intra_threads=1)
        self.settings = json.loads((folder / _SETTINGS).read_bytes())
        self.source, self.target = _subwords(source_tokenizer), _subwords(target_tokenizer)
        self.ids = {subword: token for token, subword in enumerate(self.target)}

    def encode(self, texts: Sequence[str]) -> None:
        """The engine takes subwords, not text."""

    def greedy(self, sources: Sequence[Sequence[int]], *, longest: int) -> list[list[int]]:
        """`translate_batch` with the folder's own settings, but a beam of 1."""
        written = [[self.source[token] for token in source] for source in sources]
        plain = {"beam_size": 1, "min_decoding_length": 0, "no_repeat_ngram_size": 0, "max_decoding_length": longest}
        results = self.translator.translate_batch(written, **{**self.settings, **plain})
        return [[self.ids[subword] for subword in result.hypotheses[0]] for result in results]

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Float[np.ndarray, "positions vocabulary"]:
        """`translate_batch` with the target as a forced prefix and one token after it."""
        result = self.translator.translate_batch(
            [[self.source[token] for token in source]],
            target_prefix=[[self.target[token] for token in target]],
            beam_size=1,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=len(target) + 1,
            return_logits_vocab=True,
        )[0]
        return np.stack([np.array(step).reshape(-1) for step in result.logits[0]])

    def decode(self, tokens: Sequence[int]) -> None:
        """The engine gives subwords, not text."""


def _subwords(tokenizer: Tokenizer) -> list[str]:
    """All written forms, by id."""
    return tokenizer.subwords(range(tokenizer.vocab_size))
