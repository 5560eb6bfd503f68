"""mt-benchmark: our training step against the other systems', on the same batches, in turns on this machine."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from mt.benchmark.contest import Entry, System, programs, run_contest, started
from mt.benchmark.report import TRAINING_LEGEND, environment, training_table, write_report
from mt.benchmark.timed_training import TokenBatch
from mt.commands.preparation import filtered_text, train_tokenizers, training_order
from mt.config.measurements import BenchmarkConfig
from mt.config.schema import Model
from mt.errors import UserError
from mt.model.architecture import Architecture
from mt.runs.folder import check_same_run
from mt.runtime import choose_device

_SIZES = ("num_layers", "d_model", "d_ff", "num_heads", "dropout")
_WITHOUT_EFFECT = {"initialisation", "max_positions", "max_relative_positions"}  # on the speed of the paper's model


def benchmark(config: BenchmarkConfig) -> None:
    """Measure and write `output/training-NAME-DEVICE.json` and `.md`.

    Raises UserError when the other systems' environment is missing or no system finishes, DiskError.
    """
    _check_paper(config.model)
    ours, others = programs(config.systems, job="training", python=config.systems_python)
    run_dir = Path(config.run_dir).absolute()
    batches = _token_batches(config, run_dir)
    file = run_dir / "batches.pt"
    torch.save([tuple(batch) for batch in batches], file)
    device = choose_device(config.device).type
    task = {
        "device": device,
        "batches": str(file),
        "label_smoothing": config.training.label_smoothing,
        "pack_length": config.training.pack_length,
        "packed": device == "cuda",
        "sizes": {
            "vocab_size": config.tokenizer.vocab_size,  # also where the corpus supports fewer subwords
            **{name: getattr(config.model, name) for name in _SIZES},
        },
    }
    with started([_system(name, ours, others, task) for name in config.systems], logs=run_dir) as (workers, about):
        # The precisions of one system share its process and its model.
        pairs = itertools.product(config.precisions, workers.items())
        entries = [
            Entry(f"{name}_{precision}", worker, {"precision": precision}) for precision, (name, worker) in pairs
        ]
        outcome = run_contest(entries, rounds=config.rounds)
    shown = training_table(outcome, systems=config.systems, precisions=config.precisions)
    write_report(
        Path(config.output),
        f"training-{config.name}-{device}",
        title=f"Training speed: {config.name}",
        body=f"{_described(config, batches)}\n\n{shown}\n\n{TRAINING_LEGEND}",
        outcome=outcome,
        about={**environment(), **about},
        task=task,
    )
    print(shown, flush=True)


def _check_paper(model: Model) -> None:
    """Refuse what the other systems do not have. Raises UserError naming the option."""
    for name, value in vars(model).items():
        if name not in {*_SIZES, *_WITHOUT_EFFECT} and value != getattr(Architecture, name):
            raise UserError(f"model.{name}: the systems are compared on the paper's model only; leave it out")


def _token_batches(config: BenchmarkConfig, run_dir: Path) -> list[TokenBatch]:
    """The first batches of the run that these options describe."""
    run_dir.mkdir(parents=True, exist_ok=True)
    training = replace(config.training, micro_batch_tokens=config.training.batch_tokens, packing=False)
    config = replace(config, training=training)
    prepared = filtered_text(config.data)
    check_same_run(config, prepared.fingerprint, run_dir)
    train_tokenizers(config, prepared)
    steps = training_order(config, prepared, torch.device("cpu")).steps(epoch=0, start=0)
    taken = [step.micro_batches[0] for step in itertools.islice(steps, config.steps_per_round)]
    return [TokenBatch(batch.source, batch.target_input, batch.target_output) for batch in taken]


def _system(name: str, ours: list[str], others: list[str], task: dict[str, Any]) -> System:
    if name == "ours":
        return System(name, ours, task)
    compiled = name.endswith("_compiled")
    return System(name, others, {**task, "system": name.removesuffix("_compiled"), "compiled": compiled})


def _described(config: BenchmarkConfig, batches: list[TokenBatch]) -> str:
    model = config.model
    tokens = sum(batch.tokens for batch in batches) / len(batches)
    return (
        f"N={model.num_layers}, d_model={model.d_model}, d_ff={model.d_ff}, h={model.num_heads}, "
        f"{config.tokenizer.vocab_size:,} subwords. Batches of at most {config.training.batch_tokens:,} tokens a side, "
        f"{tokens:,.0f} real tokens of source and target on average; {config.rounds} rounds of "
        f"{config.steps_per_round} steps, all systems in turns."
    )
