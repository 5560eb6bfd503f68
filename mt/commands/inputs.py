"""Files and run folders that a command reads or would overwrite, checked before anything is computed."""

from functools import singledispatch
from pathlib import Path
from typing import Any

from mt.config.checks import listed_corpora
from mt.config.measurements import BenchmarkDecodeConfig
from mt.config.schema import (
    AttentionConfig,
    AverageConfig,
    CompareConfig,
    EvaluateConfig,
    ExportConfig,
    FilesData,
    GenerateConfig,
    HubData,
    ImportConfig,
    InspectConfig,
    LabelledData,
    ServeConfig,
    TextData,
    TrainConfig,
    TranslateConfig,
)
from mt.data.lines import read_lines, table_suffix
from mt.data.tables import json_object
from mt.errors import UserError
from mt.runs.folder import IDENTITY, KEPT_FILES, REPORT, check_ensemble, check_free, check_run, load_run


@singledispatch
def check_files(config: Any) -> None:
    """Refuses a configuration whose files are missing or unreadable. Raises `UserError`."""


@check_files.register
def _(config: TrainConfig) -> None:
    if not config.run_dir or Path(config.run_dir).is_file():
        raise UserError(f"run_dir: expected a folder, such as runs/mine; got {config.run_dir or 'an empty name'}")
    if "/" in config.name:  # by default the newest run directly under runs/ is used
        raise UserError(f"name: expected the name of a folder under runs/; got {config.name!r}")
    check_free(config.run_dir)
    if config.finetune_from is not None:
        check_run(config.finetune_from, key="finetune_from")
    data = config.data
    if data.filters.pair_scorer is not None:
        check_run(data.filters.pair_scorer, key="data.filters.pair_scorer")
    if isinstance(data, HubData) and data.path.startswith((".", "/")) and not Path(data.path).exists():
        raise UserError(f"data.path: {data.path} does not exist")
    if isinstance(data, TextData):
        _check_readable("data.text", data.text)
    if isinstance(data, LabelledData):
        for split in ("train", "validation", "test"):
            _check_readable(f"data.{split}", getattr(data, split))
    if isinstance(data, FilesData):
        for key, corpus in listed_corpora(data):
            for part in ("source", "target", "file"):
                _check_readable(f"{key}.{part}", getattr(corpus, part))


@check_files.register
def _(config: InspectConfig) -> None:
    check_files.dispatch(TrainConfig)(config)
    _check_folder(config.output)
    _check_spares(str(Path(config.output) / REPORT))


@check_files.register
def _(config: ImportConfig) -> None:
    if not Path(config.folder).is_dir():
        raise UserError(f"folder: {config.folder} is not a folder")
    _check_readable("sentences", config.sentences)


@check_files.register
def _(config: TranslateConfig) -> None:
    check_ensemble(config.run_dir, config.ensemble)
    _check_readable("document", config.document)
    if config.input != "-":
        _check_readable("input", config.input)
        _check_plain(config)
    beam_size, n_best = config.decoding.beam_size, config.n_best or 0
    if n_best > beam_size and not (config.decoding.sampling or isinstance(load_run(config.run_dir).data, LabelledData)):
        raise UserError(f"n_best={n_best} exceeds decoding.beam_size={beam_size}; give decoding.beam_size={n_best} too")
    if config.output != "-":
        _check_writable(config.output, config.run_dir, *config.ensemble)
        source = config.document or config.input
        if source not in (None, "-") and Path(config.output).resolve() == Path(source).resolve():
            raise UserError(f"output: {config.output} is also the input, and would be replaced; give another name")


@check_files.register
def _(config: GenerateConfig | BenchmarkDecodeConfig) -> None:
    check_run(config.run_dir)


@check_files.register
def _(config: ServeConfig) -> None:
    check_run(config.run_dir)
    for run_dir in config.runs:
        check_run(run_dir, key="runs")
    _check_readable("api_keys", config.api_keys)


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
    for path in (config.output, str(Path(config.output).with_suffix(".html"))):
        _check_writable(path, config.run_dir)


@check_files.register
def _(config: CompareConfig) -> None:
    if len({Path(run_dir).resolve() for run_dir in config.runs}) < max(2, len(config.runs)):
        raise UserError("runs: needs two run folders or more, each once, as runs=[runs/a,runs/b]")
    for run_dir in config.runs:
        check_run(run_dir, key="runs")
    _check_folder(config.output)


@check_files.register
def _(config: AverageConfig) -> None:
    load_run(config.run_dir)


@check_files.register
def _(config: ExportConfig) -> None:
    check_run(config.run_dir)
    _check_readable("sentences", config.sentences)
    if config.output is not None:
        _check_spares(config.output, config.run_dir)


def _check_readable(key: str, path: str | None) -> None:
    if path is not None and (not Path(path).exists() or Path(path).is_dir()):
        raise UserError(f"{key}: {path} {'is a folder, not a file' if Path(path).is_dir() else 'does not exist'}")


def _check_plain(config: TranslateConfig) -> None:
    """Refuses a table without the column or field to translate, and names those of its first line."""
    key = {".tsv": "column", ".jsonl": "field"}.get(table_suffix(config.input or ""))
    if config.input is None or key is None or getattr(config, key) is not None:
        return
    first = next(read_lines(config.input), "")
    names = first.split("\t") if key == "column" else list(json_object(first or "{}", f"{config.input}, line 1"))
    found = ", ".join(f"{number}: {name[:30]!r}" for number, name in enumerate(names[:20], start=1))
    raise UserError(
        f"input: {config.input} is not plain text; give {key}=, the {key} to translate; in its first line are {found}"
    )


def _check_writable(path: str, *run_dirs: str) -> None:
    """Refuses an output that is a folder, whose folder does not exist, or that would replace what a run needs."""
    if not path or Path(path).is_dir():
        raise UserError(f"output: expected a file, got {f'the folder {path}' if path else 'an empty name'}")
    if not Path(path).parent.is_dir():
        raise UserError(f"output: the folder {Path(path).parent} does not exist")
    _check_spares(path, *run_dirs)


def _check_folder(path: str) -> None:
    if Path(path).is_file():
        raise UserError(f"output: {path} is a file, not a folder")


def _check_spares(path: str, *run_dirs: str) -> None:
    """Refuses an output among the files of these runs, or of any other that it is inside."""
    written = Path(path).resolve()
    folders = [*map(Path, run_dirs), *(folder for folder in written.parents if (folder / IDENTITY).exists())]
    if any(written.is_relative_to((folder / name).resolve()) for folder in folders for name in KEPT_FILES):
        raise UserError(f"output: {path} is among the run's own files; give another name")
