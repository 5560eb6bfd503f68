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

from mt.config.schema import TrainConfig
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError
from mt.model.positions import positional_encoding
from mt.model.transformer import Transformer
from mt.runs.checkpoint import model_tensors
from mt.translation.translator import Translator

_SETTINGS = "translate_batch.json"  # arguments of the engine's `Translator.translate_batch`
_CONFIG = {
    "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "decoder_start_token": "<s>",
    "add_source_eos": True, "layer_norm_epsilon": 1e-5,  # torch's, which the model has
}  # fmt: skip


def write_ctranslate2(
    folder: Path, *, run: TrainConfig, model: Transformer, translator: Translator, quantization: str
) -> None:
    """Write into an existing folder all but the SentencePiece models; `quantization` is the type of the matrices.

    Raises UserError without the engine, OSError.
    """
    if importlib.util.find_spec("ctranslate2") is None:
        raise UserError("ctranslate2 is not installed: in the repository, pip install -e '.[export]'")
    decoding, longest = run.decoding, translator.search.longest(run.decoding.max_source_tokens)
    spec = _spec(run, model, positions=max(run.decoding.max_source_tokens, longest) + 2)  # BOS or EOS
    target = _subwords(translator.target_tokenizer)
    spec.register_source_vocabulary(_subwords(translator.source_tokenizer))
    spec.register_target_vocabulary(target)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    forbidden = [target[token] for token in translator.search.forbidden]
    settings = {
        "beam_size": decoding.beam_size,
        "length_penalty": decoding.length_penalty,
        "max_input_length": 0,
        "min_decoding_length": decoding.min_output_tokens or 0,
        "max_decoding_length": longest,
        "no_repeat_ngram_size": decoding.no_repeat_ngram_size or 0,
        "disable_unk": "<unk>" in forbidden,
        "suppress_sequences": [[subword] for subword in forbidden if subword != "<unk>"],
    }
    (folder / _SETTINGS).write_bytes((json.dumps(settings, indent=2) + "\n").encode())


def _spec(run: TrainConfig, model: Transformer, *, positions: int) -> Any:
    """The engine's description of the model, with its parameters."""
    from ctranslate2.specs import common_spec, transformer_spec  # noqa: PLC0415  an optional library

    sizes = run.model
    activations = {"relu": common_spec.Activation.RELU, "swish": common_spec.Activation.SWISH}
    spec = transformer_spec.TransformerSpec.from_config(
        (len(model.encoder.layers), len(model.decoder.layers)),
        sizes.num_heads,
        pre_norm=False,
        activation=activations[sizes.activation],
    )
    arrays = {name: tensor.numpy().copy() for name, tensor in model_tensors(model).items()}  # quantised in place
    table = positional_encoding(positions, sizes.d_model)
    target = arrays["target_embedding.weight"]
    for name, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        stack.scale_embeddings = True
        stack.position_encodings.encodings = table.numpy().astype(np.float32)
        for number, layer in enumerate(stack.layer):
            _fill_layer(layer, arrays, f"{name}.layers.{number}")
    spec.encoder.embeddings[0].weight = arrays.get("source_embedding.weight", target)
    spec.decoder.embeddings.weight = target
    spec.decoder.projection.weight = target
    if "target_embedding.bias" in arrays:
        spec.decoder.projection.bias = arrays["target_embedding.bias"]
    for key, value in _CONFIG.items():
        setattr(spec.config, key, value)
    return spec


def _fill_layer(spec: Any, arrays: Mapping[str, np.ndarray], name: str) -> None:
    attention = spec.self_attention
    parts = {
        "self_attention.projection": attention.linear[0],
        "self_attention.output": attention.linear[1],
        "self_attention_residual.norm": attention.layer_norm,
        "feed_forward.inner": spec.ffn.linear_0,
        "feed_forward.outer": spec.ffn.linear_1,
        "feed_forward_residual.norm": spec.ffn.layer_norm,
    }
    if name.startswith("decoder"):
        attention = spec.attention
        parts["cross_attention.output"] = attention.linear[2]
        parts["cross_attention_residual.norm"] = attention.layer_norm
        for end in ("weight", "bias"):  # the engine projects queries alone, keys and values together
            queries, keys, values = np.split(arrays[f"{name}.cross_attention.projection.{end}"], 3)
            setattr(attention.linear[0], end, queries)
            setattr(attention.linear[1], end, np.concatenate([keys, values]))
    for part, filled in parts.items():
        ends = ("gamma", "beta") if part.endswith("norm") else ("weight", "bias")
        for theirs, ours in zip(ends, ("weight", "bias"), strict=True):
            setattr(filled, theirs, arrays[f"{name}.{part}.{ours}"])


class CTranslate2Engine:
    """CTranslate2 on the CPU, one thread, with the types that the folder's weights have."""

    def __init__(self, folder: Path, translator: Translator) -> None:
        import ctranslate2  # noqa: PLC0415  an optional library

        self.translator: Any = ctranslate2.Translator(str(folder), device="cpu", inter_threads=1, intra_threads=1)
        self.settings = json.loads((folder / _SETTINGS).read_bytes())
        self.source, self.target = _subwords(translator.source_tokenizer), _subwords(translator.target_tokenizer)
        self.ids = {subword: token for token, subword in enumerate(self.target)}

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


def _subwords(tokenizer: Tokenizer) -> list[str]:
    """All written forms, by id."""
    return tokenizer.subwords(range(tokenizer.vocab_size))
