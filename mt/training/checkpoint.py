"""What survives a restart: parameters, optimizer state and the place in the run, as safetensors and JSON."""

import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor, nn

from mt.errors import BadFileError
from mt.training.durable import read_folder, remove_folder, write_folder

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"


@dataclass
class TrainingState:
    """The place in a run. `epoch` and `next_batch` name the batch that the next step reads."""

    step: int = 0
    epoch: int = 0
    next_batch: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    skipped_steps: int = 0
    consecutive_skips: int = 0
    best_score: float | None = None
    best_step: int = 0
    validations_without_progress: int = 0
    training_seconds: float = 0.0


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter once, tied ones under their first name."""
    return {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}


def load_model_tensors(model: nn.Module, tensors: dict[str, Tensor], *, origin: Path) -> None:
    """Put tensors into the parameters of the same names. Raises BadFileError naming the first difference."""
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() ^ tensors.keys()):
        raise BadFileError(f"{origin}: tensor {name!r} is {'missing' if name in parameters else 'not of this model'}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != tensors[name].shape:
                shapes = f"{list(tensors[name].shape)}, the model needs {list(parameter.shape)}"
                raise BadFileError(f"{origin}: tensor {name!r} has shape {shapes}")
            parameter.copy_(tensors[name])


def read_tensors(content: bytes, *, origin: Path) -> dict[str, Tensor]:
    """Parse safetensors. Raises BadFileError; no code of the file can run."""
    try:
        return safetensors.torch.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError) as error:
        raise BadFileError(f"{origin}: not a safetensors file ({error})") from error


class Checkpoints:
    """The folder of a run's checkpoints: `step-N/` for the newest ones and `best/` for the best validation."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self.folder = folder
        self.keep = keep

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState) -> None:
        """Write `step-N/` whole, and only then remove those beyond the newest `keep`. Raises DiskError."""
        write_folder(
            self.folder / f"step-{state.step}",
            {
                MODEL: safetensors.torch.save(model_tensors(model)),
                OPTIMIZER: safetensors.torch.save(_optimizer_tensors(model, optimizer)),
                STATE: json.dumps(asdict(state), indent=1).encode(),
            },
        )
        for step in self.steps()[: -self.keep]:
            remove_folder(self.folder / f"step-{step}")

    def save_best(self, model: nn.Module, state: TrainingState) -> None:
        """Write the weights with the best validation score so far. Raises DiskError."""
        tensors = safetensors.torch.save(model_tensors(model))
        write_folder(self.folder / "best", {MODEL: tensors, STATE: json.dumps(asdict(state), indent=1).encode()})

    def steps(self) -> list[int]:
        """The steps that have a folder, ascending; whether it is whole shows only on loading."""
        if not self.folder.is_dir():
            return []
        names = (re.fullmatch(r"step-(\d+)", path.name) for path in self.folder.iterdir())
        return sorted(int(name[1]) for name in names if name)

    def load_newest(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[TrainingState, list[str]] | None:
        """Load the newest valid checkpoint; None without any.

        Also returns a line for every newer one that was passed over as damaged. Raises BadFileError when
        there are checkpoints and all of them are damaged.
        """
        passed_over: list[str] = []
        for step in reversed(self.steps()):
            folder = self.folder / f"step-{step}"
            try:
                files = read_folder(folder)
                state = _parse_state(files[STATE], origin=folder / STATE)
                tensors = read_tensors(files[MODEL], origin=folder / MODEL)
                moments = read_tensors(files[OPTIMIZER], origin=folder / OPTIMIZER)
                _load_optimizer(model, optimizer, moments, origin=folder / OPTIMIZER)
                load_model_tensors(model, tensors, origin=folder / MODEL)
                return state, passed_over
            except (BadFileError, KeyError) as error:
                passed_over.append(f"passing over a damaged checkpoint: {error}")
        if passed_over:
            raise BadFileError(f"{self.folder}: no checkpoint is whole; {passed_over[0]}")
        return None

    def load_tensors(self, step: int) -> dict[str, Tensor]:
        """The parameters saved at a step. Raises BadFileError."""
        folder = self.folder / f"step-{step}"
        return read_tensors(read_folder(folder)[MODEL], origin=folder / MODEL)


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}/{key}": value.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def _load_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], *, origin: Path
) -> None:
    parameters = dict(model.named_parameters())
    state: dict[Tensor, dict[str, Tensor]] = {parameter: {} for parameter in parameters.values()}
    for name, tensor in tensors.items():
        parameter_name, _, key = name.rpartition("/")
        if parameter_name not in parameters:
            raise BadFileError(f"{origin}: tensor {name!r} is not of this model")
        parameter = parameters[parameter_name]
        if key != "step" and tensor.shape != parameter.shape:
            raise BadFileError(f"{origin}: tensor {name!r} has a wrong shape")
        state[parameter][key] = tensor.to(parameter.device)
    optimizer.state.clear()
    optimizer.state.update(state if tensors else {})


def _parse_state(content: bytes, *, origin: Path) -> TrainingState:
    try:
        return TrainingState(**json.loads(content))
    except (ValueError, TypeError, RecursionError) as error:
        names = ", ".join(field.name for field in fields(TrainingState))
        raise BadFileError(f"{origin}: expected the fields {names} ({error})") from error
