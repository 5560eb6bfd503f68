"""A run's search in the settings of another engine."""

from collections.abc import Sequence
from typing import Any

from mt.config.schema import Decoding

EXTRA_POSITIONS = 2  # beyond the longest sequence: BOS in the decoder, EOS in the encoder


def longest_output(decoding: Decoding) -> int:
    """The most tokens of an output, EOS included."""
    most = decoding.max_source_tokens + decoding.max_extra_tokens
    return most if decoding.max_output_tokens is None else min(most, decoding.max_output_tokens + 1)


def longest_sequence(decoding: Decoding) -> int:
    """The most tokens of a source or an output."""
    return max(decoding.max_source_tokens, longest_output(decoding))


def generation_settings(decoding: Decoding) -> dict[str, Any]:
    """What transformers' `generate` takes from the folder."""
    settings: dict[str, Any] = {
        "num_beams": decoding.beam_size,
        "do_sample": False,
        "max_length": longest_output(decoding),
    }
    if decoding.beam_size > 1:
        settings["length_penalty"] = decoding.length_penalty
        settings["early_stopping"] = bool(decoding.early_stopping) or "never"
    if decoding.min_output_tokens:
        settings["min_new_tokens"] = decoding.min_output_tokens
    if decoding.no_repeat_ngram_size:
        settings["no_repeat_ngram_size"] = decoding.no_repeat_ngram_size
    return settings


def batch_settings(decoding: Decoding, forbidden_subwords: Sequence[str]) -> dict[str, Any]:
    """Arguments of CTranslate2's `translate_batch`, which has an argument of its own for <unk>."""
    return {
        "beam_size": decoding.beam_size,
        "length_penalty": decoding.length_penalty,
        "max_input_length": 0,
        "min_decoding_length": decoding.min_output_tokens or 0,
        "max_decoding_length": longest_output(decoding),
        "no_repeat_ngram_size": decoding.no_repeat_ngram_size or 0,
        "disable_unk": "<unk>" in forbidden_subwords,
        "suppress_sequences": [[subword] for subword in forbidden_subwords if subword != "<unk>"],
    }
