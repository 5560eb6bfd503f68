"""mt-benchmark: our training step against the other systems', on the same batches, in turns on this machine."""

import itertools
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import mt
from mt.benchmark.contest import ContestError, Entry, Outcome, Worker, run_contest
from mt.benchmark.report import environment, write_report
from mt.benchmark.training_table import LEGEND, PEAK, flop_per_round, peaks, precision_gain, projection, training_table
from mt.benchmark.workers.token_batches import TokenBatch, write_token_batches
from mt.commands.preparation import filtered_text, train_tokenizers, training_order
from mt.config.schema import BenchmarkConfig
from mt.errors import UserError
from mt.reporting import report
from mt.runs.folder import check_same_run
from mt.runtime import choose_device

_ROOT = Path(mt.__file__).resolve().parents[1]
_MODULES = {"ours": "mt.benchmark.ours_training", PEAK: "mt.benchmark.workers.product_peak"}
_LONGEST_ROUND_SECONDS = 3600.0  # a compiler may take many minutes in the first


def benchmark(config: BenchmarkConfig) -> None:
    """Measure and write `output/training-NAME-DEVICE.json` and `.md`; with `profile` also where our time goes.

    Raises UserError when the other systems' environment is missing or nobody finishes, DiskError.
    """
    if any(not name.startswith("ours") for name in config.systems) and not Path(config.systems_python).exists():
        raise UserError(f"systems_python: {config.systems_python} is missing; make benchmark sets it up")
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
            "vocab_size": config.tokenizer.vocab_size,  # also where the corpus supports fewer pieces
            **{name: getattr(config.model, name) for name in names},
        },
    }
    workers, about = _start(config, run_dir, task)
    try:
        entries = _entries(config, workers)
        outcome = run_contest(entries, rounds=config.rounds, timeout_seconds=_LONGEST_ROUND_SECONDS, report=report)
        if config.profile and "ours" in workers:
            _profile(config, workers["ours"], run_dir)
    finally:
        for worker in workers.values():
            worker.close()
    _report(config, task, batches, outcome, about)


def _token_batches(config: BenchmarkConfig, run_dir: Path) -> list[TokenBatch]:
    """The first batches of the run that these options describe."""
    run_dir.mkdir(parents=True, exist_ok=True)
    training = replace(config.training, micro_batch_tokens=config.training.batch_tokens, packing=False)
    config = replace(config, training=training)
    text = filtered_text(config.data)
    check_same_run(config, text.fingerprint, run_dir)
    train_tokenizers(config, text)
    steps = training_order(config, text, torch.device("cpu")).steps(epoch=0, start=0)
    taken = [step.micro_batches[0] for step in itertools.islice(steps, config.steps_per_round)]
    sides = ("source", "target_input", "target_output")
    return [TokenBatch(*(getattr(batch, side).numpy() for side in sides)) for batch in taken]


def _start(
    config: BenchmarkConfig, run_dir: Path, task: dict[str, Any]
) -> tuple[dict[str, Worker], dict[str, dict[str, Any]]]:
    """A process for each system that has what it needs, and what each says of itself."""
    workers: dict[str, Worker] = {}
    about: dict[str, dict[str, Any]] = {}
    for name in [PEAK, *config.systems]:
        model, _, variant = name.partition("_")
        module = _MODULES.get(model, "mt.benchmark.workers.systems_training")
        python = sys.executable if model in _MODULES else str(Path(config.systems_python).absolute())
        try:
            workers[name] = Worker(
                name,
                [python, "-m", module],
                log=run_dir / f"{name.replace(' ', '-')}.log",
                environment={**os.environ, "PYTHONUNBUFFERED": "1"},
                folder=_ROOT,
            )
            request = {**task, "model": model, "variant": variant}
            about[name] = workers[name].ask(request, timeout_seconds=_LONGEST_ROUND_SECONDS)
        except ContestError as error:
            report(f"out: {error}")
            about[name] = {"failed": str(error)}
            if name in workers:
                workers.pop(name).close()
    return workers, about


def _entries(config: BenchmarkConfig, workers: dict[str, Worker]) -> list[Entry]:
    """Every worker in every precision; the precisions of one system share its process and its model."""
    return [
        Entry(f"{name} {precision}", worker, {"precision": precision})
        for precision, (name, worker) in itertools.product(config.precisions, workers.items())
    ]


def _profile(config: BenchmarkConfig, worker: Worker, run_dir: Path) -> None:
    """Print and keep where the time of a round goes."""
    for precision in config.precisions:
        request = {"precision": precision, "profile": True}
        where = worker.ask(request, timeout_seconds=_LONGEST_ROUND_SECONDS)["table"]
        print(f"one round, {precision}\n{where}", flush=True)
        (run_dir / f"profile-{precision}.txt").write_text(where, encoding="utf-8")


def _report(
    config: BenchmarkConfig,
    task: dict[str, Any],
    batches: list[TokenBatch],
    outcome: Outcome,
    about: dict[str, dict[str, Any]],
) -> None:
    sizes = task["sizes"]
    flop = flop_per_round(batches, sizes)
    absent = {name: one["failed"] for name, one in about.items() if "failed" in one}
    shown = training_table(outcome, systems=config.systems, precisions=config.precisions, flop=flop, absent=absent)
    tokens = sum(batch.source_tokens + batch.target_tokens for batch in batches) / len(batches)
    setting = (
        f"N={sizes['num_layers']}, d_model={sizes['d_model']}, d_ff={sizes['d_ff']}, h={sizes['num_heads']}, "
        f"{sizes['vocab_size']:,} pieces. Batches of at most {config.training.batch_tokens:,} tokens a side, "
        f"{tokens:,.0f} real tokens of source and target in the mean; {config.rounds} rounds of "
        f"{config.steps_per_round} steps, all systems in turns."
    )
    speeds = f"Matrix products, GFLOP/s: {peaks(outcome, config.precisions)}. {precision_gain(outcome)} "
    speeds += projection(
        outcome, config.precisions, steps_per_round=config.steps_per_round, max_steps=config.training.max_steps
    )
    page = write_report(
        Path(config.output),
        f"training-{config.name}-{task['device']}",
        title=f"Training speed: {config.name}",
        body=f"{setting}\n\n{shown}\n\n{speeds}\n\n{LEGEND}",
        results={"task": task, "flop_per_round": flop, "answers": outcome.answers, "failures": outcome.failures},
        about={**environment(), **{name: one for name, one in about.items() if name != PEAK}},
    )
    print(f"{shown}\n\n{speeds}", flush=True)
    report(str(page))
