"""A folder that transformers loads as `MarianMTModel` and `MarianTokenizer`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import safetensors.torch
from torch import Tensor

from mt.export.marian import to_marian
from mt.export.vocabulary import SpecialIds
from mt.model.transformer import Transformer

POSITIONS_BEYOND = 2  # BOS in the decoder, EOS in the encoder


def marian_files(
    *,
    model: Transformer,
    tensors: Mapping[str, Tensor],
    special: SpecialIds,
    source_rows: Sequence[int],
    target_rows: Sequence[int],
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    languages: tuple[str, str],
    longest: int,
    settings: Mapping[str, Any],
    forbidden: Sequence[int],
) -> dict[str, bytes]:
    """The files of the folder by name, without the SentencePiece models `source.spm` and `target.spm`.

    `rows` are our pieces in the order of the folder's token ids, `pieces` their written forms in that order,
    `longest` the longest sequence of tokens, `settings` the generation configuration, and `forbidden` the token ids
    that no search may produce.
    """
    config = _model_config(model, longest=longest, sizes=(len(source_rows), len(target_rows)), special=special)
    weights = to_marian(tensors, num_layers=len(model.encoder.layers), source_rows=source_rows, target_rows=target_rows)
    generation = {**_ids(special), "forced_eos_token_id": special.eos, "suppress_tokens": list(forbidden), **settings}
    joint = model.source_embedding is model.target_embedding
    tokenizer = _tokenizer_config(target_pieces[special.start], languages, joint=joint, longest=longest)
    files = {
        "config.json": _json(config),
        "generation_config.json": _json(generation),
        "tokenizer_config.json": _json(tokenizer),
        "vocab.json": _json({piece: token for token, piece in enumerate(source_pieces)}),
        "model.safetensors": safetensors.torch.save(weights, metadata={"format": "pt"}),
    }
    if not joint:
        files["target_vocab.json"] = _json({piece: token for token, piece in enumerate(target_pieces)})
    return files


def _ids(special: SpecialIds) -> dict[str, Any]:
    return {
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "bos_token_id": None if special.start == special.pad else special.start,
        "decoder_start_token_id": special.start,
    }


def _model_config(model: Transformer, *, longest: int, sizes: tuple[int, int], special: SpecialIds) -> dict[str, Any]:
    layer = model.decoder.layers[0]
    heads, width = layer.self_attention.num_heads, layer.feed_forward.inner.out_features
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "d_model": layer.self_attention.d_model,
        "encoder_layers": len(model.encoder.layers),
        "decoder_layers": len(model.decoder.layers),
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": width,
        "decoder_ffn_dim": width,
        "activation_function": layer.feed_forward.activation,
        "dropout": layer.feed_forward_residual.dropout.p,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": longest + POSITIONS_BEYOND,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_bias_logits": False,
        "add_final_layer_norm": False,
        "tie_word_embeddings": True,
        "share_encoder_decoder_embeddings": model.source_embedding is model.target_embedding,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "use_cache": True,
        "dtype": "float32",
        **_ids(special),
        "forced_eos_token_id": special.eos,
    }


def _tokenizer_config(start: str, languages: tuple[str, str], *, joint: bool, longest: int) -> dict[str, Any]:
    """`split_special_tokens`: a `</s>` that somebody types is text, and becomes no mark."""
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": languages[0],
        "target_lang": languages[1],
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        **({"bos_token": start} if start != "<pad>" else {}),
        "separate_vocabs": not joint,
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
        "model_max_length": longest,
    }


def _json(values: object) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
