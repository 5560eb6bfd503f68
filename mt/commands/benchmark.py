"""mt-benchmark: our training step against the other systems', on the same batches, in turns on this machine."""

import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from mt.benchmark.contest import About, Entry, Outcome, System, Worker, run_contest, started, systems_python
from mt.benchmark.report import environment, label, write_report
from mt.benchmark.training_table import LEGEND, PEAK, flop_per_round, speeds, training_table
from mt.benchmark.workers.training_task import TokenBatch, write_token_batches
from mt.commands.preparation import filtered_text, train_tokenizers, training_order
from mt.config.schema import BenchmarkConfig
from mt.reporting import report
from mt.runs.folder import check_same_run
from mt.runtime import choose_device

_MODULES = {
    PEAK: "mt.benchmark.workers.product_peak",
    "ours": "mt.benchmark.ours_training",
    "torch": "mt.benchmark.workers.systems_training",
    "hf_marian": "mt.benchmark.workers.systems_training",
}


def benchmark(config: BenchmarkConfig) -> None:
    """Measure and write `output/training-NAME-DEVICE.json` and `.md`; with `profile` also where our time goes.

    Raises UserError when the other systems' environment is missing or no system finishes, DiskError.
    """
    python = systems_python(config.systems, config.systems_python)
    run_dir = Path(config.run_dir).absolute()
    batches = _token_batches(config, run_dir)
    file = run_dir / "batches.npz"
    write_token_batches(file, batches)
    names = ("num_layers", "d_model", "d_ff", "num_heads", "dropout")
    task = {
        "device": choose_device(config.device).type,
        "batches": str(file),
        "label_smoothing": config.training.label_smoothing,
        "pack_length": config.training.pack_length,
        "sizes": {
            "vocab_size": config.tokenizer.vocab_size,  # also where the corpus supports fewer subwords
            **{name: getattr(config.model, name) for name in names},
        },
    }
    with started([_system(name, python, task) for name in (PEAK, *config.systems)], logs=run_dir) as (workers, about):
        # The precisions of one system share its process and its model.
        pairs = itertools.product(config.precisions, workers.items())
        entries = [
            Entry(f"{name} {precision}", worker, {"precision": precision}) for precision, (name, worker) in pairs
        ]
        outcome = run_contest(entries, rounds=config.rounds)
        if config.profile and "ours" in workers:
            _profile(config, workers["ours"], run_dir)
    _report(config, task, batches, outcome, about)


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
    sides = ("source", "target_input", "target_output")
    return [TokenBatch(*(getattr(batch, side).numpy() for side in sides)) for batch in taken]


def _system(name: str, python: str, task: dict[str, Any]) -> System:
    """A name is that of a system, or continues with the variant."""
    system = next(system for system in _MODULES if name.startswith(system))
    request = {**task, "system": system, "variant": name.removeprefix(system).removeprefix("_")}
    return System(name, _MODULES[system], sys.executable if system in (PEAK, "ours") else python, request)


def _profile(config: BenchmarkConfig, worker: Worker, run_dir: Path) -> None:
    """Print and keep where the time of a round goes."""
    for precision in config.precisions:
        where = worker.ask({"precision": precision, "profile": True})["table"]
        print(f"one round, {precision}\n{where}", flush=True)
        (run_dir / f"profile-{precision}.txt").write_text(where, encoding="utf-8")


def _report(
    config: BenchmarkConfig, task: dict[str, Any], batches: list[TokenBatch], outcome: Outcome, about: About
) -> None:
    sizes = task["sizes"]
    flop = flop_per_round(batches, sizes)
    shown = training_table(outcome, systems=config.systems, precisions=config.precisions, flop=flop, about=about)
    shown += "\n\n" + speeds(
        outcome, config.precisions, steps_per_round=config.steps_per_round, max_steps=config.training.max_steps
    )
    tokens = sum(batch.source_tokens + batch.target_tokens for batch in batches) / len(batches)
    setting = (
        f"N={sizes['num_layers']}, d_model={sizes['d_model']}, d_ff={sizes['d_ff']}, h={sizes['num_heads']}, "
        f"{sizes['vocab_size']:,} subwords. Batches of at most {config.training.batch_tokens:,} tokens a side, "
        f"{tokens:,.0f} real tokens of source and target on average; {config.rounds} rounds of "
        f"{config.steps_per_round} steps, all systems in turns."
    )
    page = write_report(
        Path(config.output),
        f"training-{config.name}-{task['device']}",
        title=f"Training speed: {config.name}",
        body=f"{setting}\n\n{shown}\n\n{LEGEND}",
        results={"task": task, "flop_per_round": flop, "answers": outcome.answers, "failures": outcome.failures},
        about={**environment(), **{label(name): one for name, one in about.items() if name != PEAK}},
    )
    print(shown, flush=True)
    report(str(page))
