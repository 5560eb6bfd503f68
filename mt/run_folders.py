"""What a run folder must hold to be used, and which one is meant where none is named. Loads no torch."""

from collections.abc import Sequence
from pathlib import Path

from mt.errors import UserError

_KEPT = ("identity.json", "metrics.jsonl", "data", "checkpoints")  # beside what the caller names
RUN_FILES = ("config.yaml", "tokenizer.model", "model.safetensors")


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
