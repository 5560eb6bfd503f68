"""The safetensors format written from where tensors lie: the library's own writer copies them first, twice.

A file is the length of its header (8 bytes, little-endian), the header in JSON, and the tensors' bytes one after the
other (https://huggingface.co/docs/safetensors, "Format"). Reading is left to the library.
"""

import json
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

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
