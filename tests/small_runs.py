"""Trainings small enough for tests, and processes that train and can be killed."""

import functools
import json
import multiprocessing
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from mt.commands.entry_point import run
from mt.config.schema import TrainConfig

CODES = {  # of signals that end a command, their exit codes
    signal.SIGINT: 130,
    signal.SIGTERM: 143,
    signal.SIGHUP: 143,
    signal.SIGUSR1: 143,
    signal.SIGUSR2: 143,
}

TIMES = {
    "input_waiting_share",
    "target_tokens_per_second",
    "source_tokens_per_second",
    "training_seconds",
    "budget_seconds",
    "validation_seconds",
    "progress",
    "waiting_seconds",
    "seconds",
    "joules",
}
TINY = [
    "tokenizer.vocab_size=320",
    "model.num_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.num_heads=2",
    "model.dropout=0.3",
    "training.max_steps=20",
    "training.batch_tokens=400",
    "training.micro_batch_tokens=200",
    "training.warmup_steps=10",
    "training.validate_every_steps=7",
    "training.checkpoint_every_steps=4",
    "training.average_checkpoints=3",
    "training.log_every_steps=3",
    "training.precision=fp32",
    "data.filters.max_tokens=60",
    "decoding.max_output_tokens=6",
    "device=cpu",
]
WORDS = [
    "house",
    "tree",
    "river",
    "stone",
    "bread",
    "water",
    "light",
    "window",
    "garden",
    "morning",
    "letter",
    "bridge",
]
WORTE = ["Haus", "Baum", "Fluss", "Stein", "Brot", "Wasser", "Licht", "Fenster", "Garten", "Morgen", "Brief", "Brücke"]


def write_corpus(folder: Path, *, pairs: int = 90, held_out: int = 8) -> list[str]:
    """Parallel text in files, and the words of a command line that name them."""
    chance = random.Random(4)
    folder.mkdir(parents=True, exist_ok=True)
    for split, lines in (("train", pairs), ("validation", held_out), ("test", held_out)):
        picks = [[chance.randrange(len(WORDS)) for _ in range(chance.randint(2, 7))] for _ in range(lines)]
        for side, words in (("en", WORDS), ("de", WORTE)):
            text = "".join(" ".join(words[pick] for pick in line) + ".\n" for line in picks)
            (folder / f"{split}.{side}").write_text(text, encoding="utf-8")
    names = {
        split: f"{{source: {folder}/{split}.en, target: {folder}/{split}.de}}"
        for split in ("train", "validation", "test")
    }
    return [
        "data=files",
        "data.source_language=en",
        "data.target_language=de",
        f"data.train=[{names['train']}]",
        f"data.validation={names['validation']}",
        f"data.test={names['test']}",
        f"data.cache_dir={folder}/cache",
        *TINY,
    ]


def arguments(corpus: Sequence[str], *changes: str) -> list[str]:
    """A command line, later words instead of earlier ones with the same key."""
    words = {word.split("=")[0]: word for word in (*corpus, *changes)}
    return list(words.values())


def train(corpus: Sequence[str], *changes: str) -> int:
    """mt-train in this process; returns its exit code."""
    from mt.commands import train as job  # noqa: PLC0415  after the shape checks are in place

    return run("train", job.train, arguments(corpus, *changes))


def train_config(corpus: Sequence[str], *changes: str) -> TrainConfig:
    """What the job is given."""
    configs: list[TrainConfig] = []
    assert run("train", configs.append, arguments(corpus, *changes)) == 0
    return configs[0]


def outcome(run_dir: Path) -> dict[str, Any]:
    """All that a run leaves behind, times apart."""
    found: dict[str, Any] = {}
    for path in sorted(run_dir.rglob("*")):
        name = str(path.relative_to(run_dir))
        if (
            path.is_dir()
            or path.suffix == ".png"
            or path.name in (".lock", "manifest.json", "config.yaml", "README.md")
        ):
            continue
        if path.suffix in (".json", ".jsonl"):
            texts = path.read_text(encoding="utf-8").split("\n") if path.suffix == ".jsonl" else [path.read_bytes()]
            values = [json.loads(text) for text in texts if text]
            found[name] = [without_times(value) for value in values]
        else:
            found[name] = path.read_bytes().replace(str(run_dir).encode(), b"RUN")
    return found


def without_times(values: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in values.items() if key not in TIMES}
    if isinstance(kept.get("window"), dict):
        kept["window"] = without_times(kept["window"])
    return kept


# ---------------------------------------------------------------------------- processes


@functools.cache
def _context() -> Any:
    """A process that has loaded torch once and forks the others; it has computed nothing, so forking is sound."""
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["mt.commands.train", "mt.training.distributed", "matplotlib.pyplot", "sacrebleu", "torch._dynamo"]
    )
    return context


def start_training(
    config: TrainConfig,
    *,
    log: Path,
    hold: Path | None = None,
    environment: dict[str, str] | None = None,
    threads: int = 1,
) -> BaseProcess:
    """A process that trains as mt-train does and exits with its code; with `hold` it waits at the first step for it."""
    return start(_train, config, log, hold, threads, environment=environment)


def start(action: Callable[..., None], *arguments: Any, environment: dict[str, str] | None = None) -> BaseProcess:
    """A process that does something, with torch loaded already."""
    process = _context().Process(target=_within, args=(environment or {}, action, arguments), daemon=True)
    process.start()
    return process


def ended(processes: list[BaseProcess], *, within_seconds: float = 60) -> list[int | None]:
    """The exit codes; None for one that did not end in time, which is killed."""
    deadline = time.monotonic() + within_seconds
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
    return codes


def torchrun_environments(world_size: int) -> list[dict[str, str]]:
    """What torchrun tells its processes, where the first of them keeps the store."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(server.getsockname()[1])}
    common |= {"WORLD_SIZE": str(world_size)}
    return [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(world_size)]


def check_resumed(words: Callable[..., list[str]], folder: Path, finished: Path, *, stops: Sequence[int]) -> None:
    """Assert that a run that stopped at each of these steps and continued has the bytes of the `finished` one.

    `words` gives the command line of a run in a folder, by its name, with changes.
    """
    for max_steps in stops:
        assert train(words(folder, "run", f"training.max_steps={max_steps}")) == 0
    resumed, whole = outcome(folder / "run"), outcome(finished)
    for name in ("model.safetensors", "metrics.jsonl", "evaluation.json", "tokenizer.model"):
        assert resumed[name] == whole[name], name


def _within(environment: dict[str, str], action: Callable[..., None], arguments: Sequence[Any]) -> None:
    os.environ.update(environment)
    action(*arguments)


def _train(config: TrainConfig, log: Path, hold: Path | None, threads: int) -> None:
    import torch  # noqa: PLC0415

    from mt.commands.entry_point import exit_code  # noqa: PLC0415
    from mt.commands.train import train as job  # noqa: PLC0415
    from mt.training import trainer  # noqa: PLC0415

    with log.open("ab") as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
        os.dup2(stream.fileno(), sys.stdout.fileno())
    if hold is not None:
        trainer.train_step = _after(hold, trainer.train_step)
    torch.set_num_threads(threads)
    sys.exit(exit_code(lambda: job(config)))


def _after(file: Path, action: Callable[..., Any]) -> Callable[..., Any]:
    def waiting(*arguments: Any, **options: Any) -> Any:
        while not file.exists():
            time.sleep(0.01)
        return action(*arguments, **options)

    return waiting
