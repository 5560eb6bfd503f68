"""The entry point of every command: from a command line to a checked configuration, and to an exit code.

Hydra composes the configuration. What Hydra accepts wrongly is refused here, before torch is imported: unknown
keys with `+`, wrong types. Only a bug shows a traceback.
"""

import contextlib
import functools
import io
import json
import math
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mt.commands.inputs import check_files
from mt.config.commands import COMMANDS
from mt.config.loading import checked, configuration_folder
from mt.config.names import unknown_choice
from mt.config.overrides import FLAGS_WITH_VALUE, MULTIRUN_FLAGS, readable
from mt.config.schema import Data
from mt.errors import MtError, SignalledError, StoppedError, UserError, from_system
from mt.reporting import begin_command
from mt.runs.folder import newest_run
from mt.runs.signals import end_on_signals, received_signal, reported_signal

Job = Callable[[Any], None]


def command(name: str) -> Callable[[Job], Callable[[], None]]:
    """Decorates a job that takes the checked configuration `name`: a command, which exits with the job's code."""

    def decorate(job: Job) -> Callable[[], None]:
        @functools.wraps(job)
        def main() -> None:
            _speak_utf8()
            end_on_signals()
            # Threads of torch that wait for each other sleep: while they spin, another program has their cores.
            os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
            if cores := cores_of_quota():
                os.environ.setdefault("OMP_NUM_THREADS", str(cores))
            sys.exit(run(name, job, sys.argv[1:]))

        return main

    return decorate


def cores_of_quota(path: Path = Path("/sys/fs/cgroup/cpu.max")) -> int | None:
    """How many cores a container's quota is worth, if it has fewer than it sees; torch counts those that it sees."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = path.read_text(encoding="ascii").split()
        cores = math.ceil(int(quota) / int(period))  # "max" is none
        return cores if cores < len(os.sched_getaffinity(0)) else None
    return None


def run(name: str, job: Job, arguments: Sequence[str]) -> int:
    """Composes, checks and runs; returns the exit code. Flags such as --help and --cfg are Hydra's."""
    begin_command()
    folder = configuration_folder()
    groups = [path.name for path in folder.iterdir() if path.is_dir() and path.name != "hydra"]
    # torchrun starts several processes with one command line: one on each machine reports what is wrong with it.
    reports = os.environ.get("LOCAL_RANK", "0") == "0"

    def task(composed: DictConfig) -> None:
        configs: list[Any] = []
        typed: Any = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
        refused = exit_code(lambda: configs.append(load(name, composed, typed)), reports=reports)
        if code := refused or exit_code(lambda: job(configs[0])):
            raise SystemExit(code)  # Hydra would add a line to another exception
        begin_command()  # the next job of a sweep begins now

    def compose() -> None:
        words = _with_runs(arguments) if name == "compare" else arguments
        sys.argv = [f"mt-{name}", *readable(words, COMMANDS[name], groups)]
        names = "run_dir" if any(word.startswith("run_dir=") for word in sys.argv) else "name|experiment"
        own_folders = any(re.match(rf"({names})=([^'\"]*,|.*\$\{{)", word) for word in sys.argv)
        if name == "train" and MULTIRUN_FLAGS.intersection(sys.argv) and not own_folders:
            raise UserError(
                "run_dir: each job of a sweep needs a folder of its own, such as 'run_dir=runs/toy-${seed}'"
            )
        os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra reports errors itself
        hydra.main(version_base="1.3", config_path=str(folder), config_name=name)(task)()

    return exit_code(compose, reports=reports)


def _with_runs(arguments: Sequence[str]) -> list[str]:
    """Arguments in which run folders may be given by themselves: `runs/a runs/b` is `runs=[runs/a,runs/b]`."""
    folders = [word for word in arguments if ("=" not in word and not word.startswith("-")) or Path(word).is_dir()]
    if not folders or FLAGS_WITH_VALUE.intersection(arguments):
        return list(arguments)
    if any(word.startswith("runs=") for word in arguments):
        raise UserError(f"runs: give all run folders in it, {folders[0]} too")
    return [*(word for word in arguments if word not in folders), f"runs={json.dumps(folders, ensure_ascii=False)}"]


def load(name: str, composed: DictConfig, typed: Sequence[str]) -> Any:
    """The composed configuration of one job as its checked class; raises `UserError`.

    An option that was `typed`, or a choice of its group, is not `automatic`.
    """
    values: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=False)
    if isinstance(values.get("automatic"), list):
        keys = (word.lstrip("+").partition("=")[0] for word in typed)
        inside = {"augmentation": "data.augmentation"}  # a group of its own, which a choice of data leaves as it is
        given = tuple(f"{inside.get(key, key)}." for key in keys if key != "data")
        values["automatic"] = [key for key in values["automatic"] if not f"{key}.".startswith(given)]
    if "run_dir" in values and values["run_dir"] is None and values.get("hypothesis") is None:
        values["run_dir"] = newest_run(delivered=name != "average")
    config = checked(COMMANDS[name], values)
    check_files(config)
    return config


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
        return _stopped_by(error.number if isinstance(error, SignalledError) else signal.SIGINT)
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at exit
        return 128 + signal.SIGPIPE
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        number = received_signal()
        if number is not None:  # the signal interrupted what failed
            return _stopped_by(number)
        refused = from_system(error)
        if refused is not None:
            return report(f"error: {refused}", refused.exit_code)
        traceback.print_exc()
        return 1
    return 0


def _stopped_by(number: int) -> int:
    message = f"stopped by {signal.Signals(number).name}: no unfinished file has replaced a finished one"
    return _report(message, 128 + reported_signal(number))


def _speak_utf8() -> None:
    """Standard output and error take any text in any locale; where one is closed, its text is dropped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or Path(os.devnull).open("w")  # noqa: SIM115
        setattr(sys, name, stream)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _report(message: str, code: int) -> int:
    print(" ".join(message.split()), file=sys.stderr, flush=True)
    return code


def _choices_with(option: str) -> str:
    """The kinds of data that have an option; the others are of sampling."""
    every = [get_type_hints(branch) for branch in get_args(Data)]
    kinds = [get_args(hints["kind"])[0] for hints in every if option in hints]
    return " or ".join(f"data={kind}" for kind in kinds) or "decoding=sampling"


def _explain(error: Exception) -> str:
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        parts = error.missing_cfg_file.split("/")
        depth = 2 if parts[0] == "hydra" else 1
        group, choice = "/".join(parts[:depth]), "/".join(parts[depth:])
        return str(unknown_choice(group, choice, error.options))
    if match := re.match(r"Could not override '((?:data|decoding)\.(\w+).*?)'", lines[0]):
        return f"{match[1]} needs another choice first: {_choices_with(match[2])}"
    if match := re.match(r"Error merging override '?([\w.]+)=", lines[0]):
        return f"{match[1]}: needs another form, such as a list in [...]; docs/reference.md has it"
    return " ".join(lines[:2])
