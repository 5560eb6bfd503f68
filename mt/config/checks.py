"""Combinations of options that cannot work; no file is looked at."""

import re
from functools import singledispatch
from pathlib import Path
from typing import Any

from mt.config.schema import (
    Corpus,
    Decoding,
    EvaluateConfig,
    ExportConfig,
    FilesData,
    Filters,
    GenerateConfig,
    HubData,
    LabelledData,
    Model,
    ServeConfig,
    TextData,
    Tokenizer,
    TrainConfig,
    Training,
    TranslateConfig,
)
from mt.data.lines import TABLE_ENDINGS, compression_suffix, table_suffix
from mt.errors import UserError

SPECIAL_TOKENS = 4  # pad, unk, bos, eos
BYTE_TOKENS = 256
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@singledispatch
def check_combinations(config: Any) -> None:
    """Refuse options of one class that contradict each other; looks at no file. Raises `UserError`."""


@check_combinations.register
def _(model: Model) -> None:
    if model.d_model % model.num_heads and None in (model.d_k, model.d_v):
        raise UserError(f"model.num_heads: {model.num_heads} heads do not divide model.d_model = {model.d_model}")
    if model.family == "decoder" and model.num_encoder_layers is not None:
        raise UserError("model.num_encoder_layers: model.family=decoder has no encoder; give num_decoder_layers")
    if model.family == "encoder" and model.num_decoder_layers is not None:
        raise UserError("model.num_decoder_layers: model.family=encoder has no decoder; give num_encoder_layers")
    if model.positions == "sinusoidal" and model.d_model % 2:
        raise UserError(f"model.d_model: must be even, for pairs of sine and cosine (section 3.5); got {model.d_model}")
    d_k = model.d_k or model.d_model // model.num_heads
    if model.positions == "rotary" and d_k % 2:
        raise UserError(f"model.d_k: must be even with model.positions=rotary, for pairs of features; got {d_k}")
    if model.positions in ("relative", "rotary") and model.score != "scaled_dot":
        raise UserError(f"model.score: model.positions={model.positions} works with scaled_dot only, not {model.score}")


@check_combinations.register
def _(filters: Filters) -> None:
    if (filters.min_pair_score is None) != (filters.pair_scorer is None):
        raise UserError("data.filters.min_pair_score, data.filters.pair_scorer: give both or neither")


@check_combinations.register
def _(tokenizer: Tokenizer) -> None:
    smallest = SPECIAL_TOKENS + 1 + (BYTE_TOKENS if tokenizer.byte_fallback else 0)
    if tokenizer.vocab_size < smallest:
        raise UserError(
            f"tokenizer.vocab_size: at least {smallest} with tokenizer.byte_fallback="
            f"{str(tokenizer.byte_fallback).lower()}, got {tokenizer.vocab_size}"
        )
    if tokenizer.model_type == "char" and tokenizer.bpe_dropout:
        raise UserError("tokenizer.bpe_dropout: characters have no merges to leave out; give 0")


@check_combinations.register
def _(training: Training) -> None:
    if training.micro_batch_tokens == "auto" and training.fsdp:
        raise UserError("training.micro_batch_tokens=auto does not work with training.fsdp=true; give a number")
    if training.optimizer == "muon" and training.fsdp:
        raise UserError(
            "training.optimizer=muon needs whole matrices, not shards: give training.fsdp=false, or adam for a new run"
        )
    if training.keep_checkpoints < training.average_checkpoints:
        raise UserError(
            f"training.keep_checkpoints: {training.keep_checkpoints} is less than "
            f"training.average_checkpoints = {training.average_checkpoints}"
        )


@check_combinations.register
def _(decoding: Decoding) -> None:
    if decoding.sampling is not None and decoding.beam_size > 1:
        raise UserError(f"decoding.beam_size: sampling has no beam; give 1 instead of {decoding.beam_size}")
    shortest, longest = decoding.min_output_tokens, decoding.max_output_tokens
    if shortest is not None and longest is not None and shortest > longest:
        raise UserError(f"decoding.min_output_tokens: {shortest} is more than decoding.max_output_tokens = {longest}")


@check_combinations.register
def _(data: FilesData) -> None:
    if not data.train:
        raise UserError("data.train: needs at least one corpus, as [{source: FILE, target: FILE}]")
    for key, corpus in listed_corpora(data):
        _check_corpus(key, corpus)
    if data.validation is None and not data.filters.remove_held_out:
        raise UserError(
            "data.filters.remove_held_out: false would train on the pairs that validation draws; give data.validation"
        )
    taken = {"train", "validation", "test"}
    for position, test in enumerate(data.tests):
        if not re.fullmatch(r"\w[\w.-]{0,99}", test.name) or test.name in taken:
            raise UserError(
                f"data.tests[{position}].name: expected a name of its own, such as news2014; got {test.name}"
            )
        taken.add(test.name)


@check_combinations.register
def _(data: LabelledData) -> None:
    for key in ("train", "validation", "test"):
        path = getattr(data, key)
        if path is not None and not table_suffix(path):
            raise UserError(f"data.{key}: expected {TABLE_ENDINGS}; got {path}")
    if data.labels is not None and len(set(data.labels)) < max(2, len(data.labels)):
        raise UserError(f"data.labels: expected two or more, each once; got {', '.join(data.labels) or 'none'}")


@check_combinations.register
def _(data: HubData) -> None:
    if (data.source_column is None) != (data.target_column is None):
        raise UserError("data.source_column, data.target_column: give both or neither")
    by_column = data.source_column is not None
    sides = (data.source_column, data.target_column) if by_column else (data.source_language, data.target_language)
    if sides[0] == sides[1]:
        named = "column" if by_column else "language"
        raise UserError(f"data.target_{named}: the same as data.source_{named} = {sides[0]}")


@check_combinations.register
def _(config: TrainConfig) -> None:
    training = config.training
    if "training.batch_tokens" not in config.automatic:
        _check_micro_batch(training.micro_batch_tokens, training.batch_tokens)
    if re.search(r"^\.?$|^/|(^|/)\.\.(/|$)|[\x00-\x1f]", config.name):
        raise UserError(f"name: expected the name of a folder under runs/; got {config.name!r}")
    _check_budget(config)
    if config.model.family != "encoder_decoder" and training.fsdp:
        raise UserError("training.fsdp: serves model.family=encoder_decoder only")
    if training.consistency == "rdrop" and config.model.dropout == 0:
        raise UserError("training.consistency=rdrop: its two passes differ by dropout; give model.dropout above 0")
    if config.decoding.sampling is not None:
        raise UserError("decoding.sampling: validation and test use beam search; sample with mt-translate")
    if isinstance(config.data, TextData):
        if config.automatic:
            raise UserError("experiment=auto is for translation; data=text has experiment=language_model_small")
        _check_language_model(config, config.data.block_tokens)
    elif classifies(config) or isinstance(config.data, LabelledData):
        if config.automatic:
            raise UserError(
                "experiment=auto is for translation; model.family=encoder has experiment=pair_classifier, "
                "data=labelled experiment=text_classifier"
            )
        if config.model.family != "encoder":
            raise UserError(f"model.family: data=labelled trains a classifier, an encoder; got {config.model.family}")
        _check_classifier(config)
    else:
        _check_translation(config)


def _check_micro_batch(tokens: int | str, batch_tokens: int) -> None:
    if isinstance(tokens, int) and tokens > batch_tokens:
        raise UserError(f"training.micro_batch_tokens: {tokens} is more than training.batch_tokens = {batch_tokens}")


def _check_budget(config: TrainConfig) -> None:
    if config.budget is not None and budget_seconds(config.budget) and config.training.max_minutes is not None:
        raise UserError("training.max_minutes: budget already limits the time; give one of them")
    if config.automatic and config.budget is None:
        raise UserError("experiment=auto also needs budget, for example budget=2h")
    if config.automatic and config.finetune_from is not None:
        raise UserError("finetune_from: experiment=auto chooses a recipe for a new model; leave one of them out")


def _check_language_model(config: TrainConfig, block_tokens: int) -> None:
    if config.model.family == "encoder_decoder":
        raise UserError(
            "model.family: data=text takes decoder, for a language model, or encoder, for a masked one; "
            f"got {config.model.family}"
        )
    ends = " with its ends" if config.model.family == "encoder" else ""
    _check_rows(config, f"data.block_tokens: a block of {block_tokens}{ends} is more than")
    _check_unchanged_rows(config, "data=text")


def classifies(config: TrainConfig) -> bool:
    """Whether a run learns the classes of texts or of pairs: an encoder alone does not translate."""
    return config.model.family == "encoder" and not isinstance(config.data, TextData)


def classifies_pairs(config: TrainConfig) -> bool:
    """Whether a run learns to tell pairs that are translations from others."""
    return classifies(config) and not isinstance(config.data, LabelledData)


def longest_row(config: TrainConfig) -> int:
    """The tokens of the longest row of a batch: of a translator those of a sentence and EOS.

    Else a block; of an encoder alone BOS, a block and EOS, or BOS and one text or two, each with its EOS.
    """
    if isinstance(config.data, TextData):
        return config.data.block_tokens + (2 if config.model.family == "encoder" else 0)
    if not classifies(config):
        return config.data.filters.max_tokens + 1
    texts = 1 if isinstance(config.data, LabelledData) else 2
    return 1 + texts * (config.data.filters.max_tokens + 1)


def _check_rows(config: TrainConfig, what: str) -> None:
    """Refuse a longest row that a micro-batch or learned positions cannot hold."""
    training, tokens, held = config.training, longest_row(config), config.training.micro_batch_tokens
    if held == "auto" or "training.micro_batch_tokens" in config.automatic:
        held = training.batch_tokens
    if tokens > held and not {"training.batch_tokens", "training.micro_batch_tokens"}.issubset(config.automatic):
        raise UserError(f"{what} training.micro_batch_tokens = {held}")
    if config.model.positions == "learned" and tokens > config.model.max_positions:
        raise UserError(f"{what} model.max_positions = {config.model.max_positions}")


def _check_classifier(config: TrainConfig) -> None:
    texts = "a text" if isinstance(config.data, LabelledData) else "two texts"
    row = f"a row of {longest_row(config)} with the ends does not fit"
    _check_rows(config, f"data.filters.max_tokens: {texts} of {config.data.filters.max_tokens} subwords: {row}")
    _check_unchanged_rows(config, "model.family=encoder")


def _check_unchanged_rows(config: TrainConfig, what: str) -> None:
    """Refuse what changes or packs the rows of a batch, for models that read them as they are."""
    for key, value, given in (
        ("training.packing", False, config.training.packing),
        ("tokenizer.shared_vocab", True, config.tokenizer.shared_vocab),
        ("tokenizer.bpe_dropout", 0.0, config.tokenizer.bpe_dropout),
        *((f"data.augmentation.{name}", 0.0, rate) for name, rate in vars(config.data.augmentation).items()),
    ):
        if given != value:
            raise UserError(f"{key}: {what} takes {str(value).lower()} only, got {str(given).lower()}")


def _check_translation(config: TrainConfig) -> None:
    model, words = config.model, f"of {config.data.filters.max_tokens} subwords and its end do not fit"
    _check_rows(config, f"data.filters.max_tokens: a sentence {words}")
    check_max_positions(model, config.decoding)
    in_a_row = 2 * longest_row(config)  # source and target count on
    if model.family == "decoder" and model.positions == "learned" and in_a_row > model.max_positions:
        longest = f"model.max_positions = {model.max_positions}"
        raise UserError(f"data.filters.max_tokens: a pair of sentences {words} {longest}")


@check_combinations.register
def _(config: GenerateConfig) -> None:
    beam_size = config.decoding.beam_size
    if config.decoding.sampling is None and (config.num_samples or 1) > beam_size:
        raise UserError(f"num_samples={config.num_samples} exceeds decoding.beam_size={beam_size}")


@check_combinations.register
def _(config: TranslateConfig) -> None:
    given = [key for key in ("source", "input", "document") if getattr(config, key) is not None]
    if len(given) != 1:
        raise UserError(
            'source, input, document: give one of source="a sentence", input=FILE (or input=-) and document=FILE; '
            f"{' and '.join(given) or 'none of them'} {'are' if given else 'is'} given"
        )
    if config.document is not None:
        _check_document_options(config)
    if suffix := compression_suffix(config.output):
        raise UserError(f"output: {config.output} would hold plain text; give a name without {suffix}")
    for key in ("column", "field"):
        if getattr(config, key) is not None and config.source is not None:
            raise UserError(f"{key}: belongs to input=FILE, not to a single source sentence")
    if config.column is not None and config.field is not None:
        raise UserError("column, field: give column= for TSV or field= for JSONL, not both")
    if config.translation_field in ("line", "rank", "score", "alignment", "n_best"):
        raise UserError(f"translation_field: {config.translation_field} is taken; choose another name")
    if config.shard is not None:
        shard_numbers(config.shard)
        if config.input in (None, "-"):
            raise UserError("shard: give input=FILE; other lines cannot be counted first")


def _check_document_options(config: TranslateConfig) -> None:
    ending = Path(str(config.document)).suffix.lower()
    if ending and (config.output == "-" or Path(config.output).suffix.lower() != ending):
        given = "" if config.output == "-" else f"; got {config.output}"
        raise UserError(f"output: give a name that ends in {ending}, as that of the document{given}")
    for key in ("column", "field", "shard", "n_best", "target_prefix"):
        if getattr(config, key) is not None:
            raise UserError(f"{key}: belongs to input=FILE, not to a document")
    if config.scores or config.alignments:
        raise UserError(f"{'scores' if config.scores else 'alignments'}: belongs to input=FILE, not to a document")


@check_combinations.register
def _(config: ServeConfig) -> None:
    if config.decoding.sampling is not None:
        raise UserError("decoding.sampling: a server uses beam search; sample with mt-translate")


@check_combinations.register
def _(config: EvaluateConfig) -> None:
    texts = [text for text in (config.source, config.hypothesis) if text is not None]
    labelled = texts == [config.source] and config.reference is None and table_suffix(str(config.source))
    if len(texts) != (config.reference is not None) and not labelled:
        raise UserError("reference: reference=FILE and one of source=FILE and hypothesis=FILE belong together")
    if config.robustness and config.hypothesis is not None:
        raise UserError("robustness: changed text must be translated; give source=FILE instead of hypothesis=FILE")


@check_combinations.register
def _(config: ExportConfig) -> None:
    if config.format == "huggingface" and config.quantization != "float32":
        raise UserError(f"quantization: {config.quantization} is for format=ctranslate2; format=huggingface is float32")


def check_max_positions(model: Model, decoding: Decoding) -> None:
    """Refuse a search for longer sentences than a model has learned positions for. Raises UserError."""
    longest = decoding.max_source_tokens + decoding.max_extra_tokens
    if decoding.max_output_tokens is not None:
        longest = max(decoding.max_source_tokens, min(longest, decoding.max_output_tokens))
    longest, what = max(longest, decoding.min_output_tokens or 0), "a source or translation"
    if model.family == "decoder":  # source and translation count on in one row
        outputs = longest if decoding.max_output_tokens is None else min(longest, decoding.max_output_tokens)
        longest, what = decoding.max_source_tokens + outputs + 1, "a source and its translation"
    if model.positions == "learned" and longest + 1 > model.max_positions:
        raise UserError(
            f"decoding.max_source_tokens: {what} may have {longest + 1} tokens, its end counted, more "
            f"than model.max_positions = {model.max_positions}; give less, or decoding.max_output_tokens too"
        )


def shard_numbers(shard: str) -> tuple[int, int]:
    """Return the number and the count of a shard written `number/count`. Raises UserError for anything else."""
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"shard: expected number/count, such as 3/16, counted from 1; got {shard}")
    return int(match[1]), int(match[2])


def budget_seconds(budget: str) -> float:
    """The seconds of a time such as 90s, 30m, 2h or 1.5d. Raises UserError for anything else."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)([smhd])", budget)
    if match is None or not (seconds := float(match[1]) * _UNIT_SECONDS[match[2]]):
        raise UserError(
            f"budget: expected a time with its unit, one of s, m, h and d, such as 90s, 30m, 1.5h or 1d; got {budget!r}"
        )
    return seconds


def listed_corpora(data: FilesData) -> list[tuple[str, Corpus]]:
    """Every corpus of the data with the key under which it was given."""
    corpora = [(f"data.train[{position}]", corpus) for position, corpus in enumerate(data.train)]
    corpora += [("data.validation", data.validation)] if data.validation else []
    corpora += [("data.test", data.test)] if data.test else []
    return [*corpora, *((f"data.tests[{position}]", test) for position, test in enumerate(data.tests))]


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
