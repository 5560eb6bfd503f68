"""The one place where configuration becomes objects. What they do together stands in `mt/jobs/`."""

import functools
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

import torch

from mt.config import schema
from mt.config.loading import load_run
from mt.data.corpus import Corpus, FileCorpus, builtin_corpus
from mt.data.encoded import EncodedCorpus, encode_corpus
from mt.data.hub import HubCorpus
from mt.data.loader import TrainingOrder
from mt.data.text_cache import PreparedText, prepare_text
from mt.data.tokenizer import BOS, PAD, UNKNOWN, Tokenizer, train_tokenizer
from mt.errors import BadFileError, UserError
from mt.fast.chunked_loss import chunked_loss
from mt.fast.dropout import Dropout
from mt.fast.fused_attention import fused_attention
from mt.model.transformer import Transformer, make_transformer
from mt.runs.checkpoint import check_undamaged, load_model_tensors, read_tensors, vocabulary_of
from mt.runs.folder import MODEL, SOURCE_TOKENIZER, TOKENIZER, check_ensemble, tokenizer_paths, vocabulary_mark
from mt.runtime import autocast, choose_device, choose_precision, launched_as, search_arithmetic, seed_everything
from mt.search.search import Sampling
from mt.training.processes import SINGLE_PROCESS, ProcessGroup, SingleProcess
from mt.training.schedule import cooling, learning_rate
from mt.training.step import TrainingLoss
from mt.translation.translator import Translator

_LANGUAGES_WITHOUT_SPACES = {"zh", "ja", "th", "lo", "km", "my"}

Splits = tuple[list[Corpus], Corpus | None, Corpus | None]


def corpora(data: schema.Data) -> Splits:
    """The corpora for training, validation and test."""
    if isinstance(data, schema.BuiltinData):
        return [builtin_corpus("train")], builtin_corpus("validation"), builtin_corpus("test")
    if isinstance(data, schema.NoData):
        raise UserError("data.kind: an imported run has no corpora of its own; give data=files data.train=...")
    languages = {"source_language": data.source_language, "target_language": data.target_language}
    if isinstance(data, schema.FilesData):
        train: list[Corpus] = [FileCorpus(**vars(corpus), **languages) for corpus in data.train]
        test = None if data.test is None else FileCorpus(**vars(data.test), **languages)
        return train, FileCorpus(**vars(data.validation), **languages), test
    names = ("path", "subset", "revision", "source_column", "target_column")
    hub = functools.partial(HubCorpus, **{name: getattr(data, name) for name in names}, **languages)
    splits = [None if split is None else hub(split=split) for split in (data.validation_split, data.test_split)]
    return [hub(split=data.train_split)], splits[0], splits[1]


def text(data: schema.Data) -> PreparedText:
    """The filtered text of all splits, in the cache folder. Raises UserError, DiskError."""
    train, validation, test = corpora(data)
    return prepare_text(
        train=train,
        validation=validation,
        test=test,
        max_length_ratio=data.filters.max_length_ratio,
        remove_copies=data.filters.remove_copies,
        remove_duplicates=data.filters.remove_duplicates,
        remove_held_out=data.filters.remove_held_out,
        cache_dir=Path(data.cache_dir),
    )


def make_tokenizers(tokenizer: schema.Tokenizer, prepared: PreparedText, run_dir: Path) -> None:
    """Train the tokenizers on the training split into the run folder, unless they lie there. Raises UserError."""
    sides = {"source": prepared.path("train", "source"), "target": prepared.path("train", "target")}
    files = {TOKENIZER: list(sides.values())}
    if not tokenizer.shared_vocab:
        files = {SOURCE_TOKENIZER: [sides["source"]], TOKENIZER: [sides["target"]]}
    for name, text_files in files.items():
        if not (run_dir / name).exists():
            train_tokenizer(
                text_files=text_files,
                output=run_dir / name,
                vocab_size=tokenizer.vocab_size,
                character_coverage=tokenizer.character_coverage,
                byte_fallback=tokenizer.byte_fallback,
                input_sentence_size=tokenizer.input_sentence_size,
            )


def encoded(config: schema.TrainConfig, prepared: PreparedText, split: str, *, epoch: int | None) -> EncodedCorpus:
    """A split as ids in the cache folder; with an epoch, as BPE-dropout splits the words in that epoch."""
    run_dir = Path(config.run_dir)
    source_tokenizer, target_tokenizer = tokenizer_paths(run_dir, config.tokenizer)
    sampling = 0.0 if epoch is None else config.tokenizer.bpe_dropout
    fingerprints = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (source_tokenizer, target_tokenizer)]
    limit = config.data.filters.max_tokens if split == "train" else None
    key = json.dumps([prepared.fingerprint, fingerprints, split, limit, sampling, config.seed if sampling else None])
    slot = ""
    if sampling:  # an epoch's sample replaces that before the last, of this run alone
        slot = f"-{hashlib.sha256(str(run_dir.absolute()).encode()).hexdigest()[:8]}-{(epoch or 0) % 2}"
    return encode_corpus(
        source_file=prepared.folder / f"{split}.source",
        target_file=prepared.folder / f"{split}.target",
        source_tokenizer=source_tokenizer,
        target_tokenizer=target_tokenizer,
        folder=Path(config.data.cache_dir) / f"ids-{hashlib.sha256(key.encode()).hexdigest()[:32]}{slot}",
        max_tokens=limit,
        bpe_dropout=sampling,
        seed=(config.seed, epoch or 0),
    )


def on_gpu_if_auto(choice: bool | Literal["auto"], device: torch.device) -> bool:
    """What a choice of true, false or `auto` means for a device."""
    return device.type == "cuda" if choice == "auto" else choice


def ranks(config: schema.TrainConfig) -> ProcessGroup:
    """This process among those that torchrun or submitit started; on its own without them. Raises UserError."""
    environment = launched_as()
    if environment.get("WORLD_SIZE", "1") == "1":
        return SingleProcess()
    from mt.training.distributed import Distributed  # noqa: PLC0415  one process needs nothing of it

    return Distributed(environment=environment, fsdp=config.training.fsdp)


def training_order(
    config: schema.TrainConfig, prepared: PreparedText, device: torch.device, ranks: ProcessGroup = SINGLE_PROCESS
) -> TrainingOrder:
    """The stream of batches of a run, this rank's share; micro-batches of `auto` tokens are whole batches at first."""

    def corpus(epoch: int | None) -> EncodedCorpus:
        read = ranks.rank_zero_first(lambda: encoded(config, prepared, "train", epoch=epoch))
        lengths = zlib.crc32(read.target_lengths.tobytes(), zlib.crc32(read.source_lengths.tobytes()))
        ranks.check_equal(lengths, "other training data: data.cache_dir must lie on a disk that all machines share")
        return read

    if config.tokenizer.bpe_dropout:
        corpus_of_epoch = functools.lru_cache(1)(corpus)
    else:
        plain = corpus(None)
        corpus_of_epoch = functools.lru_cache(1)(lambda _: plain)
    training, micro_batch_tokens = config.training, config.training.micro_batch_tokens
    return TrainingOrder(
        corpus_of_epoch=corpus_of_epoch,
        batch_tokens=training.batch_tokens,
        micro_batch_tokens=training.batch_tokens if micro_batch_tokens == "auto" else micro_batch_tokens,
        seed=config.seed,
        pack_length=training.pack_length if on_gpu_if_auto(training.packing, device) else None,
        one_shape=on_gpu_if_auto(training.compile, device),
        pin=device.type == "cuda",
        rank=ranks.rank,
        world_size=ranks.world_size,
    )


def model(config: schema.TrainConfig, run_dir: Path, device: torch.device) -> Transformer:
    """A new model for the run's vocabulary, initialised by the run's seed."""
    source, target = tokenizer_paths(run_dir, config.tokenizer)
    seed_everything(config.seed, 0)
    return make_transformer(
        vocab_size=Tokenizer.load(target).vocab_size,
        source_vocab_size=None if config.tokenizer.shared_vocab else Tokenizer.load(source).vocab_size,
        num_layers=config.model.num_layers,
        d_model=config.model.d_model,
        d_ff=config.model.d_ff,
        num_heads=config.model.num_heads,
        dropout=config.model.dropout,
        initialisation=config.model.initialisation,
        activation=config.model.activation,
        output_bias=config.model.output_bias,
        pad=PAD,
        attention=fused_attention,
        make_dropout=Dropout,
    ).to(device)


def trained_model(config: schema.TrainConfig, run_dir: Path, device: torch.device) -> Transformer:
    """The model that a run delivered. Raises BadFileError, also for one that was trained with other tokenizers."""
    empty = model(config, run_dir, device)
    path = run_dir / MODEL
    vocabulary = vocabulary_mark(run_dir)
    if vocabulary_of(path) not in (None, vocabulary):
        raise BadFileError(f"{path} and the tokenizer beside it are not of the same run: restore the one or the other")
    tensors = read_tensors(path.read_bytes(), origin=path)
    load_model_tensors(empty, tensors, origin=path)
    check_undamaged(path, tensors)
    return empty


def training_loss(model: Transformer, *, label_smoothing: float) -> TrainingLoss:
    """The model with its loss, formed a chunk of positions at a time."""
    return TrainingLoss(model, label_smoothing=label_smoothing, loss=chunked_loss)


def optimizer(training: schema.Training, parameters: list[torch.nn.Parameter]) -> torch.optim.Adam:
    """Section 5.3: Adam with β1 = 0.9, β2 = 0.98, ε = 1e-9; the learning rate is set at every step."""
    return torch.optim.Adam(
        parameters,
        lr=0.0,
        betas=(training.adam_beta1, training.adam_beta2),
        eps=training.adam_epsilon,
        fused=parameters[0].device.type in ("cpu", "cuda"),
    )


def schedule(config: schema.TrainConfig) -> Callable[[int], float]:
    """The learning rate of a step."""
    training, d_model = config.training, config.model.d_model
    rate = functools.partial(learning_rate, d_model=d_model, warmup_steps=training.warmup_steps)
    cooled = functools.partial(cooling, max_steps=training.max_steps, share=training.decay_fraction)
    return lambda step: rate(step, factor=training.learning_rate_factor) * cooled(step)


def training_autocast(training: schema.Training, device: torch.device) -> Callable[[], AbstractContextManager[None]]:
    """What makes the matrix products of training run in its precision."""
    return functools.partial(autocast, device, choose_precision(training.precision, device))


def translator(
    config: schema.TrainConfig,
    decoding: schema.Decoding,
    model: Transformer,
    run_dir: Path,
    *,
    ensemble: Sequence[Transformer] = (),
    num_hypotheses: int = 1,
    alignments: bool = False,
    copied: bool = False,
) -> Translator:
    """A model with the tokenizers of a run folder and the search settings of `decoding`."""
    source, target = tokenizer_paths(run_dir, config.tokenizer)
    device = next(model.parameters()).device
    return Translator(
        model=model,
        source_tokenizer=Tokenizer.load(source),
        target_tokenizer=Tokenizer.load(target),
        threads=torch.get_num_threads() if device.type == "cpu" else 1,
        copied=copied,
        forbidden=[PAD, BOS, UNKNOWN] if config.tokenizer.byte_fallback else [PAD, BOS],
        **{**vars(decoding), "sampling": decoding.sampling and Sampling(**vars(decoding.sampling))}
        | search_arithmetic(decoding.precision, device),
        ensemble=ensemble,
        num_hypotheses=num_hypotheses,
        alignments=alignments,
        separator="" if config.data.target_language in _LANGUAGES_WITHOUT_SPACES else " ",
    )


def translator_of_run(
    run_dir: Path,
    decoding: schema.Decoding | None = None,
    device: str = "auto",
    *,
    ensemble: Sequence[Path] = (),
    num_hypotheses: int = 1,
    alignments: bool = False,
    copied: bool = False,
) -> Translator:
    """The translator that a finished run delivered, with the run's own search settings unless others are given.

    The models of the runs in `ensemble` decide with it. Raises UserError for a folder that is no run and for runs of
    different vocabularies, BadFileError for a damaged one.
    """
    check_ensemble([run_dir, *ensemble])
    models = [trained_model(load_run(each), each, choose_device(device)) for each in (run_dir, *ensemble)]
    config = load_run(run_dir)
    return translator(
        config,
        decoding or config.decoding,
        models[0],
        run_dir,
        ensemble=models[1:],
        num_hypotheses=num_hypotheses,
        alignments=alignments,
        copied=copied,
    )
