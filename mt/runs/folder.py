"""What a run folder must hold to be used, and which one is meant where none is named. Loads no torch."""

from collections.abc import Sequence
from pathlib import Path
from mt.errors import UserError
import hashlib
import json
from typing import Any
from mt.errors import BadFileError, UserError
from mt.config import schema
from mt.config.loading import load_config
from mt.runs.atomic import replace_file

TOKENIZER, SOURCE_TOKENIZER, MODEL = "tokenizer.model", "tokenizer.source.model", "model.safetensors"
TOKENIZERS = (TOKENIZER, SOURCE_TOKENIZER)
_KEPT = ("identity.json", "metrics.jsonl", "data", "checkpoints")  # beside what the caller names
RUN_FILES = ("config.yaml", "tokenizer.model", "model.safetensors")


def load_run(run_dir: str | Path) -> schema.TrainConfig:
    """The configuration that a run was trained with. Raises UserError without one, BadFileError for a damaged one."""
    path = Path(run_dir) / "config.yaml"
    if not path.is_file():
        lack = "it has no config.yaml" if Path(run_dir).is_dir() else f"there is no folder {Path(run_dir).absolute()}"
        raise UserError(f"{run_dir} is not a run folder: {lack}")
    return load_config(path)


def check_run(run_dir: str, key: str = "run_dir") -> None:
    """Refuses a folder that lacks what a finished run delivers. Raises `UserError`."""
    if not Path(run_dir).is_dir():
        raise UserError(f"{key}: {run_dir} does not exist")
    missing = [name for name in RUN_FILES if not (Path(run_dir) / name).is_file()]
    if missing:
        cure = f"; train on, or run mt-average run_dir={run_dir}" if missing == ["model.safetensors"] else ""
        raise UserError(f"{key}: {run_dir} is not a finished run, it lacks {', '.join(missing)}{cure}")


def check_keeps_run(key: str, path: str, run_dirs: Sequence[str], names: Sequence[str]) -> None:
    """Refuses an output in place of a file without which a run is lost. Raises `UserError`."""
    kept = [Path(run_dir) / name for run_dir in run_dirs for name in (*names, *_KEPT)]
    place = Path(path).resolve()
    for one in (file.resolve() for file in kept):
        if one in (place, *place.parents):
            raise UserError(f"{key}: {path} is a file that the run needs, and would be lost; give another name")


def newest_run(delivered: bool, runs: str = "runs") -> str:
    """The run folder under `runs` that was written to last; with `delivered`, of those that hold a model.

    Raises `UserError`, which names a run that was begun.
    """
    proof = "model.safetensors" if delivered else "config.yaml"
    folders = [path.parent for path in Path(runs).glob(f"*/{proof}") if (path.parent / "config.yaml").is_file()]
    if not folders:
        what = "finished run" if delivered else "run"
        cure = "train first"
        if begun := [folder for folder in Path(runs).glob("*/checkpoints") if any(folder.glob("step-*"))]:
            run_dir = max(begun, key=lambda folder: folder.stat().st_mtime).parent
            cure = f"train {run_dir} to its end, or run mt-average run_dir={run_dir}"
        raise UserError(f"run_dir: there is no {what} under {Path(runs).absolute()}; give run_dir=DIR or {cure}")
    return str(max(folders, key=lambda folder: (folder / proof).stat().st_mtime))


IDENTITY = "identity.json"
_MAY_CHANGE = {
    "max_steps", "max_minutes", "micro_batch_tokens", "compile", "validate_every_steps", "checkpoint_every_steps",
    "average_checkpoints", "keep_checkpoints", "patience", "log_every_steps", "tensorboard",
    "fsdp",
}  # fmt: skip


def check_same_run(config: schema.TrainConfig, text_fingerprint: str, run_dir: Path) -> None:
    """Note in the run folder what decides its results, and on continuing compare.

    A folder in which nothing has been trained yet is free for another beginning. Raises UserError naming the
    fields that differ from those the run began with.
    """
    training = {key: value for key, value in vars(config.training).items() if key not in _MAY_CHANGE}
    parts = {"model": vars(config.model), "tokenizer": vars(config.tokenizer), "training": training}
    identity = {f"{part}.{key}": value for part, values in parts.items() for key, value in values.items()}
    identity |= {"seed": config.seed, "data (text and filters)": text_fingerprint}
    identity["finetune_from"] = config.finetune_from
    identity["data.filters.max_tokens"] = config.data.filters.max_tokens
    try:
        _compare(run_dir, identity)
    except (UserError, BadFileError):
        if any((run_dir / "checkpoints").glob("step-*")):
            raise
        for name in (TOKENIZER, SOURCE_TOKENIZER):
            (run_dir / name).unlink(missing_ok=True)
        replace_file(run_dir / IDENTITY, json.dumps(identity, indent=1).encode())


def check_same_vocabulary(tokenizer: schema.Tokenizer, run_dir: Path) -> None:
    """Note the pieces of the tokenizers, and on continuing compare. Raises UserError when they were exchanged."""
    paths = dict.fromkeys(tokenizer_paths(run_dir, tokenizer))
    _compare(run_dir, dict(map(_vocabulary, paths)), may_add=True)


def check_noted_vocabulary(run_dir: Path) -> None:
    """Compare the tokenizers of a run folder with those noted when it began, where any are.

    A model is marked with the tokenizers beside it; one that was damaged or exchanged must not pass for its own.
    Raises BadFileError.
    """
    try:
        noted = dict(json.loads((run_dir / IDENTITY).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return  # a model that was imported, or a run whose notes are lost: nothing to compare with
    for path in (run_dir / name for name in (TOKENIZER, SOURCE_TOKENIZER)):
        key, mark = _vocabulary(path)
        if noted.get(key, mark) != mark:
            raise BadFileError(f"{path}: missing, damaged or exchanged: not what the run began with; restore it")


def _vocabulary(path: Path) -> tuple[str, str]:
    """The name of a tokenizer's note, and the mark of its content; of a file that is missing, none."""
    return f"vocabulary ({path.name})", hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _compare(run_dir: Path, identity: dict[str, Any], *, may_add: bool = False) -> None:
    """Raise UserError for what differs from the noted identity; with `may_add`, note what is not in it yet."""
    path = run_dir / IDENTITY
    try:
        before = dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise BadFileError(f"{path}: missing or damaged ({error}); choose another run_dir") from error
    lacking = [key for key in identity if key not in before]
    if lacking and not may_add:
        raise UserError(f"{run_dir}: an older version made this run, without {lacking[0]}: choose another run_dir")
    changes = [f"{key}: {before[key]} -> {now}" for key, now in identity.items() if before.get(key, now) != now]
    if changes:
        raise UserError(f"{run_dir} holds a run that differs in {'; '.join(changes)}: choose another run_dir")
    if lacking:
        replace_file(path, json.dumps({**before, **identity}, indent=1).encode())


def tokenizer_paths(run_dir: Path, tokenizer: schema.Tokenizer) -> tuple[Path, Path]:
    """The model files of the source and the target tokenizer, the same file twice when joint.

    An imported run may cut its source otherwise than its target, though into pieces of one vocabulary.
    """
    target, source = run_dir / TOKENIZER, run_dir / SOURCE_TOKENIZER
    return (source if not tokenizer.shared_vocab or source.is_file() else target), target


def vocabulary_mark(run_dir: Path) -> str:
    """A text that differs when the tokenizers of a run folder do; a delivered model carries it."""
    paths = [run_dir / name for name in (TOKENIZER, SOURCE_TOKENIZER)]
    return " ".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file())


def check_ensemble(run_dirs: Sequence[str | Path]) -> None:
    """Refuse runs whose tokenizers differ from those of the first: their pieces cannot vote. Raises UserError."""
    first, *others = [Path(run_dir) for run_dir in run_dirs]
    for other in others:
        for name in TOKENIZERS:
            known = [path.read_bytes() if path.exists() else None for path in (first / name, other / name)]
            if known[0] != known[1]:
                raise UserError(
                    f"ensemble: {other} has not the vocabulary of {first} ({name} differs); train the runs on the same"
                    " data with the same tokenizer settings"
                )
