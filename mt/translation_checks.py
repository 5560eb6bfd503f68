"""Options of a translation that contradict each other, and runs that cannot translate together. Loads no torch."""

import re
from collections.abc import Sequence
from pathlib import Path

from mt.config import Decoding, TranslateConfig
from mt.data.lines import compression_suffix
from mt.errors import UserError

TOKENIZERS = ("tokenizer.model", "tokenizer.source.model")
_TAKEN = ("line", "rank", "score", "alignment", "n_best")  # what may stand beside a translation
_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})")


def check_decoding(decoding: Decoding) -> None:
    """Refuse search settings that contradict each other. Raises UserError."""
    if decoding.sampling is not None and decoding.beam_size > 1:
        raise UserError(f"decoding.beam_size: sampling keeps no beam, give 1 instead of {decoding.beam_size}")
    shortest, longest = decoding.min_output_tokens, decoding.max_output_tokens
    if shortest is not None and longest is not None and shortest > longest:
        raise UserError(f"decoding.min_output_tokens: {shortest} is more than decoding.max_output_tokens = {longest}")


def check_translation(config: TranslateConfig) -> None:
    """Refuse options of `mt-translate` that contradict each other. Raises UserError."""
    if (config.source is None) == (config.input is None):
        given = "neither is given" if config.source is None else "both are given"
        raise UserError(f'source, input: give one of source="a sentence" and input=FILE (or input=-); {given}')
    if suffix := compression_suffix(config.output):
        raise UserError(f"output: {config.output} would hold plain text; give a name without {suffix}")
    check_decoding(config.decoding)
    beam_size = config.decoding.beam_size
    if config.n_best is not None and config.n_best > beam_size and config.decoding.sampling is None:
        raise UserError(f"n_best: a beam of {beam_size} has no {config.n_best} best; raise decoding.beam_size")
    if config.column is not None and config.field is not None:
        raise UserError("column, field: give column= for TSV or field= for JSONL, not both")
    for key in ("column", "field", "shard"):
        if getattr(config, key) is not None and config.source is not None:
            raise UserError(f"{key}: belongs to input=FILE, not to a single source sentence")
    if config.field is not None and config.field == config.translation_field:
        raise UserError(f"translation_field: {config.field} is the field to translate; choose another name")
    if config.translation_field in _TAKEN:
        raise UserError(f"translation_field: {config.translation_field} is taken; choose another name")
    if config.shard is not None:
        shard_numbers(config.shard)
        if config.input == "-":
            raise UserError("shard: standard input cannot be counted beforehand; give input=FILE")


def shard_numbers(shard: str) -> tuple[int, int]:
    """Return the number and the count of a shard written `number/count`. Raises UserError for anything else."""
    match = _SHARD.fullmatch(shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"shard: expected number/count, such as 3/16, counted from 1; got {shard}")
    return int(match[1]), int(match[2])


def check_same_vocabulary(run_dirs: Sequence[str | Path]) -> None:
    """Refuse runs whose tokenizers differ from those of the first: their pieces cannot vote. Raises UserError."""
    first, *others = [Path(run_dir) for run_dir in run_dirs]
    for other in others:
        for name in TOKENIZERS:
            known = [path.read_bytes() if path.exists() else None for path in (first / name, other / name)]
            if known[0] != known[1]:
                raise UserError(
                    f"ensemble: {other} has not the vocabulary of {first} ({name} differs); train the runs on the same"
                    " data with the same tokenizer settings"
                )
