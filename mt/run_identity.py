"""What decides the results of a run, noted in its folder, so that no other run continues there."""

import hashlib
import json
from pathlib import Path
from typing import Any

from mt import config as schema
from mt.build import SOURCE_TOKENIZER, TOKENIZER, tokenizer_paths
from mt.data.text_cache import PreparedText
from mt.errors import BadFileError, UserError
from mt.loading import BEFORE_THE_OPTION
from mt.training.durable import replace_file

IDENTITY = "identity.json"
_MAY_CHANGE = {
    "max_steps", "max_minutes", "micro_batch_tokens", "compile", "validate_every_steps", "checkpoint_every_steps",
    "average_checkpoints", "keep_checkpoints", "early_stopping_validations", "log_every_steps", "tensorboard",
    "sharding",
}  # fmt: skip


def check_same_run(config: schema.TrainConfig, prepared: PreparedText, run_dir: Path) -> None:
    """Note in the run folder what decides its results, and on continuing compare.

    A folder in which nothing has been trained yet is free for another beginning. Raises UserError naming the
    fields that differ from those the run began with.
    """
    training = {key: value for key, value in vars(config.training).items() if key not in _MAY_CHANGE}
    parts = {"model": vars(config.model), "tokenizer": vars(config.tokenizer), "training": training}
    identity = {f"{part}.{key}": value for part, values in parts.items() for key, value in values.items()}
    identity |= {"seed": config.seed, "data (text and filters)": prepared.fingerprint}
    identity["initialise_from"] = config.initialise_from
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
    _compare(run_dir, dict(map(_vocabulary, paths)))


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


def _compare(run_dir: Path, identity: dict[str, Any]) -> None:
    """Raise UserError for what differs from the noted identity, and note what is not in it yet."""
    path = run_dir / IDENTITY
    try:
        before = dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise BadFileError(f"{path}: missing or damaged ({error}); choose another run_dir") from error
    older = {f"{group}.{key}": value for group, options in BEFORE_THE_OPTION.items() for key, value in options.items()}
    were = {key: before.get(key, older.get(key, now)) for key, now in identity.items()}
    changes = [f"{key}: {were[key]} -> {now}" for key, now in identity.items() if were[key] != now]
    if changes:
        raise UserError(f"{run_dir} holds a run that differs in {'; '.join(changes)}: choose another run_dir")
    if not identity.keys() <= before.keys():
        replace_file(path, json.dumps({**before, **identity}, indent=1).encode())
