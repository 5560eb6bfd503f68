"""What survives a restart: parameters, optimizer state and the position in the run, as safetensors and JSON."""

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

import safetensors.torch
import torch
from torch import Tensor, nn

from mt.config.loading import checked
from mt.config.schema import Count, CountOrZero
from mt.errors import BadFileError, UserError
from mt.runs.atomic import (
    LARGEST_JSON_BYTES,
    check_file,
    disk_error,
    read_file,
    read_folder,
    recover,
    remove_folder,
    write_folder,
)
from mt.runs.folder import MODEL, OPTIMIZER, STATE, checkpoint_steps, step_folder

Result = TypeVar("Result")

_ADAM_STATE, _MUON_STATE = ("step", "exp_avg", "exp_avg_sq"), ("momentum_buffer",)
_UNREADABLE = (safetensors.SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError)


@dataclass
class Window:
    """Sums over the steps since the last logged line; saved, so that a restart changes no line."""

    steps: CountOrZero = 0
    source_tokens: CountOrZero = 0
    target_tokens: CountOrZero = 0
    loss: float = 0.0
    nll: float = 0.0
    consistency: float = 0.0  # the divergence of two passes
    seconds: float = 0.0
    waiting_seconds: float = 0.0  # of these, for the next batch


@dataclass
class Origin:
    """Which run saved a checkpoint, and with what: the last bits of a step depend on it."""

    run: str = ""
    torch_version: str = field(default_factory=lambda: str(torch.__version__))
    python_version: str = field(default_factory=platform.python_version)
    threads: Count = field(default_factory=torch.get_num_threads)

    def differences(self) -> list[str]:
        """What is otherwise now, from and to."""
        now = vars(Origin(self.run))
        return [f"{name} {value} -> {now[name]}" for name, value in vars(self).items() if value != now[name]]


@dataclass
class TrainingState:
    """The position in a run. `epoch` and `next_batch` name the batch that the next step reads.

    `on_schedule` is False in a checkpoint that was saved only because the run was stopped there; when the run goes
    on, the next one replaces it. `validation_due` says that a signal cut this step's validation short.
    """

    step: CountOrZero = 0
    epoch: CountOrZero = 0
    next_batch: CountOrZero = 0
    source_tokens: CountOrZero = 0
    target_tokens: CountOrZero = 0
    skipped_steps: CountOrZero = 0
    consecutive_skips: CountOrZero = 0
    best_score: float | None = None
    best_step: CountOrZero = 0
    validations_without_progress: CountOrZero = 0
    training_seconds: float = 0.0
    joules: float | None = 0.0  # of the processors of rank zero's machine; None where they could not always be read
    budget_seconds: float = 0.0  # used so far, by all commands of the run
    progress: float = 0.0  # in a schedule by time: the share of the time for steps that is over
    validation_seconds: float | None = None  # of the newest validation
    on_schedule: bool = True
    validation_due: bool = False
    window: Window = field(default_factory=Window)
    origin: Origin = field(default_factory=Origin)


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter once, tied ones under their first name."""
    return {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}


def load_model_tensors(model: nn.Module, tensors: Mapping[str, Tensor], *, origin: Path) -> None:
    """Copy tensors into the parameters of the same names; those of a model on the device "meta" become its parameters.

    Raises BadFileError naming the first difference.
    """
    parameters = dict(model.named_parameters())
    _check_tensors(tensors, parameters, origin=origin)
    model.load_state_dict(tensors, strict=False, assign=next(iter(parameters.values())).is_meta)


def read_tensors(content: bytes, *, origin: Path) -> dict[str, Tensor]:
    """Parse safetensors. Raises BadFileError; no code of the file can run."""
    try:
        return safetensors.torch.load(content)
    except _UNREADABLE as error:
        raise BadFileError(f"{origin}: not a safetensors file ({error})") from error


def tensors_without_values(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, of whose values nothing is read, on the device "meta". Raises BadFileError."""
    types = {name: dtype for dtype, name in _NAMES.items()}
    check_file(path)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  not a dictionary
            return {
                name: torch.empty(part.get_shape(), dtype=types[part.get_dtype()], device="meta")
                for name, part in parts.items()
            }
    except (OSError, *_UNREADABLE) as error:
        raise BadFileError(f"{path}: not a safetensors file ({error})") from error


def check_tensor_file(path: Path, expected: Mapping[str, Tensor]) -> None:
    """Raise BadFileError unless a file has tensors of these names, shapes and types; no memory is needed to see it."""
    _check_tensors(tensors_without_values(path), expected, origin=path)


@dataclass
class Checkpoints:
    """The folder of a run's checkpoints: `step-N/` for the newest `keep`.

    `run` is its `run_identity`; a checkpoint of another run counts as damaged.
    """

    folder: Path
    keep: int
    run: str

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState) -> None:
        """Write `step-N/` whole, and only then remove the older ones beyond `keep`. Raises DiskError."""
        write_folder(
            self.folder / step_folder(state.step),
            {
                MODEL: tensor_parts(model_tensors(model)),
                OPTIMIZER: tensor_parts(_optimizer_tensors(model, optimizer)),
                STATE: self._state_file(state),
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

    def _state_file(self, state: TrainingState) -> bytes:
        state.origin = Origin(self.run)
        return json.dumps(asdict(state), indent=1).encode()

    def steps(self) -> list[int]:
        """The steps that have a folder, ascending; whether it is whole shows only on loading."""
        return checkpoint_steps(self.folder)

    def newest_whole(self, count: int, check: Callable[..., object]) -> tuple[list[int], list[str]]:
        """The steps of the newest checkpoints that are whole, ascending, and a line for each passed over.

        `check` raises BadFileError for a `file` of other parameters than the run's, before memory is taken for it.
        """

        def step_if_whole(step: int) -> int:
            check(file=self.folder / step_folder(step) / MODEL)
            self.load_tensors(step)
            return step

        steps, passed_over = self._newest(step_if_whole, count)
        return sorted(steps), passed_over

    def load_newest(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[TrainingState, list[str]] | None:
        """Load the newest valid checkpoint; None without any.

        Also returns a line for every newer one that was passed over as damaged. Raises BadFileError when
        there are checkpoints and all of them are damaged, DiskError when leftovers cannot be tidied.
        """

        def load(step: int) -> TrainingState:
            folder = self.folder / step_folder(step)
            check_tensor_file(folder / MODEL, dict(model.named_parameters()))
            if tensors_without_values(folder / OPTIMIZER):  # none before the first step
                check_tensor_file(folder / OPTIMIZER, _state_tensors(model, optimizer))
            files, state = self._read(step, MODEL, OPTIMIZER)
            tensors = read_tensors(files[MODEL], origin=folder / MODEL)
            moments = read_tensors(files[OPTIMIZER], origin=folder / OPTIMIZER)
            load_model_tensors(model, tensors, origin=folder / MODEL)
            _load_optimizer(model, optimizer, moments)
            return state

        try:
            recover(self.folder)
        except OSError as error:
            raise disk_error(self.folder, error) from error
        states, passed_over = self._newest(load, 1)
        if passed_over and not states:
            raise BadFileError(f"{self.folder}: no checkpoint is whole, choose another run_dir; {passed_over[0]}")
        return (states[0], passed_over) if states else None

    def _newest(self, read: Callable[[int], Result], count: int) -> tuple[list[Result], list[str]]:
        """What `read` returns of the newest `count` steps, newest first, and a line for each that is damaged."""
        results: list[Result] = []
        passed_over: list[str] = []
        for step in reversed(self.steps()):
            if len(results) == count:
                break
            try:
                results.append(read(step))
            except BadFileError as error:
                passed_over.append(f"passing over a damaged checkpoint: {error}")
        return results, passed_over

    def load_tensors(self, step: int) -> dict[str, Tensor]:
        """The parameters saved at a step. Raises BadFileError."""
        return read_tensors(self._read(step, MODEL)[0][MODEL], origin=self.folder / step_folder(step) / MODEL)

    def _read(self, step: int, *names: str) -> tuple[dict[str, bytes], TrainingState]:
        """Files of a checkpoint and its state. Raises BadFileError unless it is whole and of this step and run."""
        folder = self.folder / step_folder(step)
        files = read_folder(folder, *names, STATE)
        state = _parse_state(files[STATE], origin=folder / STATE)
        if (state.step, state.origin.run) != (step, self.run):
            whose = "this" if state.origin.run == self.run else "another"
            raise BadFileError(f"{folder / STATE}: is of step {state.step} of {whose} run")
        return files, state

    def newest_state(self) -> TrainingState:
        """The newest readable state; without a checkpoint, that of a run that has not begun."""
        return next(iter(self._newest(self._state, 1)[0]), TrainingState())

    def _on_schedule(self, step: int) -> bool:
        """Whether a checkpoint was saved on schedule; one whose state cannot be read does not count."""
        try:
            return self._state(step).on_schedule
        except BadFileError:
            return False

    def _state(self, step: int) -> TrainingState:
        path = self.folder / step_folder(step) / STATE
        return _parse_state(read_file(path, LARGEST_JSON_BYTES), origin=path)


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}/{key}": value.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def _load_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put moments and step counts into the optimizer, all of them, or none before the first step."""
    optimizer.state.clear()
    for parameter, names in _state_names(model, optimizer).items() if tensors else ():
        optimizer.state[parameter] = {key: tensors[name].to(parameter.device) for key, name in names.items()}


def _state_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Tensors of the names, shapes and types that the optimizer's state has."""
    return {
        name: torch.tensor(0.0) if key == "step" else parameter
        for parameter, names in _state_names(model, optimizer).items()
        for key, name in names.items()
    }


def _state_names(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[nn.Parameter, dict[str, str]]:
    """What each parameter's state is made of, with the names of its tensors in a file."""
    kinds = {
        parameter: _ADAM_STATE if "betas" in group else _MUON_STATE
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    named = model.named_parameters()
    return {parameter: {key: f"{name}/{key}" for key in kinds[parameter]} for name, parameter in named}


def _check_tensors(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor], *, origin: Path) -> None:
    """Raise BadFileError unless there are tensors of the expected names, shapes and types."""
    for name in sorted(expected.keys() ^ tensors.keys()):
        raise BadFileError(f"{origin}: tensor {name!r} is {'missing' if name in expected else 'not of this model'}")
    for name, like in expected.items():
        found = tensors[name]
        if (found.shape, found.dtype) != (like.shape, like.dtype):
            raise BadFileError(
                f"{origin}: tensor {name!r} has shape {list(found.shape)} and type {found.dtype}, the model needs "
                f"{list(like.shape)} and {like.dtype}"
            )


def _parse_state(content: bytes, *, origin: Path) -> TrainingState:
    try:
        return checked(
            TrainingState, {"joules": None, "validation_seconds": None} | json.loads(content)
        )  # older ones lack them
    except (UserError, ValueError, TypeError, RecursionError) as error:
        raise BadFileError(f"{origin}: {error}: damaged, or of an older version") from error


# ---------------------------------------------------------------------------- writing safetensors without a copy

_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def tensor_parts(tensors: Mapping[str, Tensor]) -> list[memoryview]:
    """The parts of a safetensors file, in order: a header, and the memory of the tensors themselves.

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
    return [memoryview(len(text).to_bytes(8, "little") + text), *(memory(tensors[name]) for name in names)]


def memory(tensor: Tensor) -> memoryview:
    """The bytes of a contiguous tensor on the CPU, not copied."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data
