"""Reading a Marian folder of the Hugging Face layout, such as OPUS-MT's, as far as this project can represent it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from mt.data.tokenizer import PAD
from mt.errors import BadFileError, UserError
from mt.export.marian import (
    LOGITS_BIAS,
    OUTPUT_BIAS,
    SHARED,
    TARGET_EMBEDDING,
    embedding_from_marian,
    from_marian,
    layer_names,
)
from mt.export.vocabulary import SPECIAL_SUBWORDS, SpecialIds, marian_ids

_WEIGHTS = "model.safetensors"
_NEVER = -100.0  # the output bias of a subword that the folder's vocabulary lacks: its probability is 0 in fp32
_LARGEST_JSON_BYTES = 100_000_000
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish"}
_COPIES = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
# What must hold for the folder to be this model: the key, the value that it must have, the one that transformers takes
# where config.json does not have the key, and the option or section here.
_REQUIRED: tuple[tuple[str, Any, Any, str], ...] = (
    ("model_type", "marian", None, "the architecture"),
    ("is_encoder_decoder", True, True, "the architecture"),
    ("scale_embedding", True, False, "model.d_model: embeddings are times √d_model"),
    ("static_position_embeddings", True, True, "the positions: sinusoidal ones only"),
    ("normalize_before", False, False, "the normalisation: after the sum only"),
    ("normalize_embedding", False, False, "the normalisation: none on embeddings"),
    ("add_final_layer_norm", False, False, "the normalisation: none at the end"),
    ("tie_word_embeddings", True, True, "the tied output embedding"),
    ("share_encoder_decoder_embeddings", True, True, "tokenizer.shared_vocab: one vocabulary for both sides"),
)


@dataclass(frozen=True)
class MarianFolder:
    """What a folder holds; `tokens` are the written forms in the order of their ids, `tensors` in fp32."""

    path: Path
    model_options: dict[str, Any]
    special: SpecialIds
    tokens: list[str]
    tensors: dict[str, Tensor]
    longest: int
    search: dict[str, Any]
    forbids_unknown: bool


def read_marian_folder(folder: Path) -> MarianFolder:
    """Read the folder. Raises UserError naming the option for what cannot be represented, BadFileError."""
    config = read_json(folder / "config.json")
    for key, wanted, absent, option in _REQUIRED:
        found = config.get(key, absent)
        if found != wanted:
            raise UserError(f"{folder / 'config.json'}: {key}={found} cannot be imported, only {wanted} ({option})")
    path = folder / "generation_config.json"
    generation = read_json(path) if path.is_file() else config
    tokens = _tokens(folder / "vocab.json", size=_whole(config, "vocab_size", folder))
    special = _special_ids(config, tokens, folder)
    suppressed = {token for word in generation.get("bad_words_ids") or [] if len(word) == 1 for token in word}
    suppressed |= set(generation.get("suppress_tokens") or [])
    tensors = _load(folder)
    # The id that is both <pad> and the start has a logit, which only our BOS gets.
    bias = special.pad == special.start or (LOGITS_BIAS in tensors and bool(tensors[LOGITS_BIAS].any()))
    return MarianFolder(
        path=folder,
        model_options={**_model_options(config, folder), "output_bias": bias},
        special=special,
        tokens=tokens,
        tensors=tensors,
        longest=_whole(config, "max_position_embeddings", folder),
        search={
            "beam_size": int(generation.get("num_beams") or 1),
            "length_penalty": float(generation.get("length_penalty", 1.0) or 0.0),
            "length_penalty_form": "power",
        },
        forbids_unknown=special.unknown in suppressed,
    )


def read_weights(found: MarianFolder, *, vocab_size: int) -> dict[str, Tensor]:
    """The parameters of our model, for a vocabulary of this size. Raises UserError, BadFileError."""
    path, tensors, num_tokens = found.path / _WEIGHTS, found.tensors, len(found.tokens)
    num_layers, d_model = found.model_options["num_layers"], found.model_options["d_model"]
    _check_names(tensors, path, num_layers=num_layers)
    ids = torch.tensor(marian_ids(found.special, num_tokens, vocab_size=vocab_size))
    embedding = tensors[SHARED]
    if list(embedding.shape) != [num_tokens, d_model]:
        raise BadFileError(f"{path}: {SHARED} has shape {list(embedding.shape)}, not {[num_tokens, d_model]}")
    try:
        parameters = from_marian(tensors, num_layers=num_layers)
        bias = tensors.get(LOGITS_BIAS, torch.zeros(1, num_tokens))[0][ids]
    except (RuntimeError, IndexError) as error:
        raise BadFileError(f"{path}: a tensor is not of the shape that config.json implies ({error})") from error
    parameters[TARGET_EMBEDDING] = embedding_from_marian(embedding, ids)
    if found.model_options["output_bias"]:
        bias[len(SPECIAL_SUBWORDS) + num_tokens - len({*vars(found.special).values()}) :] = _NEVER
        if found.special.pad == found.special.start:
            bias[PAD] = _NEVER  # the folder's one logit for both is that of BOS
        parameters[OUTPUT_BIAS] = bias
    return parameters


def read_json(path: Path) -> dict[str, Any]:
    """An object from a JSON file. Raises UserError where there is none, BadFileError for a damaged one."""
    if not path.is_file():
        raise UserError(f"{path.parent}: not a Marian folder, it has no {path.name}")
    try:
        if path.stat().st_size > _LARGEST_JSON_BYTES:
            raise BadFileError(f"{path}: too large")
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BadFileError(f"{path}: not readable as JSON ({error})") from error
    if not isinstance(values, dict):
        raise BadFileError(f"{path}: not a JSON object")
    return values


def _load(folder: Path) -> dict[str, Tensor]:
    path = folder / _WEIGHTS
    if not path.is_file() and (folder / "pytorch_model.bin").is_file():
        raise UserError(
            f"{folder}: pytorch_model.bin can run code when it is read; convert it where you trust it, with "
            "transformers' MarianMTModel.from_pretrained(FOLDER).save_pretrained(NEW), and import NEW"
        )
    if not path.is_file():
        raise UserError(f"{folder}: it has no {path.name}")
    try:
        return {name: tensor.to(torch.float32) for name, tensor in safetensors.torch.load(path.read_bytes()).items()}
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError) as error:
        raise BadFileError(f"{path}: not a safetensors file ({error})") from error


def _check_names(tensors: dict[str, Tensor], path: Path, *, num_layers: int) -> None:
    if SHARED not in tensors:  # some writers save what is tied under another of its names only
        copy = next((name for name in _COPIES if name in tensors), None)
        tensors.update({} if copy is None else {SHARED: tensors[copy]})
    wanted = {SHARED, *layer_names(num_layers)}
    for name in sorted(wanted - tensors.keys()):
        raise BadFileError(f"{path}: tensor {name!r} is missing")
    for name in sorted(tensors.keys() - wanted - {LOGITS_BIAS, *_COPIES, *_POSITIONS}):
        raise UserError(f"{path}: tensor {name!r} does not belong to this model")


def _model_options(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    pairs = {"num_layers": "layers", "num_heads": "attention_heads", "d_ff": "ffn_dim"}
    options: dict[str, Any] = {"d_model": _whole(config, "d_model", folder)}
    for option, name in pairs.items():
        encoder, decoder = (_whole(config, f"{side}_{name}", folder) for side in ("encoder", "decoder"))
        if encoder != decoder:
            raise UserError(
                f"{folder / 'config.json'}: encoder_{name}={encoder} and decoder_{name}={decoder} cannot be imported, "
                f"only equal ones (model.{option})"
            )
        options[option] = encoder
    activation = config.get("activation_function", "gelu")
    if activation not in _ACTIVATIONS:
        raise UserError(
            f"{folder / 'config.json'}: activation_function={activation} cannot be imported, "
            "only relu and swish (model.activation)"
        )
    options["activation"] = _ACTIVATIONS[activation]
    options["dropout"] = float(config.get("dropout", 0.1))
    return options


def _special_ids(config: dict[str, Any], tokens: list[str], folder: Path) -> SpecialIds:
    ids = {token: number for number, token in enumerate(tokens)}
    if missing := {"<pad>", "<unk>", "</s>"} - ids.keys():
        raise BadFileError(f"{folder / 'vocab.json'}: has no {', '.join(sorted(missing))}")
    special = SpecialIds(
        pad=_whole(config, "pad_token_id", folder),
        unknown=ids["<unk>"],
        start=_whole(config, "decoder_start_token_id", folder),
        eos=_whole(config, "eos_token_id", folder),
    )
    if (special.pad, special.eos) != (ids["<pad>"], ids["</s>"]):
        raise BadFileError(f"{folder / 'config.json'}: pad_token_id and eos_token_id are not those of vocab.json")
    if special.start != special.pad and (special.start >= len(tokens) or tokens[special.start] != "<s>"):
        raise UserError(
            f"{folder / 'config.json'}: decoder_start_token_id={special.start} cannot be imported, only <pad> or <s>"
        )
    return special


def _tokens(path: Path, *, size: int) -> list[str]:
    by_id = {token_id: token for token, token_id in read_json(path).items() if isinstance(token_id, int)}
    if len(by_id) != size or min(by_id, default=0) != 0 or max(by_id, default=-1) != size - 1:
        raise BadFileError(f"{path}: its ids are not 0 to {size - 1}, as config.json has it")
    tokens = [by_id[token_id] for token_id in range(size)]
    codes = [token for token in tokens if token.startswith(">>") and token.endswith("<<")]
    if codes:
        raise UserError(f"{path}: a model of several target languages ({codes[0]}, …) cannot be imported (tokenizer)")
    return tokens


def _whole(config: dict[str, Any], key: str, folder: Path) -> int:
    value = config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadFileError(f"{folder / 'config.json'}: {key} is {value!r}, not a whole number")
    return value
