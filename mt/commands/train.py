"""mt-train: corpora in, a run folder with a model and its score out."""

import functools
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path

import torch

from mt import build
from mt.commands.average import deliver
from mt.commands.evaluate import score_split
from mt.commands.finetune import inherit_config, take_parameters, take_tokenizers
from mt.config.loading import to_yaml
from mt.config.schema import TrainConfig
from mt.data.encoded import EncodedCorpus
from mt.data.filters import HELD_OUT
from mt.data.lines import read_lines
from mt.data.loader import TrainingOrder, validation_batches
from mt.data.text_cache import PreparedText, Side, Split
from mt.doctor.report_findings import report_corpus_findings
from mt.fast.compiled import compile_layers
from mt.model.transformer import Transformer
from mt.reporting import report
from mt.runs import folder as folder_names
from mt.runs import folder as run_identity
from mt.runs.atomic import remove_unfinished, replace_file
from mt.runs.checkpoint import Checkpoints, TrainingState, averaged_steps
from mt.runs.metrics import MetricsFile, NoMetrics, draw_curves, format_seconds, report_beside_progress
from mt.runs.signals import StopRequest, lock_folder, stop_on_signals
from mt.runtime import choose_device, choose_precision, keep_freed_memory
from mt.training.diagnosis import Diagnosis, WatchedMetrics, unigram_entropy
from mt.training.processes import ProcessGroup, Replica
from mt.training.trainer import LoopSettings, StepSettings, Trainer, Validation, is_finished
from mt.training.trial import largest_that_fits, try_batches
from mt.translation.evaluation import check_scorable, corpus_bleu

_HELD_OUT_SPLITS: tuple[Split, ...] = ("validation", "test")
_SIDES: tuple[Side, Side] = ("source", "target")


def train(config: TrainConfig) -> None:
    """Run or continue the training of a run folder, deliver the averaged model, and score it on the test split.

    Of the processes that torchrun starts, all train; the first one does all else, and the others wait for its files.
    """
    run_dir = Path(config.run_dir)
    check_scorable(config.data.target_language)
    keep_freed_memory()
    config = inherit_config(config)
    with build.ranks(config) as ranks, ExitStack() as held, stop_on_signals() as stop, ranks.stopping_together(stop):
        ranks.on_rank_zero(lambda: held.enter_context(lock_folder(run_dir)))
        ranks.on_rank_zero(lambda: remove_unfinished(run_dir))
        prepared = ranks.on_rank_zero(lambda: prepare(config, run_dir, stop))
        model = build.model(config, run_dir, ranks.device(choose_device(config.device)))
        checkpoints = Checkpoints(run_dir / "checkpoints", keep=config.training.keep_checkpoints)
        if not checkpoints.steps():
            take_parameters(config, model)
        state = _train(config, prepared, model, checkpoints, stop=stop, ranks=ranks)
        if ranks.is_rank_zero:
            _complete(config, run_dir, checkpoints, state)


def _complete(config: TrainConfig, run_dir: Path, checkpoints: Checkpoints, state: TrainingState) -> None:
    """Deliver and score what has been trained, as far as that is not done yet."""
    scores = run_dir / "evaluation.json"
    if averaged_steps(run_dir / folder_names.MODEL)[-1:] != [state.step]:
        scores.unlink(missing_ok=True)  # those of an earlier model
        deliver(run_dir, checkpoints, count=config.training.average_checkpoints)
        draw_curves(run_dir / "metrics.jsonl", run_dir)
    seconds = format_seconds(state.training_seconds)
    report(f"trained {state.step:,} steps, {state.target_tokens:,} target tokens in {seconds}: {run_dir}")
    if (run_dir / "data" / "test.source").exists() and not scores.exists():
        translator = build.translator_of_run(run_dir, config.decoding, config.device)
        score_split(run_dir, config, translator, "test", config.data.target_language)


def prepare(config: TrainConfig, run_dir: Path, stop: StopRequest) -> PreparedText:
    """Read the corpora, and give the run folder its configuration, tokenizer and held-out texts.

    Raises UserError when the folder holds a run of another model, vocabulary or corpus.
    """
    prepared = build.text(config.data)
    run_identity.check_same_run(config, prepared.fingerprint, run_dir)
    take_tokenizers(config, run_dir)
    with stop.held_back():  # an exception in the midst of the library's training would be taken for a fault of the text
        build.make_tokenizers(config.tokenizer, prepared, run_dir)
    run_identity.check_same_vocabulary(config.tokenizer, run_dir)
    (run_dir / "data").mkdir(exist_ok=True)
    for split in _HELD_OUT_SPLITS:
        for side in _SIDES:
            if prepared.path(split, side).exists():
                shutil.copyfile(prepared.path(split, side), run_dir / "data" / f"{split}.{side}")
    replace_file(run_dir / "config.yaml", to_yaml(config).encode())
    return prepared


def _train(
    config: TrainConfig,
    prepared: PreparedText,
    model: Transformer,
    checkpoints: Checkpoints,
    *,
    stop: StopRequest,
    ranks: ProcessGroup,
) -> TrainingState:
    training = config.training
    say = report if ranks.is_rank_zero else lambda _: None
    optimizer = build.optimizer(training, list(model.parameters()))
    state = _begun(checkpoints, model, optimizer, ranks, say)
    if is_finished(state, max_steps=training.max_steps, patience=training.patience):
        say(f"{config.name}: finished at step {state.step:,}; a larger training.max_steps continues")
        return state
    device = next(model.parameters()).device
    order = build.training_order(config, prepared, device, ranks)
    too_long = order.corpus_of_epoch(state.epoch).dropped_too_long
    ranks.on_rank_zero(lambda: _report_text(config, prepared, too_long))
    if not training.fsdp or ranks.world_size == 1:
        order.micro_batch_tokens = ranks.smallest(_fitting_tokens(config, order, state.epoch, model, optimizer))
    validate = ranks.rank_zero_first(lambda: _validation(config, prepared, model, order.micro_batch_tokens))
    replica = _replica(config, model, optimizer, ranks, static_shapes=order.pack_length is not None)
    say(_describe(config, model, state, order, ranks))
    metrics = _metrics(config, state, order) if ranks.is_rank_zero else NoMetrics()
    try:
        return Trainer(
            replica,
            order=order,
            steps=StepSettings(build.schedule(config), build.training_autocast(training, device), config.seed),
            loop=LoopSettings(**{field.name: getattr(training, field.name) for field in fields(LoopSettings)}),
            validate=validate,
            checkpoints=checkpoints,
            metrics=metrics,
            stop=stop,
            ranks=ranks,
        ).run(state)
    finally:
        metrics.close()


def _begun(
    checkpoints: Checkpoints,
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    ranks: ProcessGroup,
    say: Callable[[str], None],
) -> TrainingState:
    """Where the run stands, with the newest whole checkpoint loaded. Raises BadFileError, DiskError, UserError."""
    loaded = ranks.rank_zero_first(lambda: checkpoints.load_newest(model, optimizer))
    state, passed_over = loaded if loaded is not None else (TrainingState(), [])
    ranks.check_equal(state.step, "other checkpoints: run_dir must lie on a disk that all machines share")
    for line in passed_over:
        say(line)
    ranks.on_rank_zero(lambda: checkpoints.prune(state.step))
    return state


def _report_text(config: TrainConfig, prepared: PreparedText, too_long: int) -> None:
    report(prepared.report.with_dropped(f"more than {config.data.filters.max_tokens} pieces", too_long).table())
    if prepared.report.dropped.get(HELD_OUT):
        report(f"the training pairs dropped as {HELD_OUT} are listed in {prepared.held_out_path}")
    report_corpus_findings(config, prepared)


def _metrics(config: TrainConfig, state: TrainingState, order: TrainingOrder) -> WatchedMetrics:
    """The file of metrics, continued, and what compares its lines with those of a healthy run."""
    file = MetricsFile(Path(config.run_dir) / "metrics.jsonl", step=state.step, tensorboard=config.training.tensorboard)
    newest = max((line["step"] for line in file.kept), default=0)
    if file.damaged:
        report(f"{config.run_dir}/metrics.jsonl: damaged lines left out: {file.damaged}")
    if newest < state.step - state.step % config.training.log_every_steps:
        lost = f"nothing is left of steps {newest + 1:,} to {state.step:,}"
        report(f"{config.run_dir}/metrics.jsonl: {lost}, which the curves will lack")
    diagnosis = Diagnosis(
        unigram_entropy=unigram_entropy(order.corpus_of_epoch(state.epoch)),
        warmup_steps=config.training.warmup_steps,
        label_smoothing=config.training.label_smoothing,
        earlier=file.kept,
    )
    return WatchedMetrics(file, diagnosis, report=report_beside_progress)


def _replica(
    config: TrainConfig,
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    ranks: ProcessGroup,
    *,
    static_shapes: bool,
) -> Replica:
    """The parameters as this rank trains them, their layers compiled where that is wanted."""
    device = next(model.parameters()).device
    replica = ranks.wrap(build.training_loss(model, label_smoothing=config.training.label_smoothing), optimizer)
    if build.on_gpu_if_auto(config.training.compile, device):
        [trained] = [module for module in replica.loss.modules() if isinstance(module, Transformer)]
        compile_layers(trained, static_shapes=static_shapes)
    return replica


def _fitting_tokens(
    config: TrainConfig, order: TrainingOrder, epoch: int, model: Transformer, optimizer: torch.optim.Optimizer
) -> int:
    """Run the largest batch that can come; returns the size of micro-batches, for `auto` the largest that fits."""
    device = next(model.parameters()).device

    def attempt(tokens: int) -> None:
        try_batches(
            build.training_loss(model, label_smoothing=config.training.label_smoothing),
            optimizer,
            order.largest_batches(epoch=epoch, micro_batch_tokens=tokens),
            autocast=build.training_autocast(config.training, device),
        )

    if config.training.micro_batch_tokens != "auto":
        attempt(order.micro_batch_tokens)
        return order.micro_batch_tokens
    tokens = largest_that_fits(
        attempt, most_tokens=config.training.batch_tokens, least_tokens=config.data.filters.max_tokens + 1
    )
    report(f"micro-batches of {tokens:,} tokens a side fit; a step has {config.training.batch_tokens:,}")
    return tokens


def _describe(
    config: TrainConfig, model: Transformer, state: TrainingState, order: TrainingOrder, ranks: ProcessGroup
) -> str:
    size = sum(parameter.numel() for parameter in model.parameters())
    device = next(model.parameters()).device
    precision = str(choose_precision(config.training.precision, device)).removeprefix("torch.")
    begin = f"continues after step {state.step:,}" if state.step else "begins"
    place = device.type if ranks.world_size == 1 else f"{ranks.world_size} × {device.type}"
    pieces = model.target_embedding.weight.shape[0]
    return (
        f"{config.name}: training {begin}: {size:,} parameters, {pieces:,} pieces, {precision} on {place}, "
        f"micro-batches of {order.micro_batch_tokens:,} tokens, to step {config.training.max_steps:,}; "
        f"run folder {config.run_dir}"
    )


def _validation(
    config: TrainConfig, prepared: PreparedText, model: Transformer, batch_tokens: int
) -> Callable[[], Validation] | None:
    """Loss and greedy BLEU on the validation split, None without one."""
    if not prepared.path("validation", "source").exists():
        return None
    corpus = build.encoded(config, prepared, "validation", epoch=None)
    sources, references = (list(read_lines(str(prepared.path("validation", side)))) for side in _SIDES)
    decoding = replace(config.decoding, beam_size=1)
    loss = functools.partial(validation_loss, model, corpus, config, batch_tokens=batch_tokens)
    language = config.data.target_language

    def validate() -> Validation:
        greedy = build.translator(config, decoding, model, Path(config.run_dir))
        hypotheses = [translation.text for translation in greedy.translate_all(sources)]
        smoothed, nll = loss()
        bleu = corpus_bleu(hypotheses=hypotheses, references=references, target_language=language)
        return Validation(loss=smoothed, nll=nll, bleu=bleu)

    return validate


def validation_loss(
    model: Transformer, corpus: EncodedCorpus, config: TrainConfig, *, batch_tokens: int
) -> tuple[float, float]:
    """Smoothed loss and negative log-likelihood over a corpus, in nats per target token."""
    device = next(model.parameters()).device
    autocast = build.training_autocast(config.training, device)
    loss = build.training_loss(model, label_smoothing=config.training.label_smoothing)
    smoothed = nll = 0.0
    tokens = 0
    for batch in validation_batches(corpus, batch_tokens=batch_tokens):
        with autocast():
            batch_smoothed, batch_nll = loss(batch.to(device))
        smoothed += float(batch_smoothed)
        nll += float(batch_nll)
        tokens += batch.target_tokens
    return smoothed / tokens, nll / tokens
