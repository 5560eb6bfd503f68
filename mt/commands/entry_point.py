"""The entry point of every command: from a command line to a checked configuration, and to an exit code.

Hydra composes the configuration. What Hydra accepts wrongly is refused here, before torch is imported: unknown
keys with `+`, a key given twice, wrong types. Only a bug shows a traceback.
"""

import contextlib
import functools
import io
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

import mt
from mt.commands.inputs import check_files, check_split
from mt.config.loading import checked
from mt.config.names import unknown_choice
from mt.config.overrides import Overrides
from mt.config.schema import (
    AttentionConfig,
    AverageConfig,
    BenchmarkConfig,
    BenchmarkDecodeConfig,
    EvaluateConfig,
    ExportConfig,
    ImportConfig,
    InspectConfig,
    TrainConfig,
    TranslateConfig,
)
from mt.errors import MtError, SignalledError, StoppedError, UserError, from_system
from mt.runs.folder import load_run, newest_run
from mt.runs.signals import end_on_signals, received_signal, reported_signal

SCHEMAS: dict[str, Any] = {
    "train": TrainConfig,
    "translate": TranslateConfig,
    "evaluate": EvaluateConfig,
    "average": AverageConfig,
    "attention": AttentionConfig,
    "inspect": InspectConfig,
    "benchmark": BenchmarkConfig,
    "export": ExportConfig,
    "import": ImportConfig,
    "benchmark_decode": BenchmarkDecodeConfig,
}

Job = Callable[[Any], None]

_CHOICES = {"data": "data=files or data=hub", "decoding": "decoding=sampling"}  # which bring more options than others


def configuration_folder() -> Path:
    """`mt/conf` in an installed package, `conf` next to `mt` in a checkout."""
    package = Path(mt.__file__).resolve().parent
    return next(folder for folder in (package / "conf", package.parent / "conf") if folder.is_dir())


def command(name: str) -> Callable[[Job], Callable[[], None]]:
    """Decorates a job that takes the checked configuration `name`: a command, which exits with the job's code."""

    def decorate(job: Job) -> Callable[[], None]:
        @functools.wraps(job)
        def main() -> None:
            _speak_utf8()
            end_on_signals()
            sys.exit(run(name, job, sys.argv[1:]))

        return main

    return decorate


def run(name: str, job: Job, arguments: Sequence[str]) -> int:
    """Composes, checks and runs; returns the exit code. Flags such as --help and --cfg are Hydra's."""
    codes: list[int] = []
    # torchrun starts several processes with one command line: one on each machine reports what is wrong with it.
    reports = os.environ.get("LOCAL_RANK", "0") == "0"

    def enter() -> None:
        folder = configuration_folder()
        groups = [path.name for path in folder.iterdir() if path.is_dir() and path.name != "hydra"]
        overrides = Overrides(arguments, SCHEMAS[name], groups)
        if overrides.make_plain_sweep:
            check_sweep(name, overrides, folder)
        launcher = os.getpid()

        def task(composed: DictConfig) -> None:
            if os.getpid() != launcher:  # a job sent elsewhere reports by its exception
                job(load(name, composed, overrides))
                return
            configs: list[Any] = []
            refused = exit_code(lambda: configs.append(load(name, composed, overrides)), reports=reports)
            codes.append(refused or exit_code(lambda: job(configs[0])))
            if codes[-1] >= 128:
                raise SystemExit(codes[-1])

        with _command_line([f"mt-{name}", *overrides.arguments]):
            hydra.main(version_base="1.3", config_path=str(folder), config_name=name)(task)()

    code = exit_code(enter, reports=reports)
    return code or max(codes, default=0)


def load(name: str, composed: DictConfig, overrides: Overrides) -> Any:
    """The composed configuration of one job as its checked class; raises `UserError`."""
    values: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=False)
    sweeping = HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN
    if name == "train" and sweeping and "run_dir" not in overrides.keys:
        values["run_dir"] += overrides.own_suffix(list(HydraConfig.get().overrides.task))
    if values.get("run_dir") is None and values.get("hypothesis") is None:
        values["run_dir"] = newest_run(delivered=name != "average")
    config = checked(SCHEMAS[name], values)
    check_files(config)
    if isinstance(config, EvaluateConfig) and config.run_dir and not config.source and not config.hypothesis:
        check_split(load_run(config.run_dir).data, config.split)
    return config


def check_sweep(name: str, overrides: Overrides, folder: Path) -> None:
    """Checks every job of a sweep before the first one starts; raises `UserError`."""
    run_dirs: set[str] = set()
    with hydra.initialize_config_dir(str(folder), version_base="1.3", job_name=name):
        for job_overrides in overrides.jobs():
            composed = hydra.compose(name, job_overrides)
            try:
                config = load(name, composed, overrides)
            except OmegaConfBaseException:
                continue  # a value that only the running job can resolve, such as ${hydra:job.num}
            if name == "train" and "run_dir" in overrides.keys:
                if config.run_dir in run_dirs:
                    raise UserError(f"run_dir: two jobs of the sweep share {config.run_dir}; leave run_dir out")
                run_dirs.add(config.run_dir)


def exit_code(action: Callable[[], None], *, reports: bool = True) -> int:
    """Runs an action and reports what went wrong in one line; only a bug shows its traceback."""
    report = _report if reports else lambda _, code: code
    try:
        action()
    except StoppedError as error:
        return report(str(error), error.exit_code)
    except MtError as error:
        return report(f"error: {error}", error.exit_code)
    except (HydraException, OmegaConfBaseException) as error:
        return report(f"error: {_explain(error)}", UserError.exit_code)
    except KeyboardInterrupt as error:
        received_signal()
        return _stopped_by(error.number if isinstance(error, SignalledError) else signal.SIGINT, report)
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at exit
        return 128 + signal.SIGPIPE
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        number = received_signal()
        if number is not None:  # the signal interrupted what failed
            return _stopped_by(number, report)
        refused = from_system(error)
        if refused is not None:
            return report(f"error: {refused}", refused.exit_code)
        traceback.print_exc()
        return 1
    return 0


def _stopped_by(number: int, report: Callable[[str, int], int]) -> int:
    message = f"stopped by {signal.Signals(number).name}: no unfinished file has replaced a finished one"
    return report(message, 128 + reported_signal(number))


def _speak_utf8() -> None:
    """Standard output and error take any text in any locale; where one is closed, its text is dropped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _report(message: str, code: int) -> int:
    print(" ".join(message.split()), file=sys.stderr, flush=True)
    return code


def _explain(error: Exception) -> str:
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        group, _, choice = error.missing_cfg_file.rpartition("/")
        return str(unknown_choice(group, choice, error.options))
    if match := re.match(r"Could not override '((data|decoding)\..*?)'", lines[0]):
        return f"{match[1]} needs another choice first, such as {_CHOICES[match[2]]}"
    return " ".join(lines[:2])


@contextlib.contextmanager
def _command_line(arguments: list[str]) -> Iterator[None]:
    """Hydra reads sys.argv, and swallows exceptions unless HYDRA_FULL_ERROR is set; both are put back afterwards."""
    before, full = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv, os.environ["HYDRA_FULL_ERROR"] = arguments, "1"
    try:
        yield
    finally:
        sys.argv = before
        os.environ.pop("HYDRA_FULL_ERROR")
        if full is not None:
            os.environ["HYDRA_FULL_ERROR"] = full
