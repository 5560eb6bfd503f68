"""`experiment=auto`: a value for every option that is left to the corpus, this machine and the budget."""

import time
from contextlib import closing, nullcontext
from dataclasses import asdict, replace
from functools import reduce
from operator import attrgetter, getitem
from pathlib import Path

import torch

from mt import build
from mt.commands.preparation import filtered_text
from mt.config.checks import budget_seconds, longest_row
from mt.config.loading import checked
from mt.config.schema import TrainConfig
from mt.data.loader import TrainingOrder
from mt.errors import UserError
from mt.fast.step_threads import step_threads
from mt.reporting import report
from mt.runs.folder import CHECKPOINTS, MODEL, checkpoint_steps, load_run
from mt.runtime import choose_device
from mt.training.processes import SINGLE_PROCESS
from mt.training.recipe import CorpusStatistics, Options, recipe
from mt.training.trial import largest_that_fits, random_pairs, target_tokens_per_second

_END_SHARE = 0.07  # of the budget, for validation and evaluation
_TRIAL_TOKENS = 2048  # in a batch of a trial on a CPU, whose speed hardly depends on it
_ANY_BATCH = {"training.batch_tokens": 10**6, "training.micro_batch_tokens": 10**6}  # a trial has its own


def chosen(config: TrainConfig, started: float, world_size: int) -> TrainConfig:
    """The configuration with nothing left `automatic`: the recipe, or for a run that continues, what it began with.

    Raises UserError for an option that no recipe has, and what reading the corpora raises.
    """
    if not config.automatic:
        return config
    run_dir = Path(config.run_dir)
    if checkpoint_steps(run_dir / CHECKPOINTS) or (run_dir / MODEL).exists():
        begun = load_run(run_dir)
        return _with(config, {key: attrgetter(key)(begun) for key in config.automatic})
    corpus = CorpusStatistics.of_text(filtered_text(config.data))
    device = choose_device(config.device)
    automatic = set(config.automatic)
    if config.training.learning_rate_factor != 1:  # the rate is given in its other form
        automatic.discard("training.learning_rate")
    if config.training.fsdp:  # its shards leave no choice
        automatic.discard("training.optimizer")

    def speed(sizes: Options, vocab_size: int) -> float:
        return world_size * _measured(_with(config, {**sizes, **_ANY_BATCH}), corpus, device, vocab_size)

    seconds = budget_seconds(config.budget or "") * (1 - _END_SHARE) - (time.monotonic() - started)
    every = recipe(corpus, lambda *_: 1.0, 1.0, {}).options
    if unknown := automatic - every.keys():
        raise UserError(f"automatic: {', '.join(sorted(unknown))}: a recipe chooses only {', '.join(every)}")
    given = {key: attrgetter(key)(config) for key in every if key not in automatic}
    fits = device.type == "cuda" and not config.training.fsdp and "training.micro_batch_tokens" in automatic
    if fits:
        given["training.micro_batch_tokens"] = "auto"
    made = recipe(
        corpus, speed, max(seconds, 1.0), given, longest_row=longest_row(config), on_gpu=device.type == "cuda"
    )
    if fits:
        made.reasons.append("training.micro_batch_tokens=auto: as much as fits into the GPU's memory")
    report("\n".join(["chosen, each for its reason; what the command line gives stays:", *made.reasons]))
    return _with(config, {key: made.options[key] for key in automatic if key in made.options})


def _measured(config: TrainConfig, corpus: CorpusStatistics, device: torch.device, vocab_size: int) -> float:
    """The target tokens a second that a model of this configuration trains on, from a short trial."""
    lengths = {
        "source_length": corpus.tokens / corpus.pairs * corpus.source_bytes / corpus.target_bytes,
        "target_length": corpus.tokens / corpus.pairs,
    }
    most = _TRIAL_TOKENS if device.type == "cpu" else corpus.most_batch_tokens(on_gpu=device.type == "cuda")
    pairs = random_pairs(2 * most, **lengths, vocab_size=vocab_size)
    model = build.model(config, vocab_size=vocab_size, source_vocab_size=None).to(device)
    single_pass = replace(config.training, consistency="none")
    loss = build.training_loss(model, single_pass)
    replica = SINGLE_PROCESS.wrap(loss, build.optimizer(single_pass, model))
    threads = step_threads(device)
    autocast = build.training_autocast(single_pass, device)
    found = 0.0

    def attempt(tokens: int) -> None:
        nonlocal found
        order = TrainingOrder(
            corpus_of_epoch=lambda _: pairs,
            batch_tokens=tokens,
            micro_batch_tokens=tokens,
            seed=0,
            pack_length=config.training.pack_length if build.on_gpu_if_auto(config.training.packing, device) else None,
            threads=threads.count if threads else 1,
            pin=device.type == "cuda",
            prefetch=build.prefetch(device),
            drawn=False,
        )
        with closing(order.steps(epoch=0, start=0)) as steps:
            found = target_tokens_per_second(replica, steps, autocast=autocast, side_by_side=threads)

    with closing(threads) if threads else nullcontext():
        largest_that_fits(attempt, most_tokens=most, least_tokens=_TRIAL_TOKENS)
    return found


def _with(config: TrainConfig, options: Options) -> TrainConfig:
    """The configuration with other values, checked again, and nothing left to choose."""
    values = asdict(config) | {"automatic": []}
    for key, value in options.items():
        *groups, name = key.split(".")
        reduce(getitem, groups, values)[name] = value
    return checked(TrainConfig, values)
