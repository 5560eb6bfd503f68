"""Combinations of options that cannot work; no file is looked at."""

import re
from functools import singledispatch
from typing import Any

from mt.config.schema import (
    AttentionConfig,
    Corpus,
    Data,
    Decoding,
    EvaluateConfig,
    ExportConfig,
    FilesData,
    HubData,
    TrainConfig,
    TranslateConfig,
)
from mt.data.lines import TABLE_ENDINGS, compression_suffix, table_suffix
from mt.errors import UserError

SPECIAL_TOKENS = 4  # pad, unk, bos, eos
BYTE_TOKENS = 256

_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})")


def check_decoding(decoding: Decoding) -> None:
    """Refuse search settings that contradict each other. Raises UserError."""
    if decoding.sampling is not None and decoding.beam_size > 1:
        raise UserError(f"decoding.beam_size: sampling has no beam; give 1 instead of {decoding.beam_size}")
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
        raise UserError(f"n_best={config.n_best} exceeds decoding.beam_size={beam_size}")
    if config.shard is not None and config.source is not None:
        raise UserError("shard: belongs to input=FILE, not to a single source sentence")
    if config.shard is not None:
        shard_numbers(config.shard)
        if config.input == "-":
            raise UserError("shard: the lines of standard input cannot be counted first; give input=FILE")


def shard_numbers(shard: str) -> tuple[int, int]:
    """Return the number and the count of a shard written `number/count`. Raises UserError for anything else."""
    match = _SHARD.fullmatch(shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"shard: expected number/count, such as 3/16, counted from 1; got {shard}")
    return int(match[1]), int(match[2])


@singledispatch
def check_combinations(config: Any) -> None:
    """Refuses options that contradict each other; looks at no file. Raises `UserError`."""


@check_combinations.register
def _(config: TrainConfig) -> None:
    model, training, tokenizer, data = config.model, config.training, config.tokenizer, config.data
    if model.d_model % model.num_heads:
        raise UserError(f"model.num_heads: {model.num_heads} heads do not divide model.d_model = {model.d_model}")
    if model.d_model % 2:
        raise UserError(f"model.d_model: must be even, for pairs of sine and cosine (section 3.5); got {model.d_model}")
    micro_batch_tokens = training.batch_tokens if training.micro_batch_tokens == "auto" else training.micro_batch_tokens
    if micro_batch_tokens > training.batch_tokens:
        raise UserError(
            f"training.micro_batch_tokens: {micro_batch_tokens} is more than "
            f"training.batch_tokens = {training.batch_tokens}"
        )
    if data.filters.max_tokens + 1 > micro_batch_tokens:
        raise UserError(
            f"data.filters.max_tokens: a sentence of {data.filters.max_tokens} subwords and its end "
            f"do not fit training.micro_batch_tokens = {micro_batch_tokens}"
        )
    if training.fsdp and training.micro_batch_tokens == "auto":
        raise UserError("training.micro_batch_tokens=auto does not work with training.fsdp=true; give a number")
    if training.keep_checkpoints < training.average_checkpoints:
        raise UserError(
            f"training.keep_checkpoints: {training.keep_checkpoints} is less than "
            f"training.average_checkpoints = {training.average_checkpoints}"
        )
    smallest = SPECIAL_TOKENS + 1 + (BYTE_TOKENS if tokenizer.byte_fallback else 0)
    if tokenizer.vocab_size < smallest:
        raise UserError(
            f"tokenizer.vocab_size: at least {smallest} with tokenizer.byte_fallback="
            f"{str(tokenizer.byte_fallback).lower()}, got {tokenizer.vocab_size}"
        )
    if config.decoding.sampling is not None:
        raise UserError("decoding.sampling: validation and test use beam search; sample with mt-translate")
    check_decoding(config.decoding)
    _check_data(data)


check_combinations.register(Decoding, check_decoding)
check_combinations.register(TranslateConfig, check_translation)


@check_combinations.register
def _(config: AttentionConfig) -> None:
    check_decoding(config.decoding)


@check_combinations.register
def _(config: EvaluateConfig) -> None:
    check_decoding(config.decoding)
    if config.source is not None and config.hypothesis is not None:
        raise UserError("source, hypothesis: give one of them with reference=FILE")
    text = "source" if config.source is not None else "hypothesis" if config.hypothesis is not None else None
    if text and config.reference is None:
        raise UserError(f"reference: {text}=FILE needs reference=FILE")
    if config.reference is not None and text is None:
        raise UserError("source: reference=FILE needs source=FILE or hypothesis=FILE")


@check_combinations.register
def _(config: ExportConfig) -> None:
    if config.format == "huggingface" and config.quantization != "float32":
        raise UserError(f"quantization: {config.quantization} is for format=ctranslate2; format=huggingface is float32")


def _check_data(data: Data) -> None:
    if isinstance(data, FilesData):
        if not data.train:
            raise UserError("data.train: needs at least one corpus, as [{source: FILE, target: FILE}]")
        for key, corpus in listed_corpora(data):
            _check_corpus(key, corpus)
    if isinstance(data, HubData):
        if (data.source_column is None) != (data.target_column is None):
            raise UserError("data.source_column, data.target_column: give both or neither")
        by_column = data.source_column is not None
        sides = (data.source_column, data.target_column) if by_column else (data.source_language, data.target_language)
        if sides[0] == sides[1]:
            named = "column" if by_column else "language"
            raise UserError(f"data.target_{named}: the same as data.source_{named} = {sides[0]}")


def listed_corpora(data: FilesData) -> list[tuple[str, Corpus]]:
    """Every corpus of the data with the key under which it was given."""
    corpora = [(f"data.train[{position}]", corpus) for position, corpus in enumerate(data.train)]
    corpora.append(("data.validation", data.validation))
    return [*corpora, ("data.test", data.test)] if data.test else corpora


def _check_corpus(key: str, corpus: Corpus) -> None:
    columns = (corpus.source_column, corpus.target_column)
    if corpus.file is None:
        if corpus.source is None or corpus.target is None:
            raise UserError(f"{key}: give {{source: FILE, target: FILE}} or {{file: FILE}}")
        if columns != (None, None):
            raise UserError(f"{key}.source_column: columns belong to {{file: FILE}}, not to two text files")
        if corpus.source == corpus.target:
            raise UserError(f"{key}.target: the same file as {key}.source")
        return
    if corpus.source is not None or corpus.target is not None:
        raise UserError(f"{key}: give {{source: FILE, target: FILE}} or {{file: FILE}}, not both")
    if (columns[0] is None) != (columns[1] is None) or (columns[0] is not None and columns[0] == columns[1]):
        raise UserError(f"{key}.source_column: give two different columns or none")
    if not table_suffix(corpus.file):
        raise UserError(f"{key}.file: expected {TABLE_ENDINGS}; got {corpus.file}")
