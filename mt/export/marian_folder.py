"""Reading a Marian folder of the Hugging Face layout, such as OPUS-MT's, as far as this project can represent it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import Tensor

from mt.config.marks import Bounds
from mt.config.schema import CountOrZero, Fraction, Size
from mt.data.lines import without_surrogates
from mt.data.tokenizer import PAD
from mt.errors import BadFileError, UserError
from mt.export.marian import LOGITS_BIAS, OUTPUT_BIAS, SHARED, Depths, from_marian, layer_shapes
from mt.export.reading import (
    CONFIG_FILE,
    LARGEST_VOCABULARY_BYTES,
    WEIGHTS,
    Required,
    check_required,
    held_tensors,
    read_fp32,
    taken,
)
from mt.export.vocabulary import SPECIAL_SUBWORDS, SpecialIds, marian_ids
from mt.runs.atomic import read_json

_NEVER = -100.0  # the output bias of a subword that the folder's vocabulary lacks: its probability is 0 in fp32
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish"}
_COPIES = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
# The options of every Marian model; the import's command line cannot change them.
_PAPER = {
    "num_encoder_layers": None,
    "num_decoder_layers": None,
    "d_k": None,
    "d_v": None,
    "family": "encoder_decoder",
    "positions": "sinusoidal",
    "norm": "post",
    "norm_kind": "layer",
    "score": "scaled_dot",
    "tied_embeddings": "all",
}
_REQUIRED: Required = (
    ("model_type", "marian", None, "the architecture"),
    ("is_encoder_decoder", True, True, "the architecture"),
    ("scale_embedding", True, False, "model.d_model: embeddings are times √d_model"),
    ("static_position_embeddings", True, True, "the positions: sinusoidal ones only"),
    ("normalize_before", False, False, "the normalisation: after the sum only"),
    ("normalize_embedding", False, False, "the normalisation: none on embeddings"),
    ("add_final_layer_norm", False, False, "the normalisation: none at the end"),
    ("tie_word_embeddings", True, True, "the tied output embedding"),
    ("share_encoder_decoder_embeddings", True, True, "tokenizer.shared_vocab: one vocabulary for both sides"),
    ("quantization_config", None, None, "the type of the parameters"),
)


@dataclass(frozen=True, kw_only=True)
class _Config:
    """What is taken from config.json besides."""

    d_model: Size
    encoder_layers: Annotated[int, Bounds(1, 1000)]
    decoder_layers: Annotated[int, Bounds(1, 1000)]
    encoder_attention_heads: Size
    decoder_attention_heads: Size
    encoder_ffn_dim: Size
    decoder_ffn_dim: Size
    vocab_size: Size
    decoder_vocab_size: Size
    pad_token_id: CountOrZero
    decoder_start_token_id: CountOrZero
    eos_token_id: CountOrZero
    max_position_embeddings: Annotated[int, Bounds(2, 1 << 16)]
    activation_function: str
    dropout: Fraction


@dataclass(frozen=True, kw_only=True)
class _Generation:
    """What is taken from generation_config.json, or from config.json where there is none."""

    num_beams: Annotated[int, Bounds(1, 1000)]
    length_penalty: Annotated[float, Bounds(0, 10)]
    bad_words_ids: list[list[int]]
    suppress_tokens: list[int]


@dataclass(frozen=True)
class MarianFolder:
    """What a folder holds; `tokens` are the written forms in the order of their ids, `tensors` in fp32."""

    model_options: dict[str, Any]
    num_layers: Depths
    special: SpecialIds
    tokens: list[str]
    tensors: dict[str, Tensor]
    longest: int
    search: dict[str, Any]
    forbids_unknown: bool


def read_marian_folder(folder: Path) -> MarianFolder:
    """Read the folder. Raises UserError naming the option for what cannot be represented, BadFileError."""
    path, other = folder / CONFIG_FILE, folder / "generation_config.json"
    for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tokenizer.json"):
        if (folder / name).exists():  # transformers reads it too
            read_json(folder / name, LARGEST_VOCABULARY_BYTES)
    values = read_json(path)
    check_required(values, _REQUIRED, path)
    absent_values = {"dropout": 0.1, "activation_function": "gelu", "decoder_vocab_size": values.get("vocab_size")}
    config = taken(_Config, values, absent_values, path)
    nothing: dict[str, Any] = {"num_beams": 1, "length_penalty": 1.0, "bad_words_ids": [], "suppress_tokens": []}
    path, values = (other, read_json(other)) if other.exists() else (path, values)
    generation = taken(_Generation, values, nothing, path)
    tokens = _tokens(folder / "vocab.json", size=config.vocab_size)
    special = _special_ids(config, tokens, folder)
    options = _model_options(config, folder)
    depths = config.encoder_layers, config.decoder_layers
    tensors = _load(folder, options, num_tokens=len(tokens), num_layers=depths)
    # The id that is both <pad> and the start has a logit, which only our BOS gets.
    bias = special.pad == special.start or (LOGITS_BIAS in tensors and bool(tensors[LOGITS_BIAS].any()))
    return MarianFolder(
        model_options={**options, "output_bias": bias},
        num_layers=depths,
        special=special,
        tokens=tokens,
        tensors=tensors,
        longest=config.max_position_embeddings,
        search={
            "beam_size": generation.num_beams,
            "length_penalty": generation.length_penalty,
            "length_penalty_form": "power",
        },
        forbids_unknown=special.unknown in generation.suppress_tokens or [special.unknown] in generation.bad_words_ids,
    )


def read_weights(found: MarianFolder, *, vocab_size: int) -> dict[str, Tensor]:
    """The parameters of our model, for a vocabulary of this size."""
    tensors, num_tokens = found.tensors, len(found.tokens)
    ids = torch.tensor(marian_ids(found.special, num_tokens, vocab_size=vocab_size))
    parameters = from_marian(tensors, num_layers=found.num_layers, rows=ids)
    if found.model_options["output_bias"]:
        bias = tensors.get(LOGITS_BIAS, torch.zeros(1, num_tokens))[0][ids]
        bias[len(SPECIAL_SUBWORDS) + num_tokens - len({*vars(found.special).values()}) :] = _NEVER
        if found.special.pad == found.special.start:
            bias[PAD] = _NEVER  # the folder's one logit for both is that of BOS
        parameters[OUTPUT_BIAS] = bias
    return parameters


def _load(folder: Path, options: dict[str, Any], *, num_tokens: int, num_layers: Depths) -> dict[str, Tensor]:
    """The tensors in fp32, what is tied under one name. What they are is compared before any is read."""
    held = held_tensors(folder, "MarianMTModel")
    d_model = options["d_model"]
    wanted = layer_shapes(num_layers=num_layers, d_model=d_model, d_ff=options["d_ff"])
    embeddings = dict.fromkeys((SHARED, *_COPIES), (num_tokens, d_model))
    known = {**wanted, **embeddings, LOGITS_BIAS: (1, num_tokens)}
    # Some writers save what is tied under another of its names only.
    shared = next((name for name in embeddings if name in held), SHARED)
    optional = known.keys() - {shared, *wanted}
    tensors = read_fp32(folder / WEIGHTS, held, known=known, optional=optional, ignored=_POSITIONS)
    return {SHARED if name == shared else name: tensor for name, tensor in tensors.items()}


def _model_options(config: _Config, folder: Path) -> dict[str, Any]:
    options: dict[str, Any] = {"d_model": config.d_model, "dropout": config.dropout, **_PAPER}
    options |= {"num_layers": config.encoder_layers}
    if config.decoder_layers != config.encoder_layers:
        options["num_decoder_layers"] = config.decoder_layers
    for option, name in (("num_heads", "attention_heads"), ("d_ff", "ffn_dim")):
        encoder, decoder = (getattr(config, f"{side}_{name}") for side in ("encoder", "decoder"))
        if encoder != decoder:
            raise UserError(
                f"{folder / 'config.json'}: encoder_{name}={encoder} and decoder_{name}={decoder} cannot be imported, "
                f"only equal ones (model.{option})"
            )
        options[option] = encoder
    if config.activation_function not in _ACTIVATIONS:
        raise UserError(
            f"{folder / 'config.json'}: activation_function={config.activation_function} cannot be imported, "
            "only relu and swish (model.activation)"
        )
    return {**options, "activation": _ACTIVATIONS[config.activation_function]}


def _special_ids(config: _Config, tokens: list[str], folder: Path) -> SpecialIds:
    ids = {token: number for number, token in enumerate(tokens)}
    if missing := {"<pad>", "<unk>", "</s>"} - ids.keys():
        raise BadFileError(f"{folder / 'vocab.json'}: has no {', '.join(sorted(missing))}")
    pad, start, eos = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    special = SpecialIds(pad=pad, unknown=ids["<unk>"], start=start, eos=eos)
    if (special.pad, special.eos) != (ids["<pad>"], ids["</s>"]):
        raise BadFileError(f"{folder / 'config.json'}: pad_token_id and eos_token_id are not those of vocab.json")
    if config.decoder_vocab_size != len(tokens):
        raise BadFileError(f"{folder / 'config.json'}: decoder_vocab_size is not vocab_size, but both share vocab.json")
    if special.start != special.pad and (special.start >= len(tokens) or tokens[special.start] != "<s>"):
        raise UserError(
            f"{folder / 'config.json'}: decoder_start_token_id={special.start} cannot be imported, only <pad> or <s>"
        )
    return special


def _tokens(path: Path, *, size: int) -> list[str]:
    ids = read_json(path, LARGEST_VOCABULARY_BYTES).items()
    by_id = {token_id: token for token, token_id in ids if type(token_id) is int}
    if len(by_id) != size or by_id.keys() != set(range(size)):
        raise BadFileError(f"{path}: its ids are not 0 to {size - 1}, as config.json has it")
    tokens = [by_id[token_id] for token_id in range(size)]
    if without_surrogates("".join(tokens)) != "".join(tokens):
        raise BadFileError(f"{path}: holds a token that is not Unicode text")
    if codes := [token for token in tokens if token.startswith(">>") and token.endswith("<<")]:
        raise UserError(f"{path}: a model of several target languages ({codes[0]}, …) cannot be imported (tokenizer)")
    return tokens
