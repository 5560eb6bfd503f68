"""A run's search in the settings of another engine, and what of it they cannot express."""

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


def search_notes(decoding: Decoding) -> str:
    """Where the other engine's search differs from the run's, for the model card."""
    alpha = decoding.length_penalty
    notes = [f"The run searches with a beam of {decoding.beam_size}; so does this folder's configuration."]
    if decoding.beam_size > 1 and decoding.length_penalty_form == "gnmt" and alpha:
        notes.append(
            f"Its length penalty is ((5 + length) / 6)^{alpha:g} (Wu et al. 2016), which the engine does not have: the "
            f"configuration says length^{alpha:g}, a stronger penalty, so that some outputs of a beam search are "
            "longer. A length penalty of 0 means the same everywhere."
        )
    notes.append(
        f"The run ends an output at {decoding.max_extra_tokens} tokens more than its source has; the engine has one "
        "limit for all sentences."
    )
    return "\n".join(notes)
