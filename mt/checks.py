"""Combinations of options that cannot work, and files that are not there; found before anything is computed."""

import os
from functools import singledispatch
from pathlib import Path
from typing import Any

from mt.config import (
    AttentionConfig,
    AverageConfig,
    Decoding,
    EvaluateConfig,
    ExportConfig,
    ImportConfig,
    InspectConfig,
    TrainConfig,
    TranslateConfig,
)
from mt.data_options import Corpus, Data, FilesData, HubData, NoData
from mt.errors import UserError
from mt.run_folders import RUN_FILES, check_keeps_run, check_run
from mt.translation_checks import TOKENIZERS, check_decoding, check_same_vocabulary, check_translation

SPECIAL_PIECES = 4  # pad, unk, bos, eos
BYTE_PIECES = 256
COLUMN_FILES = (".tsv", ".tsv.gz", ".tsv.xz", ".jsonl", ".jsonl.gz", ".jsonl.xz", ".parquet")


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
            f"data.filters.max_tokens: a sentence of {data.filters.max_tokens} pieces and its end "
            f"do not fit training.micro_batch_tokens = {micro_batch_tokens}"
        )
    if training.sharding == "full" and training.micro_batch_tokens == "auto":
        raise UserError("training.micro_batch_tokens: auto tries a whole model, training.sharding=full is for parts")
    if training.keep_checkpoints < training.average_checkpoints:
        raise UserError(
            f"training.keep_checkpoints: {training.keep_checkpoints} are too few for "
            f"training.average_checkpoints = {training.average_checkpoints}"
        )
    smallest = SPECIAL_PIECES + 1 + (BYTE_PIECES if tokenizer.byte_fallback else 0)
    if tokenizer.vocabulary_size < smallest:
        raise UserError(
            f"tokenizer.vocabulary_size: at least {smallest} with tokenizer.byte_fallback="
            f"{str(tokenizer.byte_fallback).lower()}, got {tokenizer.vocabulary_size}"
        )
    if config.decoding.sampling is not None:
        raise UserError("decoding.sampling: validation and test are searched, not sampled; sample with mt-translate")
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
        raise UserError("source, hypothesis: give one of them beside reference=FILE")
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
        for key, corpus in _corpora(data):
            _check_corpus(key, corpus)
    if isinstance(data, HubData):
        if (data.source_column is None) != (data.target_column is None):
            raise UserError("data.source_column, data.target_column: give both or neither")
        by_column = data.source_column is not None
        sides = (data.source_column, data.target_column) if by_column else (data.source_language, data.target_language)
        if sides[0] == sides[1]:
            named = "column" if by_column else "language"
            raise UserError(f"data.target_{named}: the same as data.source_{named} = {sides[0]}")


def _corpora(data: FilesData) -> list[tuple[str, Corpus]]:
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
    if not corpus.file.lower().endswith(COLUMN_FILES):
        raise UserError(f"{key}.file: expected one of {', '.join(COLUMN_FILES)}; got {corpus.file}")


# ---------------------------------------------------------------------------- files


@singledispatch
def check_files(config: Any) -> None:
    """Refuses a configuration whose files are missing or unreadable. Raises `UserError`."""


@check_files.register
def _(config: TrainConfig) -> None:
    run_dir = Path(config.run_dir)
    if not config.run_dir:
        raise UserError("run_dir: is empty; give the name of a folder, such as runs/mine")
    if run_dir.exists() and not run_dir.is_dir():
        raise UserError(f"run_dir: {run_dir} is a file, not a folder")
    if not config.resume and (run_dir / "config.yaml").exists():
        raise UserError(
            f"run_dir: {run_dir} holds a run already; resume=true continues it, another run_dir starts anew"
        )
    if config.initialise_from is not None:
        check_run(config.initialise_from, key="initialise_from")
    _check_data_files(config.data)


@check_files.register
def _(config: ImportConfig) -> None:
    if not Path(config.folder).is_dir():
        raise UserError(f"folder: {config.folder} is no folder")
    _check_readable("sentences", config.sentences)


@check_files.register
def _(config: ExportConfig) -> None:
    check_run(config.run_dir)
    _check_readable("sentences", config.sentences)


@check_files.register
def _(config: InspectConfig) -> None:
    if Path(config.output).exists() and not Path(config.output).is_dir():
        raise UserError(f"output: {config.output} is a file, not a folder")
    _check_data_files(config.data)


def _check_data_files(data: Data) -> None:
    if isinstance(data, FilesData):
        for key, corpus in _corpora(data):
            for part in ("source", "target", "file"):
                _check_readable(f"{key}.{part}", getattr(corpus, part))
    if isinstance(data, HubData):
        local = data.path.startswith((".", "/"))
        if local and not Path(data.path).exists():
            raise UserError(f"data.path: {data.path} does not exist")


@check_files.register
def _(config: TranslateConfig) -> None:
    check_run(config.run_dir)
    for run_dir in config.ensemble:
        check_run(run_dir, key="ensemble")
    check_same_vocabulary([config.run_dir, *config.ensemble])
    if config.input != "-":
        _check_readable("input", config.input)
    if config.output != "-":
        _check_writable("output", config.output)
        _check_not_read("output", config.output, config.input)
        check_keeps_run("output", config.output, [config.run_dir, *config.ensemble], (*TOKENIZERS, *RUN_FILES))


@check_files.register
def _(config: EvaluateConfig) -> None:
    for key in ("source", "reference", "hypothesis"):
        _check_readable(key, getattr(config, key))
    if config.run_dir is not None:
        check_run(config.run_dir)


@check_files.register
def _(config: AttentionConfig) -> None:
    check_run(config.run_dir)
    if not config.output.endswith(".png"):
        raise UserError(f"output: expected a .png file, got {config.output}")
    _check_writable("output", config.output)


@check_files.register
def _(config: AverageConfig) -> None:
    if not (Path(config.run_dir) / "checkpoints").is_dir():
        raise UserError(f"run_dir: {config.run_dir} holds no checkpoints")
    if config.output is not None:
        _check_writable("output", config.output)
        check_keeps_run("output", config.output, [config.run_dir], ("config.yaml", *TOKENIZERS))


def check_split(data: Data, split: str) -> None:
    """Refuses a split that the data of a run does not have."""
    absent = isinstance(data, NoData)
    if isinstance(data, FilesData):
        absent = getattr(data, split) is None
    elif isinstance(data, HubData):
        absent = getattr(data, f"{split}_split") is None
    if absent:
        raise UserError(f"split: the data of this run has no {split} split; give source=FILE reference=FILE")


def _check_readable(key: str, path: str | None) -> None:
    if path is None:
        return
    if not Path(path).exists():
        raise UserError(f"{key}: {path} does not exist")
    if Path(path).is_dir():
        raise UserError(f"{key}: {path} is a folder, not a file")
    if not os.access(path, os.R_OK):
        raise UserError(f"{key}: {path} may not be read")


def _check_writable(key: str, path: str) -> None:
    """Refuses an output that is no file, or in no folder; whether the disk takes it shows on writing."""
    if not path or Path(path).is_dir():
        raise UserError(f"{key}: expected a file, got {f'the folder {path}' if path else 'an empty name'}")
    if not Path(path).parent.is_dir():
        raise UserError(f"{key}: the folder {Path(path).parent} does not exist")


def _check_not_read(key: str, path: str, source: str | None) -> None:
    """Refuses an output file that is also the input, standard input included: opening it would empty it."""
    if source is None or not Path(path).is_file():
        return
    try:
        read = os.fstat(0) if source == "-" else Path(source).stat()
    except OSError:
        return  # a closed standard input, reported where it is read
    if os.path.samestat(read, Path(path).stat()):
        raise UserError(f"{key}: {path} is also the input, and would be emptied; give another name")
