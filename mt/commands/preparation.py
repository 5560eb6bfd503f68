"""From the corpora of a training to its stream of batches: filtered text, tokenizers, ids, order, size."""

import functools
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import torch

from mt import build
from mt.commands.classifier_run import labels_of
from mt.commands.examples import are_drawn, training_pairs
from mt.commands.pair_run import learned_score
from mt.config.checks import longest_row
from mt.config.loading import to_yaml
from mt.config.schema import Data, FilesData, LabelledData, TaskData, TextData, TrainConfig
from mt.data.augmentation import write_changed
from mt.data.batch import Pairs
from mt.data.filters import HELD_OUT
from mt.data.loader import TrainingOrder
from mt.data.text_blocks import prepare_single_text
from mt.data.text_cache import HELD_OUT_FILE, SIDES, PreparedText, prepare_text
from mt.data.tokenizer import train_tokenizer
from mt.doctor.quick import report_corpus_findings
from mt.fast.workers import in_process
from mt.model.decoder_only import AnyTransformer
from mt.reporting import report
from mt.runs.atomic import replace_file
from mt.runs.delivery import inherit_tokenizers
from mt.runs.folder import (
    CONFIG,
    HELD_OUT_TEXT,
    SOURCE_TOKENIZER,
    TOKENIZER,
    check_same_run,
    held_out_text,
    note_tokenizers,
    source_words,
    tokenizer_paths,
)
from mt.training.processes import SINGLE_PROCESS, ProcessGroup
from mt.training.trial import largest_batches, largest_that_fits, try_batches
from mt.translation.known_words import save_known_words


def prepare(config: TrainConfig, run_dir: Path, learning: AbstractContextManager[None] | None = None) -> PreparedText:
    """Read the corpora, and give the run folder its configuration, tokenizers and held-out texts.

    Tokenizers are trained within the context `learning`. Raises UserError when the folder holds a run of another
    model, vocabulary or corpus, BadFileError, DiskError.
    """
    text = filtered_text(config.data)
    check_same_run(config, text.fingerprint, run_dir)
    (run_dir / HELD_OUT_TEXT).mkdir(exist_ok=True)
    _, tokenizer = tokenizer_paths(run_dir, shared_vocab=config.tokenizer.shared_vocab)
    translates = text.path("train", "source").exists() and not isinstance(config.data, LabelledData)
    if translates and not tokenizer.exists():  # the first start of this run
        earlier = None if config.finetune_from is None else source_words(Path(config.finetune_from))
        save_known_words(text.path("train", "source"), source_words(run_dir), earlier=earlier)
    inherit_tokenizers(config)
    with learning or nullcontext():
        train_tokenizers(config, text)
    note_tokenizers(run_dir)
    for split in text.report.held_out:
        for side in SIDES:
            if text.path(split, side).exists():
                replace_file(held_out_text(run_dir, split, side), text.path(split, side).read_bytes())
    replace_file(run_dir / CONFIG, to_yaml(config).encode())
    return text


def with_labels(config: TrainConfig) -> TrainConfig:
    """The configuration with the labels of labelled data. Raises UserError for those that do not occur in training."""
    if not isinstance(config.data, LabelledData):
        return config
    return replace(config, data=replace(config.data, labels=labels_of(config.data, filtered_text(config.data))))


def filtered_text(data: Data) -> PreparedText:
    """The filtered text of all splits, in the cache folder. Raises UserError, DiskError."""
    if isinstance(data, TextData):
        return prepare_single_text(data.text, held_out_share=data.held_out_share, cache_dir=Path(data.cache_dir))
    return prepare_text(
        build.corpora(data),
        filters=build.filter_settings(data.filters),
        cache_dir=Path(data.cache_dir),
        learned=learned_score(data),
    )


def report_text(config: TrainConfig, text: PreparedText, too_long: int, *, resumed: bool) -> None:
    """Report what the filters dropped, `too_long` pairs among it, and at first what the corpus doctor finds."""
    if isinstance(config.data, TextData):
        report(f"{config.data.text}: training lines: {text.report.read:,}, held out: {text.sizes['validation']:,}")
        return
    if isinstance(config.data, FilesData) and config.data.validation is None:
        seen = f"; {config.finetune_from} may know these, which flatters scores" if config.finetune_from else ""
        report(f"no data.validation is given: pairs are held out of data.train for what follows{seen}")
    report(text.report.with_dropped(f"more than {config.data.filters.max_tokens} subwords", too_long).table())
    if text.report.dropped.get(HELD_OUT):
        report(f"the training pairs dropped as {HELD_OUT} are listed in {text.folder / HELD_OUT_FILE}")
    if not resumed and not isinstance(config.data, LabelledData | TaskData):  # a rule makes no corpus faults
        languages = config.data.source_language, config.data.target_language
        report_corpus_findings(text, languages=languages, max_length_ratio=config.data.filters.max_length_ratio)


def train_tokenizers(config: TrainConfig, text: PreparedText) -> None:
    """Train the tokenizers that the run folder does not have yet, on the training split alone. Raises UserError.

    Where training changes the case of pairs, such pairs are read in addition: without, a text in capitals has three to
    four times as many subwords.
    SentencePiece holds Python's lock for minutes, in which no signal would be obeyed: it works in a process that is
    ended then.
    """
    run_dir, of_text = Path(config.run_dir), isinstance(config.data, TextData)
    names = ("model_type", "vocab_size", "character_coverage", "byte_fallback", "input_sentence_size")
    settings = {name: getattr(config.tokenizer, name) for name in names} | {"verbatim": of_text}
    settings["mask"] = of_text and config.model.family == "encoder"
    files = {TOKENIZER: [0, 1]} if config.tokenizer.shared_vocab else {SOURCE_TOKENIZER: [0], TOKENIZER: [1]}
    files = {TOKENIZER: [1]} if of_text else {TOKENIZER: [0]} if isinstance(config.data, LabelledData) else files
    missing = {run_dir / name: sides for name, sides in files.items() if not (run_dir / name).exists()}
    if not missing or config.finetune_from is not None:  # whose tokenizers are there, of any kind
        return
    with _tokenizer_text(config, text) as texts:
        for output, sides in missing.items():
            text_files = [path for both in texts for path in (both[side] for side in sides)]
            in_process(functools.partial(train_tokenizer, text_files=text_files, output=output, **settings))


@contextmanager
def _tokenizer_text(config: TrainConfig, text: PreparedText) -> Iterator[list[list[Path]]]:
    """The source and target files to learn subwords from: the training text, and its pairs with another case."""
    plain = [text.path("train", side) for side in SIDES]
    augmentation = build.augmentation(config.data)
    of_case = augmentation and augmentation.of_case()
    if of_case is None:
        yield [plain]
        return
    cased = [Path(config.run_dir) / f".cased.{side}.part" for side in SIDES]  # a killed run's are removed
    try:
        write_changed(of_case, plain, cased, seed=config.seed)
        yield [plain, cased]
    finally:
        for path in cased:
            path.unlink(missing_ok=True)


def training_order(
    config: TrainConfig,
    text: PreparedText,
    device: torch.device,
    ranks: ProcessGroup = SINGLE_PROCESS,
    *,
    threads: int = 1,
) -> TrainingOrder:
    """This rank's share of the run's batches; with `auto`, micro-batches are whole batches at first.

    Each micro-batch is cut for `threads` that compute side by side. Raises UserError when the ranks read different
    data.
    """

    @functools.lru_cache(1)
    def corpus(epoch: int) -> Pairs:
        read = ranks.rank_zero_first(lambda: training_pairs(config, text, epoch=epoch))
        lengths = zlib.crc32(read.target_lengths.tobytes(), zlib.crc32(read.source_lengths.tobytes()))
        ranks.check_equal(lengths, "other training data: data.cache_dir must be on a disk that all machines share")
        return read

    training, micro_batch_tokens = config.training, config.training.micro_batch_tokens
    drawn = are_drawn(config)
    return TrainingOrder(
        corpus_of_epoch=lambda epoch: corpus(epoch if drawn else 0),
        batch_tokens=training.batch_tokens,
        micro_batch_tokens=training.batch_tokens if micro_batch_tokens == "auto" else micro_batch_tokens,
        seed=config.seed,
        drawn=drawn,
        pack_length=training.pack_length if build.on_gpu_if_auto(training.packing, device) else None,
        one_shape=build.compiles(config, device),
        pin=device.type == "cuda",
        prefetch=build.prefetch(device),
        rank=ranks.rank,
        world_size=ranks.world_size,
        threads=threads,
    )


def fitting_tokens(
    config: TrainConfig, order: TrainingOrder, epoch: int, model: AnyTransformer, optimizer: torch.optim.Optimizer
) -> int:
    """Try the largest possible batch; returns the size of micro-batches, for `auto` the largest that fits in memory.

    Layers are tried before they are compiled, because that takes long for each size. Compiled ones store fewer
    results between operations, so they should fit too; that has not been measured on a GPU.
    """
    device = next(model.parameters()).device

    def attempt(tokens: int) -> None:
        try_batches(
            build.training_loss(model, config.training),
            optimizer,
            largest_batches(order, epoch=epoch, micro_batch_tokens=tokens),
            autocast=build.training_autocast(config.training, device),
        )

    if config.training.micro_batch_tokens != "auto":
        attempt(order.micro_batch_tokens)
        return order.micro_batch_tokens
    tokens = largest_that_fits(attempt, most_tokens=config.training.batch_tokens, least_tokens=longest_row(config))
    report(f"micro-batches of {tokens:,} tokens a side fit; a step has {config.training.batch_tokens:,}")
    return tokens
