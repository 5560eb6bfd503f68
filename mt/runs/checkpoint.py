"""What survives a restart: parameters, optimizer state and the position in the run, as safetensors and JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import safetensors.torch
import torch
from torch import Tensor, nn

from mt.errors import BadFileError
from mt.runs.atomic import disk_error, read_folder, recover_folders, remove_folder, write_folder
from mt.runs.folder import BEST, MODEL, OPTIMIZER, STATE, checkpoint_steps, step_folder

_ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


@dataclass
class Window:
    """Sums over the steps since the last logged line; saved, so that a restart changes no line."""

    steps: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    loss: float = 0.0
    nll: float = 0.0
    seconds: float = 0.0
    waiting_seconds: float = 0.0  # of these, for the next batch


@dataclass
class TrainingState:
    """The position in a run. `epoch` and `next_batch` name the batch that the next step reads.

    `on_schedule` is False in a checkpoint that was saved only because the run was stopped there: it is left out of
    the average, and the next one replaces it. `validation_due` says that a signal cut this step's validation short.
    """

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
    on_schedule: bool = True
    validation_due: bool = False
    window: Window = field(default_factory=Window)


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
            if not tensors[name].is_floating_point():
                raise BadFileError(f"{origin}: tensor {name!r} holds {tensors[name].dtype}")
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
        """Write `step-N/` whole, and only then remove the older ones beyond `keep`. Raises DiskError."""
        write_folder(
            self.folder / step_folder(state.step),
            {
                MODEL: tensor_parts(model_tensors(model)),
                OPTIMIZER: tensor_parts(_optimizer_tensors(model, optimizer)),
                STATE: json.dumps(asdict(state), indent=1).encode(),
            },
        )
        self.prune(state.step)

    def prune(self, newest_step: int) -> None:
        """Keep the newest `keep` up to a whole one; a process that died after its save did not. Raises DiskError.

        Older ones that were saved only by a stop go too, so that those left are those of an uninterrupted run.
        """
        older = [step for step in self.steps() if step < newest_step]
        kept = [step for step in older if self._on_schedule(step)]
        for step in sorted({*older} - {*kept[max(0, len(kept) - self.keep + 1) :]}):
            remove_folder(self.folder / step_folder(step))

    def save_best(self, model: nn.Module, state: TrainingState) -> None:
        """Write the weights with the best validation score so far. Raises DiskError."""
        tensors = tensor_parts(model_tensors(model))
        write_folder(self.folder / BEST, {MODEL: tensors, STATE: json.dumps(asdict(state), indent=1).encode()})

    def steps(self) -> list[int]:
        """The steps that have a folder, ascending; whether it is whole shows only on loading."""
        return checkpoint_steps(self.folder)

    def newest_whole(self, count: int) -> tuple[list[int], list[str]]:
        """The steps of the newest checkpoints that are whole, ascending, and a line for each passed over."""
        whole: list[int] = []
        passed_over: list[str] = []
        for step in reversed(self.steps()):
            if len(whole) == count:
                break
            try:
                self.load_tensors(step)
                whole.append(step)
            except BadFileError as error:
                passed_over.append(f"passing over a damaged checkpoint: {error}")
        return sorted(whole), passed_over

    def load_newest(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[TrainingState, list[str]] | None:
        """Load the newest valid checkpoint; None without any.

        Also returns a line for every newer one that was passed over as damaged. Raises BadFileError when
        there are checkpoints and all of them are damaged, DiskError when leftovers cannot be tidied.
        """
        try:
            recover_folders(self.folder)
        except OSError as error:
            raise disk_error(self.folder, error) from error
        passed_over: list[str] = []
        for step in reversed(self.steps()):
            folder = self.folder / step_folder(step)
            try:
                files = self._files(step, MODEL, OPTIMIZER, STATE)
                state = _parse_state(files[STATE], origin=folder / STATE)
                if state.step != step:
                    raise BadFileError(f"{folder / STATE}: is of step {state.step}")
                tensors = read_tensors(files[MODEL], origin=folder / MODEL)
                moments = read_tensors(files[OPTIMIZER], origin=folder / OPTIMIZER)
                load_model_tensors(model, tensors, origin=folder / MODEL)
                _load_optimizer(model, optimizer, moments, origin=folder / OPTIMIZER)
                return state, passed_over
            except BadFileError as error:
                passed_over.append(f"passing over a damaged checkpoint: {error}")
        if passed_over:
            raise BadFileError(f"{self.folder}: no checkpoint is whole, choose another run_dir; {passed_over[0]}")
        return None

    def load_tensors(self, step: int) -> dict[str, Tensor]:
        """The parameters saved at a step. Raises BadFileError."""
        return read_tensors(self._files(step, MODEL)[MODEL], origin=self.folder / step_folder(step) / MODEL)

    def _files(self, step: int, *names: str) -> dict[str, bytes]:
        folder = self.folder / step_folder(step)
        files = read_folder(folder)
        for name in names:
            if name not in files:
                raise BadFileError(f"{folder}: {name} is missing")
        return files

    def _on_schedule(self, step: int) -> bool:
        """Whether a checkpoint was saved on schedule; one whose state cannot be read does not count."""
        path = self.folder / step_folder(step) / STATE
        try:
            return _parse_state(path.read_bytes(), origin=path).on_schedule
        except (OSError, BadFileError):
            return False


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}/{key}": value.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def _load_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], *, origin: Path
) -> None:
    """Put moments and step counts into Adam. Raises BadFileError unless they are those of this model, all of them."""
    parameters = dict(model.named_parameters())
    expected = {f"{name}/{key}" for name in parameters for key in _ADAM_STATE} if tensors else set()
    for name in sorted(expected ^ tensors.keys()):
        raise BadFileError(f"{origin}: tensor {name!r} is {'missing' if name in expected else 'not of this model'}")
    state: dict[Tensor, dict[str, Tensor]] = {parameter: {} for parameter in parameters.values()}
    for name, tensor in tensors.items():
        parameter_name, _, key = name.rpartition("/")
        parameter = parameters[parameter_name]
        shape = torch.Size() if key == "step" else parameter.shape
        if tensor.shape != shape or tensor.dtype != torch.float32:
            raise BadFileError(f"{origin}: tensor {name!r} is {tensor.dtype} of shape {list(tensor.shape)}")
        state[parameter][key] = tensor.to(parameter.device)
    optimizer.state.clear()
    optimizer.state.update(state if tensors else {})


def _parse_state(content: bytes, *, origin: Path) -> TrainingState:
    try:
        values = json.loads(content)
        return TrainingState(**_checked(TrainingState, {**values, "window": Window(**values.get("window", {}))}))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        names = ", ".join(one.name for one in fields(TrainingState))
        raise BadFileError(f"{origin}: expected the fields {names} ({error})") from error


def _checked(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """The values, if each has its field's type; otherwise raises TypeError."""
    for name, expected in get_type_hints(kind).items():
        allowed = get_args(expected) or (expected,)
        if name in values and type(values[name]) not in ((*allowed, int) if float in allowed else allowed):
            raise TypeError(f"{name} is {values[name]!r}")
    if kind is TrainingState:
        _checked(Window, vars(values["window"]))
    return values


# ---------------------------------------------------------------------------- writing safetensors without a copy

_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}
_SMALL_BYTES = 1 << 20  # below, a copy costs less than a write of its own


def tensor_parts(tensors: Mapping[str, Tensor]) -> list[memoryview]:
    """The parts of a safetensors file, in order; large parts are the memory of the tensors themselves.

    Tensors are contiguous and on the CPU, and must not change until the parts are written.
    """
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))  # the largest first: all aligned
    header, offset = {}, 0
    for name in names:
        tensor = tensors[name]
        end = offset + tensor.nbytes
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return list(_joined(len(text).to_bytes(8, "little") + text, [memory(tensors[name]) for name in names]))


def memory(tensor: Tensor) -> memoryview:
    """The bytes of a contiguous tensor on the CPU, not copied."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def _joined(head: bytes, parts: list[memoryview]) -> Iterator[memoryview]:
    """The same bytes, with the small parts joined."""
    small = bytearray(head)
    for part in parts:
        if part.nbytes < _SMALL_BYTES:
            small += part
            continue
        if small:
            yield memoryview(small)
            small = bytearray()
        yield part
    if small:
        yield memoryview(small)
