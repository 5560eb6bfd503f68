"""The only module where configuration becomes objects. It reads no disk and knows no other process."""

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any, Literal

import torch

from mt.config import schema
from mt.config.checks import check_max_positions, classifies
from mt.data.augmentation import Augmentation
from mt.data.corpus import Corpus, FileCorpus, builtin_corpus, labelled_corpus
from mt.data.drawn import Draw, DrawnCorpus
from mt.data.filters import SPLITS, FilterSettings, Split
from mt.data.hub import HubCorpus
from mt.data.loader import Prefetch, in_thread
from mt.data.spaces import separator
from mt.data.tasks import TaskCorpus
from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN, Tokenizer
from mt.errors import UserError
from mt.fast.chunked_loss import chunked_loss
from mt.fast.compiled import can_compile_for_gpu
from mt.fast.dropout import Dropout
from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.fused_attention import fused_attention
from mt.fast.native.ranking import ranked_extensions
from mt.fast.workers import Workers, can_fork, made_in_process
from mt.model.architecture import Architecture
from mt.model.cached_decoder import CachedContinuation, CachedDecoder, SlidingContext
from mt.model.decoder_only import AnyTransformer, DecoderOnly
from mt.model.inspection import unknown_part
from mt.model.transformer import Transformer
from mt.reporting import report
from mt.runtime import autocast, choose_precision, decoding_precision, seed_everything
from mt.search.next_token import NextToken
from mt.search.sampling import Sampling
from mt.search.search import Search
from mt.training.consistency import RDrop, SimCut
from mt.training.muon import MuonAndAdam, hidden_matrices
from mt.training.schedule import decay, learning_rate
from mt.training.step import TrainingLoss
from mt.translation.alignment import mean_attention
from mt.translation.as_typed import AsTyped
from mt.translation.confidence import token_log_probabilities
from mt.translation.spelling import Spelling
from mt.translation.translator import Translator

_report_once = functools.cache(report)  # training starts decoding at every validation

Tokenizers = tuple[Tokenizer, Tokenizer]  # of source and target
_LEAST_COMPILED = 512  # d_model of the narrowest layers that are compiled
_SEARCH_TOKENS, _GPU_SEARCH_TOKENS = 4096, 32768
_CHARACTERS_PER_SUBWORD = 8  # of a line that no vocabulary makes short enough to train on


def corpora(data: schema.Data) -> Mapping[Split, Sequence[Corpus]]:
    """The corpora for training, and where given for validation and test. Raises UserError for a run that has none."""
    splits: dict[Split, Any]
    if isinstance(data, schema.BuiltinData):
        return {split: [builtin_corpus(split)] for split in SPLITS}
    if isinstance(data, schema.TaskData):
        pairs: dict[str, Any] = {name: getattr(data, name) for name in ("task", "training_pairs", "held_out_pairs")}
        return {split: [TaskCorpus(split=split, **pairs)] for split in SPLITS}
    if isinstance(data, schema.LabelledData):
        files = {"train": data.train, "validation": data.validation, "test": data.test}
        return {split: [labelled_corpus(path)] for split, path in files.items() if path is not None}
    if isinstance(data, schema.NoData):
        raise UserError("data.kind: an imported run has no corpora of its own; give data=files data.train=...")
    languages = {"source_language": data.source_language, "target_language": data.target_language}
    if isinstance(data, schema.FilesData):
        splits = {"train": [FileCorpus(**vars(corpus), **languages) for corpus in data.train]}
        for split, corpus in (("validation", data.validation), ("test", data.test)):
            if corpus is not None:
                splits[split] = [FileCorpus(**vars(corpus), **languages)]
        for test in data.tests:
            splits[test.name] = [
                FileCorpus(**{key: value for key, value in vars(test).items() if key != "name"}, **languages)
            ]
        return splits if data.validation else _with_drawn(splits, data.filters)
    if isinstance(data, schema.TextData):
        raise UserError("data=text has no pairs of sentences; it serves mt-train, mt-average and mt-generate")
    names = ("path", "subset", "revision", "source_column", "target_column")
    hub = functools.partial(HubCorpus, **{name: getattr(data, name) for name in names}, **languages)
    splits = {"train": data.train_split, "validation": data.validation_split, "test": data.test_split}
    return {split: [hub(split=name)] for split, name in splits.items() if name is not None}


def filter_settings(filters: schema.Filters) -> FilterSettings:
    """The options that say which pairs are dropped before subwords are known."""
    return FilterSettings(**{field.name: getattr(filters, field.name) for field in fields(FilterSettings)})


def _with_drawn(splits: dict[Split, Any], filters: schema.Filters) -> dict[Split, Any]:
    """The splits with validation, and test unless it is given, drawn from the corpora for training."""
    given = [corpus for split, corpora in splits.items() if split != "train" for corpus in corpora]
    longest = _CHARACTERS_PER_SUBWORD * filters.max_tokens
    draw = Draw(splits["train"], given, filter_settings(filters), longest)
    drawn = {
        split: [DrawnCorpus(f"drawn for {split}", draw, part)] for part, split in enumerate(("validation", "test"))
    }
    return {"train": splits["train"], **drawn, **splits}


def augmentation(data: schema.Data) -> Augmentation | None:
    """How the pairs change in training; None where no rate is above 0."""
    if not any(vars(data.augmentation).values()):
        return None
    return Augmentation(
        **vars(data.augmentation), source_language=data.source_language, target_language=data.target_language
    )


def model(config: schema.TrainConfig, *, vocab_size: int, source_vocab_size: int | None) -> AnyTransformer:
    """A new model, initialised by the run's seed; without a `source_vocab_size` both sides share one vocabulary."""
    seed_everything(config.seed, 0)
    num_classes = 2 if classifies(config) else None
    if isinstance(config.data, schema.LabelledData) and config.data.labels is not None:
        num_classes = len(config.data.labels)
    architecture = Architecture(
        **vars(config.model),
        vocab_size=vocab_size,
        source_vocab_size=source_vocab_size,
        num_classes=num_classes,
        pad=PAD,
        eos=EOS,
        attention=fused_attention,
        make_dropout=Dropout,
    )
    return architecture.transformer()


def training_loss(model: AnyTransformer, training: schema.Training) -> TrainingLoss:
    """The model with the loss that is minimised, formed a chunk of positions at a time."""
    consistency: RDrop | SimCut | None = None
    if training.consistency == "rdrop":
        consistency = RDrop(weight=training.consistency_weight)
    elif training.consistency == "simcut":
        dropout = Dropout(training.cutoff)
        consistency = SimCut(weight=training.consistency_weight, dropout=dropout, spared=[PAD, BOS, EOS])
    on_gpu = next(model.parameters()).is_cuda
    compiled = on_gpu and (can_compile_for_gpu() if training.compile == "auto" else training.compile)
    loss = functools.partial(chunked_loss, compiled=compiled)
    return TrainingLoss(model, label_smoothing=training.label_smoothing, loss=loss, consistency=consistency)


def validation_loss(model: AnyTransformer, training: schema.Training) -> TrainingLoss:
    """The model with the loss of a single pass, also where training minimises that of two."""
    return TrainingLoss(model, label_smoothing=training.label_smoothing, loss=chunked_loss)


def optimizer(training: schema.Training, model: torch.nn.Module) -> torch.optim.Optimizer:
    """Section 5.3: Adam with β1 = 0.9, β2 = 0.98, ε = 1e-9; the learning rate is set at every step.

    With a weight decay it is AdamW (Loshchilov and Hutter 2019); with `muon` the matrices inside the layers are Muon's.
    """
    matrices = hidden_matrices(model) if training.optimizer == "muon" else []
    chosen = set(matrices)
    parameters = [parameter for parameter in model.parameters() if parameter not in chosen]
    adam = torch.optim.Adam(
        parameters,
        lr=0.0,
        betas=(training.adam_beta1, training.adam_beta2),
        eps=training.adam_epsilon,
        weight_decay=training.weight_decay,
        decoupled_weight_decay=True,
        fused=parameters[0].device.type in ("cpu", "cuda"),
    )
    precision = choose_precision(training.precision, parameters[0].device)
    return MuonAndAdam(matrices, adam, precision=precision) if matrices else adam


def schedule(config: schema.TrainConfig) -> Callable[[float], float]:
    """The learning rate of a step, or of a position between two."""
    training = config.training
    sizes = {"d_model": config.model.d_model, "warmup_steps": training.warmup_steps}
    factor = training.learning_rate_factor
    if training.learning_rate is not None:
        factor = training.learning_rate / learning_rate(training.warmup_steps, **sizes)
    decayed = functools.partial(decay, max_steps=training.max_steps, fraction=training.decay_fraction)
    return lambda step: learning_rate(step, **sizes, factor=factor) * decayed(step)


def training_autocast(training: schema.Training, device: torch.device) -> Callable[[], AbstractContextManager[None]]:
    """What makes the matrix products of training run in its precision."""
    return functools.partial(autocast, device, choose_precision(training.precision, device))


def on_gpu_if_auto(choice: bool | Literal["auto"], device: torch.device) -> bool:
    """What a choice of true, false or `auto` means for a device."""
    return device.type == "cuda" if choice == "auto" else choice


def prefetch(device: torch.device) -> Prefetch:
    """What prefetches batches; for a GPU a process, which leaves Python's lock to the training."""
    return made_in_process if device.type == "cuda" and can_fork() else in_thread


def compiles(config: schema.TrainConfig, device: torch.device) -> bool:
    """Whether the layers are compiled; `auto`: on a GPU, wide ones whose input keeps one shape.

    Padded batches have ever new shapes, and narrow layers gained nothing (docs/results/training_speed.md).
    """
    training = config.training
    if training.compile != "auto":
        return training.compile
    one_shape = isinstance(config.data, schema.TextData) or on_gpu_if_auto(training.packing, device)
    wide = config.model.d_model >= _LEAST_COMPILED
    return device.type == "cuda" and one_shape and wide and can_compile_for_gpu()


def translator(
    config: schema.TrainConfig,
    decoding: schema.Decoding,
    models: Sequence[AnyTransformer],
    tokenizers: Tokenizers,
    *,
    num_hypotheses: int = 1,
    alignments: bool = False,
    probabilities: bool = False,
    processes: bool = False,
    as_typed: AsTyped | None = None,
    spelling: Spelling | None = None,
) -> Translator:
    """A model, or several as an ensemble, with its tokenizers and the search settings of `decoding`.

    On a CPU the searches run in threads; with `processes` large numbers of sentences are shared among processes.
    """
    check_max_positions(config.model, decoding)
    if alignments and config.model.family == "decoder":
        raise UserError(
            "alignments, which documents and mt-serve need too: model.family=decoder has no attention over an encoder "
            "to read them from; train model.family=encoder_decoder"
        )
    device = next(models[0].parameters()).device
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    puts_back = as_typed is not None and config.model.family == "encoder_decoder"  # else the models are not kept
    return Translator(
        source_tokenizer=tokenizers[0],
        target_tokenizer=tokenizers[1],
        search=search(decoding, byte_fallback=config.tokenizer.byte_fallback, num_hypotheses=num_hypotheses),
        decoders=_decoders(models, decoding.precision, device),
        run=Workers(threads, processes=processes),
        threads=threads,
        batch_tokens=search_batch_tokens(decoding, device),
        max_source_tokens=decoding.max_source_tokens,
        separator=separator(config.data.target_language),
        align=functools.partial(mean_attention, models) if alignments else None,
        token_scores=functools.partial(token_log_probabilities, models) if probabilities else None,
        as_typed=as_typed,
        spelling=spelling,
        placing=functools.partial(mean_attention, models) if puts_back else None,
    )


def search_batch_tokens(decoding: schema.Decoding, device: torch.device) -> int:
    """How many padded source tokens, once for each row, are decoded together.

    On a GPU a step takes about as long for a thousand rows as for a hundred.
    """
    return decoding.batch_tokens or (_GPU_SEARCH_TOKENS if device.type == "cuda" else _SEARCH_TOKENS)


def search(decoding: schema.Decoding, *, byte_fallback: bool, num_hypotheses: int = 1) -> Search:
    """The search that `decoding` describes; with `byte_fallback` the unknown token is never needed."""
    names = {field.name for field in fields(Search)} & {field.name for field in fields(schema.Decoding)}
    settings: dict[str, Any] = {name: getattr(decoding, name) for name in names - {"sampling"}}
    return Search(
        bos=BOS,
        eos=EOS,
        forbidden=[PAD, BOS, UNKNOWN] if byte_fallback else [PAD, BOS],
        sampling=None if decoding.sampling is None else Sampling(**vars(decoding.sampling)),
        num_hypotheses=num_hypotheses,
        rank=ranked_extensions,
        **settings,
    )


def _decoders(
    models: Sequence[AnyTransformer], precision: str, device: torch.device
) -> Sequence[Callable[..., NextToken]]:
    """The fast engine; for models that it does not support, the models themselves."""
    reasons = [unknown_part(model.eval()) for model in models]
    if reason := next(filter(None, reasons), None):
        _report_once(f"decoding without the fast engine, which does not support the model: {reason}")
        return [_plain_decoder(model) for model in models]
    settings: dict[str, Any] = {"precision": decoding_precision(precision, device)}
    settings["compute_type"] = "int8" if precision == "int8" else None
    return [functools.partial(BatchedDecoder, PreparedModel(model, **settings)) for model in models]


def _plain_decoder(model: AnyTransformer) -> Callable[..., NextToken]:
    if isinstance(model, Transformer):
        return functools.partial(CachedDecoder, model)
    assert isinstance(model, DecoderOnly)
    return functools.partial(CachedContinuation, model)


def continuation(model: AnyTransformer, *, rows: int, block_tokens: int) -> NextToken:
    """A language model as the next-token function of a search for one text, of which it sees `block_tokens` at most."""
    assert isinstance(model, DecoderOnly)
    return SlidingContext(model, rows=rows, window=block_tokens)
