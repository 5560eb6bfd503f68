"""What every import reads: JSON, the settings in it, and tensors, which are compared before their values are read."""

import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import torch
from torch import Tensor

from mt.config.loading import checked
from mt.errors import BadFileError, UserError
from mt.runs.checkpoint import tensors_without_values

Settings = TypeVar("Settings")
# What must hold for a folder to be a model that can be represented: the key of config.json, the value that it must
# have, the one that transformers takes where config.json does not have the key, and the option or section here.
Required = Sequence[tuple[str, Any, Any, str]]

LARGEST_VOCABULARY_BYTES = 1 << 24
CONFIG_FILE, WEIGHTS = "config.json", "model.safetensors"


def check_required(values: Mapping[str, Any], required: Required, path: Path) -> None:
    """Raises UserError naming the first key of config.json that does not hold what it must."""
    for key, wanted, absent, option in required:
        found = values.get(key, absent)
        if found != wanted:
            raise UserError(f"{path}: {key}={reprlib.repr(found)} cannot be imported, only {wanted} ({option})")


def taken(schema: type[Settings], values: Mapping[str, Any], absent: Mapping[str, Any], path: Path) -> Settings:
    """The keys of a class out of those of a file, which also gives what is absent or null. Raises BadFileError."""
    names = [field.name for field in fields(schema)]  # type: ignore[arg-type]
    given = {name: values[name] for name in names if values.get(name) is not None}
    try:
        return checked(schema, {**absent, **given})
    except UserError as error:
        raise BadFileError(f"{path}: {error}; this cannot be imported") from error


def held_tensors(folder: Path, writer: str) -> dict[str, Tensor]:
    """The tensors of a folder without their values; `writer` is the class of transformers that writes the file.

    Raises UserError where there is only a file that could run code, BadFileError.
    """
    path = folder / WEIGHTS
    if not path.exists() and (folder / "pytorch_model.bin").is_file():
        raise UserError(
            f"{folder}: pytorch_model.bin can run code when it is read; convert it where you trust it, with "
            f"transformers' {writer}.from_pretrained(FOLDER).save_pretrained(NEW), copy the tokenizer's files, and "
            "import NEW"
        )
    return tensors_without_values(path)


def read_fp32(
    path: Path,
    held: Mapping[str, Tensor],
    *,
    known: Mapping[str, Sequence[int]],
    optional: Collection[str] = (),
    ignored: Collection[str],
) -> dict[str, Tensor]:
    """The tensors in fp32, after those that are `held` were compared with the shapes `known`.

    Raises BadFileError for one that is missing or has another shape, UserError for one that the model does not have.
    """
    for name in sorted(known.keys() - held.keys() - {*optional}):
        raise BadFileError(f"{path}: tensor {name!r} is missing")
    for name, tensor in sorted(held.items()):
        if name not in known and name not in ignored:
            raise UserError(f"{path}: tensor {name!r} does not belong to this model")
        if name in known and (list(tensor.shape) != list(known[name]) or not tensor.is_floating_point()):
            raise BadFileError(
                f"{path}: tensor {name!r} has shape {list(tensor.shape)} and type {tensor.dtype}, the other files of "
                f"the folder imply {list(known[name])} and floating point"
            )
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name).to(torch.float32) for name in held if name in known}
    except (OSError, safetensors.SafetensorError, ValueError, RuntimeError) as error:
        raise BadFileError(f"{path}: not a safetensors file ({error})") from error
