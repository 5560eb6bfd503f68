"""mt-sweep: rows of a table, each trained with several seeds, and what they reach next to each other."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mt.config.loading import expected_of
from mt.config.measurements import SweepConfig, SweepRow
from mt.errors import StoppedError, UserError
from mt.reporting import report
from mt.runs.results_table import figures, given_options, known_runs, note_run, report_table
from mt.runs.signals import stop_on_signals

_OWN = {"sweep", "run_dir", "name", "seed", *SweepConfig.__annotations__}
_TRAIN = "from mt.commands.entry_point import command; from mt.commands.train import train; command('train')(train)()"
_STOPPED = {130: 2, 143: 15}  # exit codes of a training that was stopped, each with its signal


def launch(words: Sequence[str]) -> int:
    """mt-train in a process of its own, its output on standard error; returns its exit code.

    A signal to this process stops it too, with its state saved, before StoppedError is raised.
    """
    path = f"import sys; sys.path[0] = {str(Path(__file__).resolve().parents[2])!r}; "
    process = subprocess.Popen([sys.executable, "-c", path + _TRAIN, *words], stdout=sys.stderr)  # noqa: S603
    try:
        return process.wait()
    except StoppedError:
        process.terminate()
        process.wait()
        raise


def sweep(config: SweepConfig, train: Callable[[Sequence[str]], int] = launch) -> None:
    """Train what the table does not have yet, seed after seed, and write the table after each training.

    Folders of runs that the table has may be removed; its JSON in another folder continues the sweep there.
    A training that fails does not end the sweep. Raises UserError for rows that do not exist, and at the end where
    trainings failed; StoppedError, DiskError.
    """
    typed, run_dir = _options(sys.argv[1:]), Path(config.run_dir)
    if "seed" in typed:
        raise UserError("seed: a sweep has several; give seeds=[1,2]")
    typed = {key: word for key, word in typed.items() if key not in _OWN and not key.startswith("hydra")}
    rows = _rows(config)
    likes = {row.name: None if row.like is None else expected_of(row.like) for row in config.table}
    shared = _typed("shared", config.shared)
    options = {row.name: {**shared, **typed, **_typed(row.name, row.options)} for row in rows}
    jobs, failed = [(row, seed) for seed in config.seeds for row in rows], []
    with stop_on_signals():
        for number, (row, seed) in enumerate(jobs, start=1):
            own = run_dir / f"{row.name}-{seed}"
            words = [*options[row.name].values(), f"name={row.name}", f"run_dir={own}", f"seed={seed}"]
            run = {"row": row.name, "seed": seed, "options": words}
            if any(_same(run, one) for one in known_runs(run_dir)):
                continue
            report(f"{row.name}, seed {seed} ({number} of {len(jobs)}): mt-train {shlex.join(words)}")
            code = train(words)
            if code in _STOPPED:
                message = f"stopped by a signal during {own}; the same command continues"
                raise StoppedError(message, signal_number=_STOPPED[code])
            if code:
                failed.append(f"{own.name} (exit code {code})")
                continue
            note_run(run_dir, {**run, **figures(own)}, likes)
        report_table(run_dir, likes)
    if failed:
        raise UserError(f"{len(failed)} of {len(jobs)} trainings failed: {', '.join(failed)}; the others are done")


def _same(run: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether both are of one row and one seed, with the same options; the folder may be another."""
    same_row = (run["row"], run["seed"]) == (other["row"], other["seed"])
    return same_row and given_options(run) == given_options(other)


def _options(words: Sequence[str]) -> dict[str, str]:
    """The words of a command line by their keys, of which the last counts; flags are left out."""
    return {word.lstrip("+~").partition("=")[0]: word for word in words if not word.startswith("-")}


def _typed(key: str, text: str) -> dict[str, str]:
    """The options in a text, by their keys. Raises UserError for a quotation without its end and for other words."""
    try:
        options = _options(shlex.split(text))
    except ValueError as error:
        raise UserError(f"{key}: the options {text} cannot be split: {str(error).lower()}") from None
    for name, word in options.items():
        if name in _OWN or "=" not in word:
            raise UserError(f"{key}: {word} is not an option of a row; those are written key=value, as for mt-train")
    return options


def _rows(config: SweepConfig) -> list[SweepRow]:
    """The rows to train. Raises UserError for none, and for names that are not there, twice, or no folder's."""
    names = [row.name for row in config.table]
    for name in names:
        if names.count(name) > 1 or not re.fullmatch(r"\w[\w.-]*", name):
            raise UserError(f"table: {name!r} must name one row, in letters, digits, _, - and dots")
    if not (names and config.seeds) or config.rows == []:
        raise UserError("nothing to train: table, rows and seeds need one each at least; rows=null is all rows")
    if len(set(config.seeds)) < len(config.seeds):
        raise UserError(f"seeds: {config.seeds} has a seed twice; give each once")
    for name in config.rows or []:
        if name not in names:
            raise UserError(f"rows: the table has no row {name}; choose from {', '.join(names)}")
    return [row for row in config.table if config.rows is None or row.name in config.rows]
