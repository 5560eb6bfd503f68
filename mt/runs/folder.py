"""A run folder: the name of every file in it, which run it is, and which one is meant by default. Loads no torch."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mt.config.loading import from_yaml
from mt.config.schema import FilesData, LabelledData, TextData, TrainConfig
from mt.errors import BadFileError, UserError
from mt.runs.atomic import (
    LARGEST_JSON_BYTES,
    LARGEST_SCORES_BYTES,
    LARGEST_TOKENIZER_BYTES,
    read_file,
    read_json,
    replace_file,
)

CONFIG = "config.yaml"  # every option of the run
IDENTITY = "identity.json"  # what decides its results, and the checksums of its tokenizers
TOKENIZER, SOURCE_TOKENIZER = "tokenizer.model", "tokenizer.source.model"  # the second where the sides differ
PRETRAINED_TOKENIZER = "tokenizer.json"  # instead, of a model imported from GPT-2 or BERT
MODEL = "model.safetensors"  # the averaged parameters, which translate
METRICS, TENSORBOARD = "metrics.jsonl", "tensorboard"
LOSS_CURVE, BLEU_CURVE = "loss.png", "bleu.png"
ACCURACY_CURVE = "accuracy.png"  # of a task (`data=task`), in training and validation
SCORES, HYPOTHESES = "evaluation.json", "hypotheses.txt"  # of the test split
CONFUSION = "confusion.png"  # of a text classifier: which label was found for which
EVALUATIONS = "evaluations"  # the same two files for everything else that was scored
ROBUSTNESS_TABLE, ROBUSTNESS_PICTURE, ROBUSTNESS_LINES = "robustness.md", "robustness.png", "robustness.jsonl"
CARD, REPORT = "README.md", "report.html"  # the model card; curves, figure 1, and translations over time
TABLE, TABLE_DATA, TABLE_PICTURE = "table.md", "table.json", "table.png"  # of a sweep, next to its run folders
HELD_OUT_TEXT = "data"  # validation and test, as they were read
SOURCE_WORDS = "source_words.txt"  # in that folder: the words of the training's source side, with their counts
CHECKPOINTS = "checkpoints"  # step-N/: model, optimizer, state, checksums of all
OPTIMIZER, STATE = "optimizer.safetensors", "state.json"  # the second says with which versions it was saved too
EXPORTS = "export"
LOCK = ".lock"

TOKENIZERS = (TOKENIZER, SOURCE_TOKENIZER, PRETRAINED_TOKENIZER)
# What no output may replace.
KEPT_FILES = (
    *TOKENIZERS, CONFIG, IDENTITY, MODEL, METRICS, TENSORBOARD, LOSS_CURVE, BLEU_CURVE, ACCURACY_CURVE, CARD, REPORT,
    SCORES, HYPOTHESES, CONFUSION, EVALUATIONS, HELD_OUT_TEXT, CHECKPOINTS, LOCK,
)  # fmt: skip

# The other options of a training decide its results: to change them is to train another model.
_MAY_CHANGE = {
    "max_steps", "max_minutes", "micro_batch_tokens", "compile", "validate_every_steps", "checkpoint_every_steps",
    "average_checkpoints", "keep_checkpoints", "patience", "log_every_steps", "tensorboard", "fsdp",
}  # fmt: skip


def held_out_text(run_dir: Path, split: str, side: str) -> Path:
    """The text of one side of the validation or test split."""
    return run_dir / HELD_OUT_TEXT / f"{split}.{side}"


def scored_splits(config: TrainConfig) -> list[str]:
    """The splits that a training ends with scoring, if it has their text."""
    return ["test", *(test.name for test in config.data.tests)] if isinstance(config.data, FilesData) else ["test"]


def scores_path(run_dir: Path, split: str) -> Path:
    """The scores of a split by the training's own search; `HYPOTHESES` is next to it."""
    return (run_dir if split == "test" else run_dir / EVALUATIONS / split) / SCORES


def descriptions(run_dir: Path, config: TrainConfig) -> list[Path]:
    """What describes a run's model: every evaluation, the report, and of a translator the card."""
    card = [CARD] if config.model.family != "encoder" and not isinstance(config.data, TextData) else []
    of_texts = (SCORES, CONFUSION, ROBUSTNESS_TABLE, ROBUSTNESS_PICTURE)
    evaluated = (path for name in of_texts for path in (run_dir / EVALUATIONS).glob(f"*/{name}"))
    return [*evaluated, *(run_dir / name for name in (SCORES, REPORT, CONFUSION, *card))]


def read_scores(run_dir: Path, split: str) -> dict[str, Any]:
    """The scores at `scores_path`; empty without the file. Raises BadFileError for a damaged one."""
    path = scores_path(run_dir, split)
    return read_json(path, LARGEST_SCORES_BYTES) if path.exists() else {}


def source_words(run_dir: Path) -> Path:
    """The list of the source words that the run's training saw."""
    return run_dir / HELD_OUT_TEXT / SOURCE_WORDS


def export_folder(run_dir: Path, engine: str) -> Path:
    """Where a run is exported to for another engine, unless an output is given."""
    return run_dir / EXPORTS / engine


def step_folder(step: int) -> str:
    """The name of a checkpoint's folder."""
    return f"step-{step}"


def checkpoint_steps(folder: Path) -> list[int]:
    """The steps that have a checkpoint folder, ascending; whether it is whole shows only on loading."""
    if not folder.is_dir():
        return []
    names = (re.fullmatch(r"step-(0|[1-9][0-9]*)", path.name) for path in folder.iterdir() if path.is_dir())
    return sorted(int(name[1]) for name in names if name)


def tokenizer_paths(run_dir: Path, *, shared_vocab: bool) -> tuple[Path, Path]:
    """The files of the source and the target tokenizer, the same file twice for a shared vocabulary.

    An imported run may split its source otherwise than its target, although both share one vocabulary.
    """
    pretrained, source = run_dir / PRETRAINED_TOKENIZER, run_dir / SOURCE_TOKENIZER
    target = pretrained if pretrained.is_file() else run_dir / TOKENIZER
    return (source if not shared_vocab or source.is_file() else target), target


# ---------------------------------------------------------------------------- which run is meant, and is it whole


def check_run(run_dir: str, key: str = "run_dir") -> None:
    """Refuse a folder that lacks what a finished run delivers. Raises UserError."""
    if not Path(run_dir).is_dir():
        raise UserError(f"{key}: {run_dir} {'is a file, not a folder' if Path(run_dir).exists() else 'does not exist'}")
    _, tokenizer = tokenizer_paths(Path(run_dir), shared_vocab=True)
    missing = [name for name in (CONFIG, tokenizer.name, MODEL) if not (Path(run_dir) / name).is_file()]
    if missing:
        cure = f"; train on, or run mt-average run_dir={run_dir}" if missing == [MODEL] else ""
        raise UserError(f"{key}: {run_dir} is not a finished run, it lacks {', '.join(missing)}{cure}")


def load_run(run_dir: str | Path) -> TrainConfig:
    """The configuration that a run was trained with. Raises UserError without one, BadFileError for a damaged one."""
    path = Path(run_dir) / CONFIG
    if not path.is_file():
        raise UserError(f"{run_dir} is not a run folder: {path.absolute()} does not exist")
    return from_yaml(read_file(path, LARGEST_JSON_BYTES), origin=path)


def newest_run(delivered: bool, runs: str = "runs") -> str:
    """The run folder under `runs` that was written to last; with `delivered`, of those that hold a model.

    Raises UserError without one.
    """
    proof = MODEL if delivered else CONFIG
    folders = [path.parent for path in Path(runs).glob(f"*/{proof}") if (path.parent / CONFIG).is_file()]
    if not folders:
        what = "finished run" if delivered else "run"
        cure = "train first, or run mt-average run_dir=DIR on a run that was stopped"
        raise UserError(f"run_dir: found no {what} under {Path(runs).absolute()}; give run_dir=DIR, or {cure}")
    return str(max(folders, key=lambda folder: (folder / proof).stat().st_mtime))


def check_ensemble(run_dir: str, ensemble: Sequence[str], key: str = "run_dir") -> None:
    """Refuse what is not a finished run, and runs of `ensemble` with other tokenizers than the first. Raises UserError.

    The probabilities of other subwords have no mean.
    """
    check_run(run_dir, key)
    for other in ensemble:
        check_run(other, "ensemble")
        if _tokenizer_checksums(Path(other)) != _tokenizer_checksums(Path(run_dir)):
            raise UserError(
                f"ensemble: {other} does not have the vocabulary of {run_dir} ({' or '.join(TOKENIZERS)} differs); "
                "train the runs on the same data with the same tokenizer settings"
            )


def check_free(run_dir: str) -> None:
    """Refuse a folder with files that a training would replace though no run wrote them. Raises UserError."""
    folder = Path(run_dir)
    if any((folder / name).exists() for name in (IDENTITY, MODEL, CHECKPOINTS)):
        return
    if others := [name for name in KEPT_FILES if name != LOCK and (folder / name).exists()]:
        raise UserError(f"run_dir: {run_dir} is not a run folder and holds {', '.join(others)}; give a new folder")


# ---------------------------------------------------------------------------- the identity of a run


def check_same_run(config: TrainConfig, text_fingerprint: str, run_dir: Path) -> None:
    """Note in the run folder what decides its results; when a run is resumed, compare.

    A folder without a checkpoint or a delivered model is free for other settings. Raises UserError naming the
    options that differ from those the run began with, BadFileError.
    """
    training = {key: value for key, value in vars(config.training).items() if key not in _MAY_CHANGE}
    groups = {"model": vars(config.model), "tokenizer": vars(config.tokenizer), "training": training}
    settings = {f"{group}.{key}": value for group, values in groups.items() for key, value in values.items()}
    languages = {f"data.{side}_language": getattr(config.data, f"{side}_language") for side in ("source", "target")}
    settings |= {"seed": config.seed, "data (text and filters)": text_fingerprint} | languages
    settings["finetune_from, by identity"] = config.finetune_from and run_identity(Path(config.finetune_from))[:16]
    settings["budget"] = "given" if config.budget else None  # the schedule follows the time, or the steps
    settings["training.max_steps"] = config.training.max_steps if config.budget else None  # the scale of the rate then
    rates = {name: rate for name, rate in vars(config.data.augmentation).items() if rate}
    settings["data.augmentation"] = rates or None
    settings["data.filters.max_tokens"] = config.data.filters.max_tokens
    if isinstance(config.data, TextData):
        settings["data.block_tokens"] = config.data.block_tokens
    if isinstance(config.data, LabelledData):
        settings["data.labels"] = config.data.labels
    try:
        identity = read_identity(run_dir)
        if "imported" in identity:
            raise UserError(
                f"{run_dir} holds an imported model: choose another run_dir, and finetune_from={run_dir} to train it"
            )
        noted = identity.get("settings", {})
        if noted:  # the first runs noted a path, and lack these
            path = noted.pop("finetune_from", None)
            same = settings["finetune_from, by identity"] if path and config.finetune_from else path
            since = {key: settings[key] for key in ("budget", "training.max_steps")}
            since |= {"training.optimizer": "adam", "finetune_from, by identity": same}
            noted = since | languages | noted
        _check_equal(run_dir, noted, settings, cure="repeat the command that it began with, or ")
    except (UserError, BadFileError):
        if (run_dir / MODEL).exists() or checkpoint_steps(run_dir / CHECKPOINTS):
            raise
        for name in TOKENIZERS:
            (run_dir / name).unlink(missing_ok=True)
        if (run_dir / IDENTITY).exists():  # text that another start held out may be in this training text
            for path in [*(run_dir / HELD_OUT_TEXT).glob("*.source"), *(run_dir / HELD_OUT_TEXT).glob("*.target")]:
                path.unlink()
        _write_identity(run_dir, {"settings": settings})


def note_tokenizers(run_dir: Path) -> None:
    """Note the tokenizers of a new run; when it is resumed, compare. Raises UserError if they were exchanged."""
    identity, found = read_identity(run_dir), _tokenizer_checksums(run_dir)
    if "tokenizers" not in identity:
        _write_identity(run_dir, {**identity, "tokenizers": found})
    _check_equal(run_dir, identity.get("tokenizers", found), found, what="vocabulary: ")


def note_imported(run_dir: Path, imported: Mapping[str, Any]) -> None:
    """Note that a run was imported, with what export needs to know of where it came from."""
    _write_identity(run_dir, {"imported": dict(imported), "tokenizers": _tokenizer_checksums(run_dir)})


def read_identity(run_dir: Path) -> dict[str, dict[str, Any]]:
    """What was noted: `tokenizers`, and `settings` of a training or `imported`. Raises BadFileError."""
    path = run_dir / IDENTITY
    try:
        identity = dict(json.loads(read_file(path, LARGEST_JSON_BYTES)))
        if not all(isinstance(part, dict) for part in identity.values()):
            raise TypeError("not a table of tables")
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFileError(f"{path}: missing or damaged ({error}); restore it, or choose another run_dir") from error
    return identity


def run_identity(run_dir: Path) -> str:
    """A text that differs between runs, for the models they deliver.

    Raises BadFileError, also when a tokenizer is not the one that the run began with: it would turn the output of
    the model into fluent nonsense.
    """
    identity, found = read_identity(run_dir), _tokenizer_checksums(run_dir)
    noted = identity.get("tokenizers", {})
    for name in TOKENIZERS:
        if noted.get(name) != found.get(name):
            raise BadFileError(
                f"{run_dir / name}: missing, damaged or exchanged: the run began with another; restore it"
            )
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _tokenizer_checksums(run_dir: Path) -> dict[str, str]:
    paths = {name: run_dir / name for name in TOKENIZERS}
    contents = {name: read_file(path, LARGEST_TOKENIZER_BYTES) for name, path in paths.items() if path.is_file()}
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def _check_equal(
    run_dir: Path, noted: Mapping[str, Any], now: Mapping[str, Any], *, what: str = "", cure: str = ""
) -> None:
    changes = [
        f"{key}: {noted.get(key)} -> {now.get(key)}" for key in {**now, **noted} if noted.get(key) != now.get(key)
    ]
    if changes:
        found = f"differs in {what}{'; '.join(changes)}"
        raise UserError(f"{run_dir} holds a run that {found}: {cure}choose another run_dir")


def _write_identity(run_dir: Path, identity: Mapping[str, Any]) -> None:
    replace_file(run_dir / IDENTITY, json.dumps(identity, indent=1).encode())
