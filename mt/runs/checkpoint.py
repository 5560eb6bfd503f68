"""What survives a restart: parameters, optimizer state and the place in the run, as safetensors and JSON."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints
import safetensors.torch
import torch
from torch import Tensor, nn
from mt.errors import BadFileError
from mt.runs.atomic import disk_error, read_folder, recover_folders, remove_folder, write_folder
from collections.abc import Iterator, Mapping
from torch import Tensor

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"
DELIVERY_NOTE = "delivery"  # in the metadata of a delivered model
_ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


@dataclass
class Window:
    """Sums over the steps since the last logged line; kept, so that a restart changes no line."""

    steps: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    loss: float = 0.0
    nll: float = 0.0
    seconds: float = 0.0
    waiting_seconds: float = 0.0  # of these, for the next batch


@dataclass
class TrainingState:
    """The place in a run. `epoch` and `next_batch` name the batch that the next step reads.

    `on_schedule` is False in a checkpoint that was saved only because the run was stopped there: it is no part of
    the average, and the next one takes its place. `validation_due` says that a signal cut this step's validation.
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


def delivery_note(*, averaged_steps: list[int], vocabulary: str, weights: Mapping[str, Tensor]) -> dict[str, str]:
    """The metadata of a delivered model. One entry, because safetensors writes several in any order."""
    note = {"averaged_steps": averaged_steps, "vocabulary": vocabulary, "sha256": weights_mark(weights)}
    return {DELIVERY_NOTE: json.dumps(note)}


def weights_mark(weights: Mapping[str, Tensor]) -> str:
    """A checksum of the tensors with their names, types and shapes."""
    mark = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        mark.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
        mark.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return mark.hexdigest()


def check_undamaged(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Compare a delivered model with its checksum, where it carries one. Raises BadFileError."""
    if _read_delivery_note(path).get("sha256") not in (None, weights_mark(weights)):
        raise BadFileError(f"{path}: damaged: not what its checksum says; restore it, or let mt-average make it anew")


def averaged_steps(path: Path) -> list[int]:
    """The steps whose checkpoints a delivered model is the mean of; none where there is no such file."""
    steps = _read_delivery_note(path).get("averaged_steps")
    return steps if isinstance(steps, list) else []


def vocabulary_of(path: Path) -> str | None:
    """The mark of the tokenizers that a delivered model was trained with; None where it carries none."""
    mark = _read_delivery_note(path).get("vocabulary")
    return mark if isinstance(mark, str) else None


def _read_delivery_note(path: Path) -> dict[str, Any]:
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            note = json.loads((file.metadata() or {}).get(DELIVERY_NOTE, "{}"))
    except (OSError, safetensors.SafetensorError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


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
            self.folder / f"step-{state.step}",
            {
                MODEL: tensor_pieces(model_tensors(model)),
                OPTIMIZER: tensor_pieces(_optimizer_tensors(model, optimizer)),
                STATE: json.dumps(asdict(state), indent=1).encode(),
            },
        )
        self.prune(state.step)

    def prune(self, newest_step: int) -> None:
        """Leave the newest `keep` up to a whole one, which a death after its save may have prevented. Raises DiskError.

        Older ones that only a stop had put there go too, so that the newest are those of an uninterrupted run.
        """
        older = [step for step in self.steps() if step < newest_step]
        kept = [step for step in older if self._on_schedule(step)]
        for step in sorted({*older} - {*kept[max(0, len(kept) - self.keep + 1) :]}):
            remove_folder(self.folder / f"step-{step}")

    def save_best(self, model: nn.Module, state: TrainingState) -> None:
        """Write the weights with the best validation score so far. Raises DiskError."""
        tensors = tensor_pieces(model_tensors(model))
        write_folder(self.folder / "best", {MODEL: tensors, STATE: json.dumps(asdict(state), indent=1).encode()})

    def steps(self) -> list[int]:
        """The steps that have a folder, ascending; whether it is whole shows only on loading."""
        if not self.folder.is_dir():
            return []
        names = (re.fullmatch(r"step-(0|[1-9][0-9]*)", path.name) for path in self.folder.iterdir() if path.is_dir())
        return sorted(int(name[1]) for name in names if name)

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
        there are checkpoints and all of them are damaged, DiskError when what a death left cannot be tidied.
        """
        try:
            recover_folders(self.folder)
        except OSError as error:
            raise disk_error(self.folder, error) from error
        passed_over: list[str] = []
        for step in reversed(self.steps()):
            folder = self.folder / f"step-{step}"
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
        return read_tensors(self._files(step, MODEL)[MODEL], origin=self.folder / f"step-{step}" / MODEL)

    def _files(self, step: int, *names: str) -> dict[str, bytes]:
        folder = self.folder / f"step-{step}"
        files = read_folder(folder)
        for name in names:
            if name not in files:
                raise BadFileError(f"{folder}: {name} is missing")
        return files

    def _on_schedule(self, step: int) -> bool:
        """Whether a checkpoint is one of the schedule's; one whose state cannot be read is worth nothing."""
        path = self.folder / f"step-{step}" / STATE
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
    """Put moments and step counts into Adam. Raises BadFileError when they are not those of this model, all of them."""
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


_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}
_SMALL_BYTES = 1 << 20  # below, a copy costs less than a write of its own


def tensor_pieces(tensors: Mapping[str, Tensor]) -> list[memoryview]:
    """What makes a safetensors file, in order; large pieces are the memory of the tensors themselves.

    Tensors are contiguous and on the CPU, and stay as they are until the pieces are written.
    """
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))  # so that none lies askew
    header, place = {}, 0
    for name in names:
        tensor = tensors[name]
        end = place + tensor.nbytes
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return list(_joined(len(text).to_bytes(8, "little") + text, [_memory(tensors[name]) for name in names]))


def _memory(tensor: Tensor) -> memoryview:
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def _joined(head: bytes, pieces: list[memoryview]) -> Iterator[memoryview]:
    """The same bytes, the small pieces put together."""
    small = bytearray(head)
    for piece in pieces:
        if piece.nbytes < _SMALL_BYTES:
            small += piece
            continue
        if small:
            yield memoryview(small)
            small = bytearray()
        yield piece
    if small:
        yield memoryview(small)
