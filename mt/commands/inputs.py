"""Files and run folders that a command reads or would overwrite, checked before anything is computed."""

import os
from functools import singledispatch
from pathlib import Path
from typing import Any

from mt.config.checks import listed_corpora
from mt.config.schema import (
    AttentionConfig,
    AverageConfig,
    Data,
    EvaluateConfig,
    ExportConfig,
    FilesData,
    HubData,
    ImportConfig,
    InspectConfig,
    NoData,
    TrainConfig,
    TranslateConfig,
)
from mt.errors import UserError
from mt.runs.folder import CHECKPOINTS, CONFIG, check_ensemble, check_run


@singledispatch
def check_files(config: Any) -> None:
    """Refuses a configuration whose files are missing or unreadable. Raises `UserError`."""


@check_files.register
def _(config: TrainConfig) -> None:
    run_dir = Path(config.run_dir)
    if not config.run_dir:
        raise UserError("run_dir: is empty; give the name of a folder, such as runs/mine")
    if run_dir.exists() and not run_dir.is_dir():
        raise UserError(f"run_dir: {run_dir} is a file, not a folder")
    if not config.resume and (run_dir / CONFIG).exists():
        raise UserError(
            f"run_dir: {run_dir} holds a run already; resume=true continues it, another run_dir starts a new one"
        )
    if config.finetune_from is not None:
        check_run(config.finetune_from, key="finetune_from")
    _check_data_files(config.data)


@check_files.register
def _(config: ImportConfig) -> None:
    if not Path(config.folder).is_dir():
        raise UserError(f"folder: {config.folder} is not a folder")
    _check_readable("sentences", config.sentences)


@check_files.register
def _(config: ExportConfig) -> None:
    check_run(config.run_dir)
    _check_readable("sentences", config.sentences)


@check_files.register
def _(config: InspectConfig) -> None:
    if Path(config.output).exists() and not Path(config.output).is_dir():
        raise UserError(f"output: {config.output} is a file, not a folder")
    _check_data_files(config.data)


def _check_data_files(data: Data) -> None:
    if isinstance(data, FilesData):
        for key, corpus in listed_corpora(data):
            for part in ("source", "target", "file"):
                _check_readable(f"{key}.{part}", getattr(corpus, part))
    if isinstance(data, HubData):
        local = data.path.startswith((".", "/"))
        if local and not Path(data.path).exists():
            raise UserError(f"data.path: {data.path} does not exist")


@check_files.register
def _(config: TranslateConfig) -> None:
    check_run(config.run_dir)
    for run_dir in config.ensemble:
        check_run(run_dir, key="ensemble")
    check_ensemble([config.run_dir, *config.ensemble])
    if config.input != "-":
        _check_readable("input", config.input)
    if config.output != "-":
        _check_writable("output", config.output)
        _check_not_read("output", config.output, config.input)


@check_files.register
def _(config: EvaluateConfig) -> None:
    for key in ("source", "reference", "hypothesis"):
        _check_readable(key, getattr(config, key))
    if config.run_dir is not None:
        check_run(config.run_dir)


@check_files.register
def _(config: AttentionConfig) -> None:
    check_run(config.run_dir)
    if not config.output.endswith(".png"):
        raise UserError(f"output: expected a .png file, got {config.output}")
    _check_writable("output", config.output)


@check_files.register
def _(config: AverageConfig) -> None:
    if not (Path(config.run_dir) / CHECKPOINTS).is_dir():
        raise UserError(f"run_dir: {config.run_dir} holds no checkpoints")
    if config.output is not None:
        _check_writable("output", config.output)


def check_split(data: Data, split: str) -> None:
    """Refuses a split that the data of a run does not have."""
    absent = isinstance(data, NoData)
    if isinstance(data, FilesData):
        absent = getattr(data, split) is None
    elif isinstance(data, HubData):
        absent = getattr(data, f"{split}_split") is None
    if absent:
        raise UserError(f"split: the data of this run has no {split} split; give source=FILE reference=FILE")


def _check_readable(key: str, path: str | None) -> None:
    if path is None:
        return
    if not Path(path).exists():
        raise UserError(f"{key}: {path} does not exist")
    if Path(path).is_dir():
        raise UserError(f"{key}: {path} is a folder, not a file")
    if not os.access(path, os.R_OK):
        raise UserError(f"{key}: {path} is not readable")


def _check_writable(key: str, path: str) -> None:
    """Refuses an output that is a folder, or whose folder does not exist."""
    if not path or Path(path).is_dir():
        raise UserError(f"{key}: expected a file, got {f'the folder {path}' if path else 'an empty name'}")
    if not Path(path).parent.is_dir():
        raise UserError(f"{key}: the folder {Path(path).parent} does not exist")


def _check_not_read(key: str, path: str, source: str | None) -> None:
    """Refuses an output file that is also the input, standard input included: opening it would empty it."""
    if source is None or not Path(path).is_file():
        return
    try:
        read = os.fstat(0) if source == "-" else Path(source).stat()
    except OSError:
        return  # a closed standard input, reported where it is read
    if os.path.samestat(read, Path(path).stat()):
        raise UserError(f"{key}: {path} is also the input, and would be emptied; give another name")
