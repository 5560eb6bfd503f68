"""mt-benchmark-decode: our translator against other systems with the same weights, in turns on this machine."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mt.api import load_tokenizers
from mt.benchmark.contest import Entry, System, programs, run_contest, started
from mt.benchmark.report import DECODING_LEGEND, Setting, decoding_tables, environment, write_report
from mt.config.measurements import BenchmarkDecodeConfig
from mt.config.schema import TrainConfig
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError
from mt.reporting import report
from mt.runs.folder import export_folder, load_run
from mt.runtime import choose_device
from mt.translation.evaluation import corpus_bleu
from mt.translation.scoring import split_lines


def benchmark_decode(config: BenchmarkDecodeConfig) -> None:
    """Measure and write `output/decoding-NAME.json` and `.md`.

    Raises UserError for a length penalty that the other systems do not have, when the run has no test split, an
    exported folder or the other systems' environment is missing, or no system finishes.
    """
    if config.decoding.sampling is not None:
        raise UserError("decoding.sampling: beam searches are compared; leave it out")
    if config.decoding.length_penalty and config.decoding.length_penalty_form != "power":
        form = config.decoding.length_penalty_form
        raise UserError(
            f"decoding.length_penalty_form={form}: the other systems know only power; leave it out, or give power"
        )
    commands = programs(config.systems, job="decoding", python=config.systems_python)
    run_dir = Path(config.run_dir).absolute()
    run = load_run(run_dir)
    sources, references = (side[: config.sentences] for side in split_lines(run_dir, "test"))
    tokenizer, target_tokenizer = load_tokenizers(run, run_dir)
    settings = [Setting(beam, batch) for beam in config.beam_sizes for batch in config.batches]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sentences.json")
        subwords = [tokenizer.subwords(sentence) for sentence in tokenizer.encode_many(sources)]
        file.write_text(json.dumps(subwords), encoding="utf-8")
        task = {
            "sentences": str(file),
            "device": choose_device(config.device).type,
            "max_extra_tokens": config.decoding.max_extra_tokens,
            "search": asdict(config.decoding),
        }
        with started(list(_systems(config, run_dir, commands, task)), logs=Path(folder)) as (workers, about):
            entries = [
                Entry(setting.entry(name), worker, setting.request(len(sources), config.single_sentences))
                for setting in settings
                for name, worker in workers.items()
            ]
            outcome = run_contest(entries, rounds=config.rounds)
    for entry, answers in outcome.answers.items():
        for answer in answers:
            answer["bleu"] = _bleu(answer.pop("outputs"), references, target_tokenizer, run)
        report(f"{entry}: BLEU {answers[0]['bleu']:.2f}")
    shown = decoding_tables(outcome, systems=list(workers), settings=settings)
    write_report(
        Path(config.output),
        f"decoding-{run.name}",
        title=f"Decoding speed: {run.name}",
        body=f"{_described(config, run, len(sources))}\n\n{shown}\n\n{DECODING_LEGEND}",
        outcome=outcome,
        about={**environment(), **about},
    )
    print(shown, flush=True)


def _systems(
    config: BenchmarkDecodeConfig, run_dir: Path, commands: tuple[list[str], list[str]], task: dict[str, Any]
) -> Iterator[System]:
    """The systems, CTranslate2 both with one translator and with one for each thread."""
    for system in config.systems:
        engine, _, variant = system.partition("_")
        ours = engine == "ours"
        folder = run_dir if ours else export_folder(run_dir, engine)
        if not folder.exists():
            raise UserError(f"{engine}: {folder} is missing; mt-export format={engine} run_dir={run_dir} writes it")
        layouts = {"": (1, config.threads)}
        if engine == "ctranslate2":
            sizes = ((count, config.threads // count) for count in (1, config.threads))
            layouts = {f", {count} x {threads}": (count, threads) for count, threads in sizes}
        for layout, (parallel, threads) in layouts.items():
            request = {
                **task,
                "engine": engine,
                "folder": str(folder),
                "workers": parallel,
                "threads": threads,
                "compute_type": variant,
                "precision": variant,
            }
            environment = {"OMP_NUM_THREADS": str(threads)}
            yield System(system + layout, commands[0] if ours else commands[1], request, environment)


def _bleu(outputs: list[list[str]], references: list[str], tokenizer: Tokenizer, run: TrainConfig) -> float:
    ids = {subword: number for number, subword in enumerate(tokenizer.subwords(range(tokenizer.vocab_size)))}
    hypotheses = [tokenizer.decode([ids[subword] for subword in output]) for output in outputs]
    language = run.data.target_language
    return corpus_bleu(hypotheses=hypotheses, references=references[: len(outputs)], target_language=language)


def _described(config: BenchmarkDecodeConfig, run: TrainConfig, sentences: int) -> str:
    model, decoding = run.model, config.decoding
    return (
        f"N={model.num_layers}, d_model={model.d_model}, d_ff={model.d_ff}, h={model.num_heads}, "
        f"{run.tokenizer.vocab_size:,} subwords; {sentences:,} sentences of the test split "
        f"({config.single_sentences:,} where they are translated one by one); α = {decoding.length_penalty}; "
        f"{choose_device(config.device).type}, {config.threads} threads each; {config.rounds} rounds, in turns."
    )
