"""mt-benchmark-decode: our translator against other systems with the same weights, in turns on this machine."""

import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mt
from mt.benchmark.contest import ContestError, Entry, Worker, run_contest
from mt.benchmark.decoding_table import LEGEND, Setting, decoding_tables
from mt.benchmark.report import environment, write_report
from mt.config.schema import BenchmarkDecodeConfig, TrainConfig
from mt.data.lines import read_lines
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError
from mt.reporting import report
from mt.runs import folder as folder_names
from mt.runs.folder import load_run
from mt.translation.evaluation import corpus_bleu

_ROOT = Path(mt.__file__).resolve().parents[1]
_OURS, _PEERS = "mt.benchmark.ours_decoding", "mt.benchmark.workers.systems_decoding"
_LONGEST_ROUND_SECONDS = 3600.0


def benchmark_decode(config: BenchmarkDecodeConfig) -> None:
    """Measure and write `output/decoding-NAME.json` and `.md`.

    Raises UserError for a length penalty that the other systems do not know, when the run has no test split, an
    exported folder or the environment is missing, or nobody finishes.
    """
    if config.decoding.length_penalty and config.decoding.length_penalty_form != "power":
        form = config.decoding.length_penalty_form
        raise UserError(
            f"decoding.length_penalty_form={form}: the other systems know only power; leave it out, or give power"
        )
    run_dir = Path(config.run_dir).absolute()
    run = load_run(run_dir)
    sources, references = _test_split(run_dir, config.sentences)
    tokenizer = Tokenizer.load(folder_names.tokenizer_paths(run_dir, run.tokenizer)[0])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sentences.json")
        pieces = [tokenizer.pieces(sentence) for sentence in tokenizer.encode_many(sources)]
        file.write_text(json.dumps(pieces), encoding="utf-8")
        task = {"sentences": str(file), "max_extra_tokens": config.decoding.max_extra_tokens}
        workers, about = _start(config, run_dir, task, Path(folder))
        try:
            settings = [Setting(beam, batch) for beam in config.beam_sizes for batch in config.batches]
            entries = [
                Entry(setting.entry(name), worker, setting.request(len(sources), config.single_sentences))
                for setting in settings
                for name, worker in workers.items()
            ]
            outcome = run_contest(entries, rounds=config.rounds, timeout_seconds=_LONGEST_ROUND_SECONDS, report=report)
        finally:
            for worker in workers.values():
                worker.close()
    target = Tokenizer.load(folder_names.tokenizer_paths(run_dir, run.tokenizer)[1])
    for entry, answers in outcome.answers.items():
        for answer in answers:
            answer["bleu"] = _bleu(answer.pop("outputs"), references, target, run)
        report(f"{entry}: BLEU {answers[0]['bleu']:.2f}")
    shown = decoding_tables(outcome, systems=list(workers), settings=settings)
    page = write_report(
        Path(config.output),
        f"decoding-{run.name}",
        title=f"Decoding speed: {run.name}",
        body=f"{_described(config, run, len(sources))}\n\n{shown}\n\n{LEGEND}",
        results={"answers": outcome.answers, "failures": outcome.failures},
        about={**environment(), **about},
    )
    print(shown, flush=True)
    report(str(page))


def _test_split(run_dir: Path, count: int) -> tuple[list[str], list[str]]:
    paths = [run_dir / "data" / f"test.{side}" for side in ("source", "target")]
    if not paths[0].exists():
        raise UserError(f"{run_dir}: its data has no test split to translate")
    sources, references = (list(read_lines(str(path)))[:count] for path in paths)
    return sources, references


def _start(
    config: BenchmarkDecodeConfig, run_dir: Path, task: dict[str, Any], logs: Path
) -> tuple[dict[str, Worker], dict[str, Any]]:
    """A process for each system, CTranslate2 both with one translator and with one for each thread."""
    workers: dict[str, Worker] = {}
    about: dict[str, Any] = {}
    for system in config.systems:
        engine, _, variant = system.partition("_")
        ours = engine == "ours"
        exported = {"huggingface": config.huggingface, "ctranslate2": config.ctranslate2}
        folder = run_dir if ours else Path(exported[engine] or run_dir / "export" / engine)
        if not folder.exists():
            raise UserError(f"{engine}: {folder} is missing; mt-export format={engine} run_dir={run_dir} writes it")
        request = {**task, "engine": engine, "folder": str(folder), "search": asdict(config.decoding)}
        layouts = {"": (1, config.threads)}
        if engine == "ctranslate2":
            layouts = {
                f", {count} x {config.threads // count}": (count, config.threads // count)
                for count in (1, config.threads)
            }
        for layout, (parallel, threads) in layouts.items():
            name = system.replace("_", ", ") + layout
            python = sys.executable if ours else str(Path(config.systems_python).absolute())
            try:
                workers[name] = Worker(
                    name,
                    [python, "-m", _OURS if ours else _PEERS],
                    log=logs / "log",
                    environment={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"},
                    folder=_ROOT,
                )
                settings = {"workers": parallel, "threads": threads, "compute_type": variant, "precision": variant}
                about[name] = workers[name].ask({**request, **settings}, timeout_seconds=_LONGEST_ROUND_SECONDS)
            except ContestError as error:
                report(f"out: {error}")
                about[name] = {"failed": str(error)}
                if name in workers:
                    workers.pop(name).close()
    return workers, about


def _bleu(outputs: list[list[str]], references: list[str], tokenizer: Tokenizer, run: TrainConfig) -> float:
    ids = {piece: number for number, piece in enumerate(tokenizer.pieces(range(tokenizer.vocab_size)))}
    hypotheses = [tokenizer.decode([ids[piece] for piece in output]) for output in outputs]
    language = run.data.target_language
    return corpus_bleu(hypotheses=hypotheses, references=references[: len(outputs)], target_language=language)


def _described(config: BenchmarkDecodeConfig, run: TrainConfig, sentences: int) -> str:
    model, decoding = run.model, config.decoding
    return (
        f"N={model.num_layers}, d_model={model.d_model}, d_ff={model.d_ff}, h={model.num_heads}, "
        f"{run.tokenizer.vocab_size:,} pieces; {sentences:,} sentences of the test split "
        f"({config.single_sentences:,} where they come one by one); α = {decoding.length_penalty}; "
        f"{config.threads} threads each; {config.rounds} rounds, all systems in turns."
    )
