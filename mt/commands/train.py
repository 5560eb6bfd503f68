"""mt-train: corpora in, a run folder with a model and its score out."""

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import fields
from functools import partial
from operator import attrgetter
from pathlib import Path

import torch

from mt import build
from mt.api import empty_model, load_tokenizers, translator_of_run
from mt.commands.automatic import chosen
from mt.commands.classifier_run import score_labelled_run
from mt.commands.pair_run import score_faults
from mt.commands.preparation import (
    fitting_tokens,
    prepare,
    report_text,
    training_order,
    with_labels,
)
from mt.commands.validation import delivery_choice, score_text, validation, warmup_of
from mt.config.checks import budget_seconds, classifies
from mt.config.schema import LabelledData, TextData, TrainConfig
from mt.data.filters import FilterReport
from mt.data.loader import TrainingOrder
from mt.data.text_cache import PreparedText
from mt.errors import UserError
from mt.fast.compiled import compile_layers
from mt.fast.memory import keep_freed_memory
from mt.fast.step_threads import step_threads
from mt.fast.workers import can_fork
from mt.figures.run_report import write_report
from mt.model.decoder_only import AnyTransformer
from mt.reporting import command_began, format_seconds, report
from mt.runs.atomic import remove_unfinished
from mt.runs.checkpoint import Checkpoints, TrainingState, load_model_tensors
from mt.runs.delivery import averaged_steps, begun_with, deliver, inherit_config
from mt.runs.folder import (
    CARD,
    CHECKPOINTS,
    METRICS,
    MODEL,
    REPORT,
    SCORES,
    descriptions,
    held_out_text,
    run_identity,
    scored_splits,
    scores_path,
)
from mt.runs.metrics import draw_curves
from mt.runs.signals import StopRequest, lock_folder, stop_on_signals
from mt.runtime import choose_device, choose_precision
from mt.training.diagnosis import Diagnosis, WatchedMetrics, unigram_entropy
from mt.training.limits import Clock, unfitting_intervals
from mt.training.processes import ProcessGroup, Replica, process_group
from mt.training.schedule import learning_rate
from mt.training.trainer import LoopSettings, StepSettings, Trainer, is_finished
from mt.translation.card import write_card
from mt.translation.evaluation import check_scorable
from mt.translation.scoring import is_scored, score_split

_NEARLY_OVER = 0.9  # of the time for steps


def train(config: TrainConfig) -> None:
    """Begin or resume the training of a run folder, deliver the averaged model, and score it on the test split.

    All processes that torchrun starts train; rank zero does everything else, and the others wait for its files.
    """
    run_dir, started = Path(config.run_dir), command_began()
    check_scorable(config.data.target_language)
    keep_freed_memory()
    config = inherit_config(config)
    processes = process_group(fsdp=config.training.fsdp)
    with processes as ranks, ExitStack() as held, stop_on_signals() as stop, ranks.stopping_together(stop):
        ranks.on_rank_zero(lambda: held.enter_context(lock_folder(run_dir)))
        ranks.on_rank_zero(lambda: remove_unfinished(run_dir))
        begun = config
        config = ranks.on_rank_zero(lambda: with_labels(chosen(begun, started, ranks.world_size)))
        command = _command(config, chosen_keys=begun.automatic)
        # An exception in the middle of SentencePiece's training would be reported as a fault of the text.
        learning = nullcontext() if can_fork() else stop.held_back()
        text = ranks.on_rank_zero(lambda: prepare(config, run_dir, learning=learning))
        device = ranks.device(choose_device(config.device))
        keep = config.training.keep_checkpoints
        checkpoints = Checkpoints(run_dir / CHECKPOINTS, keep=keep, run=run_identity(run_dir))
        other = None if checkpoints.steps() or config.finetune_from is None else Path(config.finetune_from)
        same = other / MODEL if other is not None and not isinstance(config.data, LabelledData) else None
        model = empty_model(config, load_tokenizers(config, run_dir), device, file=same)
        if other is not None:
            load_model_tensors(model, begun_with(model, other), origin=other / MODEL)
        clock = _clock(config, run_dir, started)
        state = _train(config, text, model, checkpoints, stop=stop, ranks=ranks, clock=clock)
        if ranks.is_rank_zero:
            _complete(config, run_dir, checkpoints, state, text.report, command=command)


def _command(config: TrainConfig, *, chosen_keys: Sequence[str]) -> str:
    """The command that makes the run once more: this one, with what it chose given, so that nothing is chosen again."""
    values = ((key, attrgetter(key)(config)) for key in chosen_keys)
    return shlex.join([*sys.argv, *(f"{key}={'null' if value is None else value}" for key, value in values)])


def _complete(
    config: TrainConfig,
    run_dir: Path,
    checkpoints: Checkpoints,
    state: TrainingState,
    filters: FilterReport,
    *,
    command: str,
) -> None:
    """Deliver and score what has been trained, unless that is done already."""
    scores = {split: scores_path(run_dir, split) for split in scored_splits(config)}
    outdated = averaged_steps(run_dir / MODEL)[-1:] != [state.step]
    if outdated:
        check = partial(empty_model, config, load_tokenizers(config, run_dir), torch.device("meta"))
        choice = delivery_choice(config, run_dir, state)
        draw_curves(run_dir)
        described = descriptions(run_dir, config)
        deliver(run_dir, checkpoints, check=check, outdated=described, **choice)  # last: it says that this is done
    seconds = format_seconds(state.training_seconds)
    report(f"trained {state.step:,} steps, {state.target_tokens:,} target tokens in {seconds}: {run_dir}")
    if state.step < (warmup := warmup_of(config, state)):
        again = f"training.warmup_steps={max(1, state.step // 4)}"
        report(
            f"warning: the run ended inside its warm-up of {warmup:,} steps, so that the model has hardly learned: "
            f"train on, or begin again in a new run_dir with {again}"
        )
    if isinstance(config.data, TextData) or classifies(config):
        if not (run_dir / SCORES).exists():
            outdated = True
            if isinstance(config.data, TextData):
                score_text(config, run_dir)
            elif isinstance(config.data, LabelledData):
                score_labelled_run(config, run_dir)
            else:
                score_faults(config, run_dir)
    else:
        held_out = [split for split in scores if held_out_text(run_dir, split, "source").exists()]
        missing = [split for split in held_out if not is_scored(run_dir, split, config.decoding)]
        if outdated or missing or not (run_dir / CARD).exists():
            outdated = True
            _score_and_describe(config, run_dir, missing, state, filters, command=command)
    if outdated or not (run_dir / REPORT).exists():
        write_report(run_dir, config)
        report(f"{run_dir / REPORT}: curves, the model, and translations over time, for a browser")


def _score_and_describe(
    config: TrainConfig,
    run_dir: Path,
    splits: Sequence[str],
    state: TrainingState,
    filters: FilterReport,
    *,
    command: str,
) -> None:
    """Score the delivered model on the splits, and write its card."""
    if splits:
        translator = translator_of_run(run_dir, config.decoding, config.device)
        for split in splits:
            language = config.data.target_language
            score_split(run_dir, translator, split, config, language=language, decoding=config.decoding)
    model = empty_model(config, load_tokenizers(config, run_dir), torch.device("meta"))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    names = [corpus.name for corpus in build.corpora(config.data)["train"]]
    corpora = dict(zip(names, filters.corpora, strict=False))  # none of text that an older version prepared
    write_card(run_dir, config, state, filters=filters, corpora=corpora, parameters=parameters, command=command)
    report(f"{run_dir / CARD}: the model card")


def _train(
    config: TrainConfig,
    text: PreparedText,
    model: AnyTransformer,
    checkpoints: Checkpoints,
    *,
    stop: StopRequest,
    ranks: ProcessGroup,
    clock: Clock,
) -> TrainingState:
    training = config.training
    say = report if ranks.is_rank_zero else lambda _: None
    optimizer = build.optimizer(training, model)
    state = _resumed(checkpoints, model, optimizer, ranks, say)
    if is_finished(state, max_steps=None if clock.paces else training.max_steps, patience=training.patience):
        say(f"{config.name}: finished at step {state.step:,}; {_to_continue(config, state, clock)}")
        return state
    _check_budget_left(config, state, clock)
    run_dir, device = Path(config.run_dir), next(model.parameters()).device
    threads = step_threads(device) if ranks.world_size == 1 else None
    order = training_order(config, text, device, ranks, threads=threads.count if threads else 1)
    too_long = order.corpus_of_epoch(state.epoch).dropped_too_long
    ranks.on_rank_zero(lambda: report_text(config, text, too_long, resumed=state.step > 0))
    if not training.fsdp or ranks.world_size == 1:
        order.micro_batch_tokens = ranks.smallest(fitting_tokens(config, order, state.epoch, model, optimizer))
    validate = ranks.rank_zero_first(lambda: validation(config, run_dir, model, order.micro_batch_tokens))
    replica = _replica(config, model, optimizer, ranks, order)
    say(_describe(config, model, state, order, ranks))
    if state.step == 0:
        ranks.on_rank_zero(lambda: _report_unfitting(config, training.max_steps))
        ranks.on_rank_zero(lambda: _report_late_start(clock))
    with (
        closing(_metrics(config, state, order)) if ranks.is_rank_zero else nullcontext() as metrics,
        closing(threads) if threads else nullcontext(),
    ):
        return Trainer(
            replica,
            order=order,
            steps=StepSettings(build.schedule(config), build.training_autocast(training, device), config.seed, threads),
            loop=LoopSettings(**{field.name: getattr(training, field.name) for field in fields(LoopSettings)}),
            validate=validate,
            checkpoints=checkpoints,
            metrics=metrics,
            stop=stop,
            ranks=ranks,
            clock=clock,
            report_expected_steps=partial(_report_unfitting, config) if ranks.is_rank_zero else lambda _: None,
        ).run(state)


def _to_continue(config: TrainConfig, state: TrainingState, clock: Clock) -> str:
    """What would let a finished run go on."""
    training = config.training
    if clock.paces and state.progress >= 1:
        return (
            f"its budget is used: finetune_from={config.run_dir} training.learning_rate=1e-4 training.warmup_steps=200 "
            "in a new run_dir, without experiment=auto, trains on"
        )
    limits = []
    if training.patience is not None and state.validations_without_progress >= training.patience:
        limits.append("training.patience")
    if not clock.paces and state.step >= training.max_steps:
        limits.append("training.max_steps")
    return f"a larger {' and '.join(limits)} continues"


def _validations_at_end(config: TrainConfig, run_dir: Path) -> float:
    """How many greedy validations take as long as all that follows the last step.

    That is a validation, a loss for each mean of checkpoints that may be tried, and the test sets; a beam of 4 took 0.8
    to 1.5 times as long for a sentence as a validation.
    """
    paths = [held_out_text(run_dir, split, "target") for split in ("validation", *scored_splits(config))]
    validated, *tests = (path.stat().st_size if path.exists() else 0 for path in paths)
    losses = config.training.average_checkpoints.bit_length()
    return 1 + losses / 4 + (5 + config.decoding.beam_size) / 6 * sum(tests) / max(1, validated)


def _clock(config: TrainConfig, run_dir: Path, started: float) -> Clock:
    """What limits the time: the budget of the run, of which progress is kept, or `max_minutes` of this command."""
    minutes = config.training.max_minutes if config.budget is None else budget_seconds(config.budget) / 60
    return Clock(minutes, started, _validations_at_end(config, run_dir), paces=config.budget is not None)


def _check_budget_left(config: TrainConfig, state: TrainingState, clock: Clock) -> None:
    """Raise UserError for a smaller budget that is over before the rate could decay."""
    if clock.paces and 0 < state.progress < _NEARLY_OVER and clock.seconds_left() <= state.budget_seconds:
        raise UserError(
            f"budget={config.budget}: the run has used {format_seconds(state.budget_seconds)} of its budget, and its "
            "rate has not decayed yet: give a longer one"
        )


def _report_late_start(clock: Clock) -> None:
    """Report that preparation and the end take half of a budget or more; a larger corpus needs a larger one."""
    left = clock.seconds_left()
    if clock.paces and left < 30 * (clock.max_minutes or 0):
        report(
            f"warning: {format_seconds(max(0, left))} of {clock} are left for training after preparation: give more "
            "in a new run_dir, which reuses the text that is prepared"
        )


def _report_unfitting(config: TrainConfig, steps: int) -> None:
    """Report in one line the intervals that do not fit a run of `steps`, with values that would."""
    training = config.training
    names = ("warmup_steps", "validate_every_steps", "checkpoint_every_steps", "average_checkpoints")
    found = unfitting_intervals(steps, **{name: getattr(training, name) for name in names})
    if not found:
        return
    long = ", ".join(f"training.{name}={value}" for name, (value, _) in found.items())
    fitting = " ".join(f"training.{name}={value}" for name, (_, value) in found.items())
    if "warmup_steps" in found:
        sizes = {"d_model": config.model.d_model, "warmup_steps": training.warmup_steps}
        peak = learning_rate(training.warmup_steps, **sizes, factor=training.learning_rate_factor)
        same_peak = "" if training.learning_rate else f" training.learning_rate={peak:.2g}"
        fitting += f"{same_peak}, the warm-up in a new run_dir"
    limit = "" if steps == training.max_steps else f" (about, in training.max_minutes={training.max_minutes:g})"
    report(f"warning: too long for {steps:,} steps{limit}: {long}; these would fit: {fitting}")


def _resumed(
    checkpoints: Checkpoints,
    model: AnyTransformer,
    optimizer: torch.optim.Optimizer,
    ranks: ProcessGroup,
    say: Callable[[str], None],
) -> TrainingState:
    """The state of the run, with the newest whole checkpoint loaded. Raises BadFileError, DiskError, UserError."""
    loaded = ranks.rank_zero_first(lambda: checkpoints.load_newest(model, optimizer))
    state, passed_over = loaded if loaded is not None else (TrainingState(), [])
    ranks.check_equal(state.step, "other checkpoints: run_dir must be on a disk that all machines share")
    for line in passed_over:
        say(line)
    if differences := state.origin.differences():
        say(
            "other versions or threads than before, so the last bits may differ, and with another number of threads "
            f"dropout: {', '.join(differences)}"
        )
    ranks.on_rank_zero(lambda: checkpoints.prune(state.step))
    return state


def _metrics(config: TrainConfig, state: TrainingState, order: TrainingOrder) -> WatchedMetrics:
    """The metrics file, continued, watched for what a healthy run does not show."""
    path, step = Path(config.run_dir) / METRICS, state.step
    ends = not (classifies(config) or isinstance(config.data, TextData))  # classes and blocks of text have no EOS
    diagnosis = Diagnosis(
        unigram_entropy=unigram_entropy(order.corpus_of_epoch(state.epoch), ends=ends),
        warmup_steps=config.training.warmup_steps,
        max_steps=config.training.max_steps,
        label_smoothing=config.training.label_smoothing,
    )
    metrics = WatchedMetrics(path, step=step, tensorboard=config.training.tensorboard, diagnosis=diagnosis)
    newest = max((line["step"] for line in metrics.kept), default=0)
    if metrics.damaged:
        report(f"{path}: damaged lines left out: {metrics.damaged}")
    if newest < step - step % config.training.log_every_steps:
        report(f"{path}: nothing is left of steps {newest + 1:,} to {step:,}, which the curves will lack")
    return metrics


def _replica(
    config: TrainConfig,
    model: AnyTransformer,
    optimizer: torch.optim.Optimizer,
    ranks: ProcessGroup,
    order: TrainingOrder,
) -> Replica:
    """The parameters as this rank trains them, with their layers compiled where the configuration says so."""
    replica = ranks.wrap(build.training_loss(model, config.training), optimizer)
    if build.compiles(config, next(model.parameters()).device):
        [trained] = [module for module in replica.loss.modules() if isinstance(module, AnyTransformer)]
        compile_layers(trained, static_shapes=order.pack_length is not None)
    return replica


def _describe(
    config: TrainConfig, model: AnyTransformer, state: TrainingState, order: TrainingOrder, ranks: ProcessGroup
) -> str:
    size = sum(parameter.numel() for parameter in model.parameters())
    device = next(model.parameters()).device
    precision = str(choose_precision(config.training.precision, device)).removeprefix("torch.")
    begin = f"continues after step {state.step:,}" if state.step else "begins"
    devices = device.type if ranks.world_size == 1 else f"{ranks.world_size} × {device.type}"
    subwords = model.target_embedding.weight.shape[0]
    peak_step = min(config.training.warmup_steps, config.training.max_steps)
    peak = build.schedule(config)(peak_step)
    at, end = f"at step {peak_step:,}", f"to step {config.training.max_steps:,}"
    if config.budget is not None:
        at, end = f"after {peak_step / config.training.max_steps:.0%} of the time", f"to the end of {config.budget}"
    return (
        f"{config.name}: training {begin}: {size:,} parameters, {subwords:,} subwords, {precision} on {devices}, "
        f"torch {torch.__version__}, threads: {torch.get_num_threads()}, "
        f"micro-batches of {order.micro_batch_tokens:,} tokens, peak learning rate {peak:.3g} {at}, "
        f"{end}; run folder {config.run_dir}"
    )
