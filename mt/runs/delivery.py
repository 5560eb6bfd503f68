"""Section 6.1: the delivered model, the mean of the newest checkpoints, with a checksum and the identity of its run.

In a short run the mean can be worse than its newest parts: validation decides, and no checkpoint of the warm-up counts.

Fine-tuning begins with another run's model and tokenizers instead of random parameters.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from mt.config.checks import check_combinations
from mt.config.schema import LabelledData, TextData, TrainConfig
from mt.errors import BadFileError, UserError
from mt.reporting import report
from mt.runs.atomic import check_file, replace_file
from mt.runs.checkpoint import Checkpoints, memory, read_tensors
from mt.runs.folder import MODEL, load_run, run_identity, tokenizer_paths
from mt.training.averaging import average

_METADATA = "delivery"  # one entry of the file's metadata, because safetensors writes several in any order
_WORSE = 1.01  # times the newest checkpoint's loss; the means of whole recipes are 1 % lower to 0.3 % higher
_CURE = "restore it, or rebuild it with mt-average"


def deliver(
    run_dir: Path,
    checkpoints: Checkpoints,
    *,
    count: int,
    check: Callable[..., object],
    warmup_steps: int = 0,
    validation_loss: Callable[[Mapping[str, Tensor]], float] | None = None,
    outdated: Iterable[Path] = (),
) -> None:
    """Write the mean of the parameters of the newest whole checkpoints as the run's model; `check` is `newest_whole`'s.

    The `outdated` files, which describe an earlier model, go when the new one is ready. The checkpoints of the first
    `warmup_steps` are left out, and more of them where `validation_loss` says so (`_best_count`). Raises UserError
    where there is none, BadFileError where all are damaged or of different models or a tokenizer was exchanged,
    DiskError.
    """
    if not checkpoints.steps():
        raise UserError(f"{run_dir}: it has no checkpoint to average; train first")
    run = run_identity(run_dir)
    whole, passed_over = checkpoints.newest_whole(count, check)
    steps = [step for step in whole if step > warmup_steps] or whole[-1:]

    def mean(newest: int) -> dict[str, Tensor]:
        return average(checkpoints.load_tensors(step) for step in steps[-newest:])

    try:
        weights, best, compared = mean(len(steps)), len(steps), ""
        if validation_loss is not None and best > 1:
            best, losses = _best_count(best, lambda n: validation_loss(weights if n == len(steps) else mean(n)))
            listed = ", ".join(f"{newest}: {loss:.4f}" for newest, loss in losses.items())
            compared = f"; validation loss by the number of checkpoints: {listed}"
            if best < len(steps):
                weights = mean(best)
    except ValueError as error:
        raise BadFileError(f"{checkpoints.folder}: {error}: {'; '.join(passed_over)}") from error
    wanted = f" ({count} were asked for)" if len(steps) < count and best == len(steps) else ""
    steps = steps[-best:]
    path, content = run_dir / MODEL, model_file(weights, averaged_steps=steps, run=run)
    for one in outdated:
        one.unlink(missing_ok=True)
    replace_file(path, content)
    what = "the mean of the checkpoints at steps" if len(steps) > 1 else "the checkpoint at step"
    result = f"{path}: {what} {', '.join(map(str, steps))}{wanted}{compared}"
    report("\n".join([*passed_over, result]))


def _best_count(most: int, loss: Callable[[int], float]) -> tuple[int, dict[int, float]]:
    """How many of the newest checkpoints to average, and the losses of the numbers that were tried.

    All, unless the newest alone is better by a hundredth: then the best of it and the newest half, quarter, ….
    """
    losses = {count: loss(count) for count in (most, 1)}
    if losses[most] <= _WORSE * losses[1]:
        return most, losses
    fewer = [most >> halvings for halvings in range(1, most.bit_length() - 1)]
    losses |= {count: loss(count) for count in fewer}
    return min(losses, key=losses.__getitem__), losses


def model_file(weights: Mapping[str, Tensor], *, averaged_steps: list[int], run: str) -> bytes:
    """The content of a delivered model; `run` is its `run_identity`."""
    metadata = {"averaged_steps": averaged_steps, "run": run, "sha256": _checksum(weights)}
    return safetensors.torch.save(dict(weights), metadata={_METADATA: json.dumps(metadata)})


def read_model(run_dir: Path) -> dict[str, Tensor]:
    """The parameters that a run delivered.

    Raises BadFileError when the model or a tokenizer is damaged, or when they are not of the same run.
    """
    path, run = run_dir / MODEL, run_identity(run_dir)
    try:
        weights = read_tensors(path.read_bytes(), origin=path)
    except OSError as error:
        raise BadFileError(f"{path}: {error.strerror or error}") from error
    metadata = _read_metadata(path)
    if metadata.get("sha256") != _checksum(weights):
        raise BadFileError(f"{path}: damaged: it differs from its checksum; {_CURE}")
    if metadata.get("run") != run:
        raise BadFileError(f"{path}: of another run than the files next to it; {_CURE}")
    return weights


def averaged_steps(path: Path) -> list[int]:
    """The steps whose checkpoints were averaged into a delivered model; none without such a file."""
    steps = _read_metadata(path).get("averaged_steps")
    return steps if isinstance(steps, list) else []


def _checksum(weights: Mapping[str, Tensor]) -> str:
    """The SHA-256 of the tensors with their names, types and shapes."""
    checksum = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        checksum.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
        checksum.update(memory(tensor.detach().cpu().contiguous()))
    return checksum.hexdigest()


def _read_metadata(path: Path) -> dict[str, Any]:
    try:
        check_file(path)
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = json.loads((file.metadata() or {}).get(_METADATA, "{}"))
    except (BadFileError, OSError, safetensors.SafetensorError, ValueError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


# ---------------------------------------------------------------------------- fine-tuning: what a run begins with


def inherit_config(config: TrainConfig) -> TrainConfig:
    """The configuration with the sizes and the tokenizer of the run it begins with; dropout stays its own.

    Raises UserError for options that do not go with them.
    """
    if config.finetune_from is None:
        return config
    run = load_run(config.finetune_from)
    if isinstance(run.data, TextData) != isinstance(config.data, TextData) and not pretrained(config):
        raise UserError(
            f"finetune_from: {config.finetune_from} and this run are not both language models or translators"
        )
    if (run.model.family == "encoder") != (config.model.family == "encoder"):
        raise UserError(
            f"finetune_from: {config.finetune_from} has model.family={run.model.family}, this run {config.model.family}"
        )
    data = config.data
    if isinstance(run.data, LabelledData) and isinstance(data, LabelledData) and data.labels is None:
        data = replace(data, labels=run.data.labels)
    inherited = replace(
        config,
        data=data,
        model=replace(run.model, dropout=config.model.dropout),
        tokenizer=replace(run.tokenizer, bpe_dropout=config.tokenizer.bpe_dropout),
    )
    check_combinations(inherited)
    return inherited


def pretrained(config: TrainConfig) -> bool:
    """Whether a text classifier begins with the encoder of a masked language model, as in BERT."""
    if config.finetune_from is None or not isinstance(config.data, LabelledData):
        return False
    return isinstance(load_run(config.finetune_from).data, TextData)


def begun_with(model: nn.Module, run_dir: Path) -> dict[str, Tensor]:
    """The parameters that a model begins with: those of a run, or where it has another output, new ones for that.

    Raises BadFileError as `read_model`.
    """
    weights, own = read_model(run_dir), dict(model.named_parameters())
    output = "output_embedding.weight"
    if output not in own or (output in weights and weights[output].shape == own[output].shape):
        return weights
    new = {name: tensor.detach() for name, tensor in own.items() if name.startswith(("head.", "output_embedding."))}
    return {name: weights.get(name, tensor) for name, tensor in own.items()} | new


def inherit_tokenizers(config: TrainConfig) -> None:
    """Copy the tokenizers of the run that this one begins with, unless it already has its own."""
    if config.finetune_from is None:
        return
    for path in tokenizer_paths(Path(config.finetune_from), shared_vocab=config.tokenizer.shared_vocab):
        copy = Path(config.run_dir) / path.name
        if not copy.exists():
            replace_file(copy, path.read_bytes())
