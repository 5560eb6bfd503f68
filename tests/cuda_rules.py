"""CUDA's rules on a machine without a GPU: tensors that say they are on `cuda`, computed on the CPU.

A `CudaTensor` has the device, the shape and the type of a tensor on a GPU, so that the program takes its path for GPUs;
its numbers are those of a tensor of the CPU. Every operation passes through `_compute`, which refuses what CUDA refuses
and CPUs allow (`_check`), and notes where the host would wait for the device (`_note_waiting`).

Not shown: speed, memory, rounding, what kernels do inside, and torch.compile. (Torch's FakeTensorMode has no numbers,
on which a search depends, and cannot index a tensor of `cuda` in a build without CUDA.)
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten
CUDA = torch.device("cuda", 0)  # torch needs the number where there is no driver to ask for it
_STAGED_BYTES = 2**16  # so few are copied from pageable memory with the command itself; for more the driver may wait

_COPIES = {aten._to_copy, aten.copy_}
_INDEXING = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}
_RESULT_SIZES = {  # these results, or their sizes, are read by the host
    *(aten._local_scalar_dense, aten.is_nonzero, aten.equal, aten.nonzero, aten.masked_select, aten.bincount),
    *(aten._unique2, aten.unique_consecutive, aten.unique_dim),
}
_HALF_TO_FLOAT = {aten._softmax, aten._log_softmax}
# What autocast on CUDA lowers to its type and widens to fp32, as far as the program calls it.
_LOWERED = {"linear", "matmul", "__matmul__", "mm", "bmm", "addmm", "baddbmm", "scaled_dot_product_attention"}
_WIDENED = {
    *("layer_norm", "softmax", "log_softmax", "cross_entropy", "nll_loss", "sum", "cumsum", "prod", "norm"),
    *("exp", "log", "pow", "__pow__", "rsqrt", "logsumexp"),
}


class WaitingError(RuntimeError):
    """The host would wait for the device where `set_sync_debug_mode("error")` forbids it."""


class Device:
    """What was seen: where the host waited, and which larger copies came from memory that is not pinned."""

    def __init__(self) -> None:
        self.synchronisations: list[str] = []
        self.unpinned: list[str] = []
        self._forbidden = False
        self._pinned: dict[int, Tensor] = {}

    def pin(self, tensor: Tensor) -> Tensor:
        pinned = tensor.clone()
        self._pinned[pinned.untyped_storage().data_ptr()] = pinned  # kept, so that no other tensor gets its address
        return pinned

    def is_pinned(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage().data_ptr() in self._pinned

    def set_sync_debug_mode(self, mode: str) -> None:
        self._forbidden = mode == "error"

    def waits(self, reason: str) -> None:
        """Note a synchronisation, with the lines of the program that caused it."""
        lines, frame = [], sys._getframe()
        while frame.f_back is not None and len(lines) < 3:
            frame = frame.f_back
            path = frame.f_code.co_filename
            if "/mt/" in path and "/site-packages/" not in path:
                lines.append(f"{Path(path).name}:{frame.f_lineno} {frame.f_code.co_name}")
        self.synchronisations.append(f"{reason} at {' < '.join(lines)}")
        if self._forbidden:
            raise WaitingError(self.synchronisations[-1])

    def copies_in(self, tensor: Tensor, *, non_blocking: bool) -> None:
        """From the host's memory to the device's."""
        if not non_blocking:
            self.waits("blocking copy to the device")
        elif not self.is_pinned(tensor) and tensor.nbytes > _STAGED_BYTES:
            self.unpinned.append(str(tensor.shape))


_devices: list[Device] = []  # the last one is pretended


class CudaTensor(Tensor):
    """A tensor that says it is on `cuda`. C++ sees it on `meta`, for which autograd asks no driver."""

    numbers: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: Tensor) -> Any:
        with torch.inference_mode(inner.is_inference()):  # a view of a parameter is none, wherever it is made
            described = torch.empty_strided(inner.size(), inner.stride(), dtype=inner.dtype, device="meta")
            return Tensor._make_subclass(cls, described)

    def __init__(self, inner: Tensor) -> None:
        self.numbers = inner

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return CUDA

    @property
    def is_cpu(self) -> bool:  # type: ignore[override]
        return False

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Torch's, which does not know that the tensor is there already."""
        rest = [each for each in args if not _is_there(each)]
        if "device" in kwargs and _is_there(kwargs["device"]):
            kwargs.pop("device")
        return super().to(*rest, **kwargs) if rest or kwargs.keys() - {"non_blocking"} else self

    def __getitem__(self, index: Any) -> Tensor:  # type: ignore[override]
        return super().__getitem__(_with_lists_copied(index))

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        super().__setitem__(_with_lists_copied(index), value)

    def tolist(self) -> Any:
        """Torch has none for subclasses."""
        return self.cpu().tolist()

    def __repr__(self) -> str:  # type: ignore[override]
        return f"CudaTensor({self.numbers!r})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _compute(function, args, kwargs or {})


def _is_there(device: Any) -> bool:
    """Whether this is the device, by its name or as C++ calls it."""
    try:
        return isinstance(device, str | torch.device) and torch.device(device).type in ("cuda", "meta")
    except RuntimeError:
        return False


def _with_lists_copied(index: Any) -> Any:
    """An index whose lists are on the device: torch copies them there, blocking."""
    if isinstance(index, tuple):
        return tuple(map(_with_lists_copied, index))
    return torch.tensor(index, dtype=torch.int64).to(CUDA) if isinstance(index, list) else index


class _Everywhere(TorchDispatchMode):
    """Sees operations without a device tensor too: those that make one, and copies to the device."""

    def __torch_dispatch__(
        self, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function._can_decompose():  # in inference mode such arrive whole
            with self:
                return function.decompose(*args, **(kwargs or {}))
        return _compute(function, args, kwargs or {})


class _Autocast(TorchFunctionMode):
    """Torch's for CUDA asks C++ for the device."""

    def __torch_function__(
        self, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs, name, dtype = kwargs or {}, function.__name__, None
        if torch.is_autocast_enabled("cuda") and "dtype" not in kwargs:
            lowered = torch.get_autocast_dtype("cuda")
            dtype = lowered if name in _LOWERED else torch.float32 if name in _WIDENED else None
        if dtype is None:
            return function(*args, **kwargs)

        def cast(each: Any) -> Any:
            narrow = isinstance(each, CudaTensor) and each.dtype in (torch.bfloat16, torch.float32)
            return each.to(dtype) if narrow else each

        return function(*tree_map(cast, list(args)), **tree_map(cast, kwargs))


def _compute(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The operation on the CPU; its results are where CUDA would have them."""
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
    there = {id(each.numbers): each for each in tensors if isinstance(each, CudaTensor)}
    named, packet = kwargs.get("device"), function.overloadpacket
    if not there and not _is_there(named):
        return function(*args, **kwargs)
    result_there = True
    if packet in _COPIES:
        result_there = isinstance(args[0], CudaTensor) if named is None else _is_there(named)
    else:
        _check(packet, function, tensors, args)
    _note_waiting(packet, args, kwargs, result_there=result_there)
    inner_args, inner_kwargs = tree_map(
        lambda each: each.numbers if isinstance(each, CudaTensor) else each, (list(args), kwargs)
    )
    if named is not None:
        inner_kwargs["device"] = torch.device("cpu")
    inner_kwargs.pop("pin_memory", None)
    if packet in _HALF_TO_FLOAT and inner_args[2]:  # a kernel that only CUDA has
        inner_args[0], inner_args[2] = inner_args[0].float(), False
    result = function(*inner_args, **inner_kwargs)
    if not result_there:
        return result

    def outer(each: Any) -> Any:
        if not isinstance(each, Tensor):
            return each
        return there[id(each)] if id(each) in there else CudaTensor(each)

    return tree_map(outer, result)


def _check(packet: Any, function: Any, tensors: Sequence[Tensor], args: Sequence[Any]) -> None:
    """Refuse what CUDA refuses. Indices may be on the host, as may numbers among elementwise operands."""
    indices = tree_leaves(args[1]) if packet in _INDEXING else []
    of_host = [each for each in tensors if not isinstance(each, CudaTensor) and not any(each is one for one in indices)]
    numbers = torch.Tag.pointwise in function.tags or packet in _INDEXING
    if any(each.ndim or not numbers for each in of_host):
        raise RuntimeError(f"Expected all tensors to be on the same device, but {function} got cuda:0 and cpu")
    if packet is aten.native_layer_norm and len({each.dtype for each in tensors}) > 1:
        raise RuntimeError(f"{function}: expected one scalar type, found {[each.dtype for each in tensors]}")


def _note_waiting(packet: Any, args: Sequence[Any], kwargs: dict[str, Any], *, result_there: bool) -> None:
    device = _devices[-1]
    if packet in _COPIES:
        origin = args[1] if packet is aten.copy_ else args[0]
        non_blocking = kwargs.get("non_blocking", packet is aten.copy_ and len(args) > 2 and args[2])
        if result_there and not isinstance(origin, CudaTensor) and not (packet is aten.copy_ and origin.ndim == 0):
            device.copies_in(origin, non_blocking=non_blocking)
        elif not result_there and not (non_blocking and packet is aten._to_copy):  # which pins its result
            device.waits("copy to the host")
    elif packet in _RESULT_SIZES:
        device.waits(str(packet))
    elif packet is aten.repeat_interleave and kwargs.get("output_size") is None:
        device.waits("repeat_interleave without output_size")
    elif packet in _INDEXING:
        for index in tree_leaves(args[1]):
            if isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8):
                device.waits("boolean index")
            if isinstance(index, Tensor) and not isinstance(index, CudaTensor):
                device.waits("index on the host")


def _called(tensor: Tensor, method: Callable[[Tensor], Any]) -> Any:
    """What the method of a `Device` gives for a tensor, as a method of the tensor."""
    return method(tensor)


@contextlib.contextmanager
def pretended_cuda() -> Iterator[Device]:
    """While inside, there is a device `cuda:0` that keeps CUDA's rules."""
    device = Device()
    patched: dict[str, Callable[..., Any]] = {
        "_lazy_init": lambda: None,
        "is_available": lambda: True,
        "is_bf16_supported": lambda **_: True,
        "manual_seed_all": lambda _: None,
        "empty_cache": lambda: None,
        "get_device_name": lambda: "pretended",
        "reset_peak_memory_stats": lambda: None,
        "max_memory_allocated": lambda: 0,
        "synchronize": lambda *_: device.waits("synchronize"),
        "set_sync_debug_mode": device.set_sync_debug_mode,
    }
    overwriting = "get_overwrite_module_params_on_conversion"  # else `to` puts the insides into plain parameters
    lifting = torch._C._only_lift_cpu_tensors()
    with contextlib.ExitStack() as stack:
        for name, action in patched.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, action))
        for name, method in {"pin_memory": device.pin, "is_pinned": device.is_pinned}.items():
            stack.enter_context(mock.patch.object(Tensor, name, functools.partialmethod(_called, method)))
        stack.enter_context(mock.patch.object(torch.__future__, overwriting, return_value=True))
        torch._C._set_only_lift_cpu_tensors(True)  # else torch.tensor goes to the device unseen
        stack.callback(torch._C._set_only_lift_cpu_tensors, lifting)
        _devices.append(device)
        stack.callback(_devices.pop)
        stack.enter_context(_Everywhere())
        stack.enter_context(_Autocast())
        yield device
