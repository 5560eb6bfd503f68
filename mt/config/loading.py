"""From a composed configuration to the checked classes of `mt.config.schema`, and between them and a run folder.

Everything here runs before torch is imported, so that a wrong configuration is answered at once.
"""

import difflib
import reprlib
import types
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

from mt.config.checks import check_combinations
from mt.config.schema import Bounds, FilePath, TrainConfig
from mt.errors import BadFileError, UserError

MISSING = "???"  # what a composed configuration holds where the user must choose
LARGEST_NUMBER = 2**63
LARGEST_CONFIG_BYTES = 1_000_000
# What a run did that was written before an option existed.
BEFORE_THE_OPTION: dict[str, dict[str, Any]] = {
    "": {"finetune_from": None},
    "model": {"activation": "relu", "output_bias": False},
    "training": {"packing": "auto", "pack_length": 128, "compile": "auto", "fsdp": False},
}
# What PyYAML lets through on hostile text, beside its own errors: dates, numbers, depth.
PARSER_ERRORS = (yaml.YAMLError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)

Schema = TypeVar("Schema")


def checked(schema: type[Schema], values: object) -> Schema:
    """Values as an instance of `schema`, types, bounds and combinations checked; raises `UserError`."""
    config = cast(Schema, _convert(schema, values, ""))
    check_combinations(config)
    return config


def to_yaml(config: TrainConfig) -> str:
    """The text of a run folder's `config.yaml`."""
    return str(yaml.safe_dump(asdict(config), sort_keys=False, allow_unicode=True, width=120))


def save(config: TrainConfig, path: str | Path) -> None:
    """Writes the resolved configuration; `load_config` reads it back equal."""
    Path(path).write_text(to_yaml(config), encoding="utf-8", newline="\n")


def load_config(path: Path) -> TrainConfig:
    """The configuration in a run folder's file; raises `BadFileError` for a damaged one.

    Options that the run does not know because it is older are null.
    """
    if path.stat().st_size > LARGEST_CONFIG_BYTES:
        raise BadFileError(f"{path}: too large for a configuration; restore it or train again")
    try:
        values = yaml.safe_load(path.read_bytes().decode("utf-8"))
    except PARSER_ERRORS as error:
        raise BadFileError(f"{path}: not readable as YAML ({_first_line(error)})") from error
    _complete(values)
    try:
        return checked(TrainConfig, values)
    except UserError as error:
        raise BadFileError(f"{path}: {error}") from error


def _complete(values: Any) -> None:
    for group, options in BEFORE_THE_OPTION.items():
        place = values.get(group) if group and isinstance(values, dict) else values
        if isinstance(place, dict):
            place.update({key: value for key, value in options.items() if key not in place})


def known_keys(schema: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every dotted key below a schema with its type, branches included; all kinds of a union together."""
    for key, kind in _hints(schema).items():
        yield prefix + key, kind
        for branch in alternatives(kind):
            if is_dataclass(branch):
                yield from known_keys(branch, f"{prefix}{key}.")


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The branches of a union; of any other type, itself."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def nearest(word: str, candidates: list[str]) -> str:
    """The candidate most like a word, by the whole dotted key or by its last part."""

    def likeness(candidate: str) -> float:
        whole = difflib.SequenceMatcher(None, word, candidate).ratio()
        last = difflib.SequenceMatcher(None, word.rpartition(".")[2], candidate.rpartition(".")[2]).ratio()
        return max(whole, 0.99 * last)

    return max(candidates, key=likeness)


# ---------------------------------------------------------------------------- types


def _convert(kind: Any, value: Any, key: str) -> Any:
    bounds: tuple[Any, ...] = ()
    if get_origin(kind) is Annotated:
        kind, *bounds_list = get_args(kind)
        bounds = tuple(bounds_list)
    if value == MISSING:
        raise UserError(f"{key}: must be given")
    if get_origin(kind) in (Union, types.UnionType):
        return _convert_union(kind, value, key)
    if is_dataclass(kind):
        return _convert_class(kind, value, key)
    if get_origin(kind) is list:
        if not isinstance(value, list):
            raise UserError(f"{key}: expected a list [...], got {reprlib.repr(value)}")
        return [_convert(get_args(kind)[0], item, f"{key}[{position}]") for position, item in enumerate(value)]
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            choices = ", ".join(map(str, get_args(kind)))
            raise UserError(f"{key}: expected one of {choices}; got {reprlib.repr(value)}")
        return value
    return _within(_convert_scalar(kind, value, key), bounds, key)


def _convert_union(kind: Any, value: Any, key: str) -> Any:
    if value is None:
        if type(None) in get_args(kind):
            return None
        raise UserError(f"{key}: may not be null")
    words = [word for branch in get_args(kind) if get_origin(branch) is Literal for word in get_args(branch)]
    if isinstance(value, str) and value in words:
        return value
    branches = [branch for branch in get_args(kind) if branch is not type(None) and get_origin(branch) is not Literal]
    if not branches:
        raise UserError(f"{key}: expected one of {', '.join(words)}; got {reprlib.repr(value)}")
    if len(branches) == 1:
        try:
            return _convert(branches[0], value, key)
        except UserError as error:
            raise UserError(f"{error} (or: {', '.join(words)})" if words else str(error)) from error
    kinds = {get_args(get_type_hints(branch)["kind"])[0]: branch for branch in branches}
    chosen = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(chosen, str) or chosen not in kinds:
        raise UserError(f"{key}.kind: expected one of {', '.join(kinds)}; got {reprlib.repr(chosen)}")
    return _convert(kinds[chosen], value, key)


def _convert_class(kind: Any, value: Any, key: str) -> Any:
    if not isinstance(value, dict):
        wanted = "{" + ", ".join(f"{field.name}: …" for field in fields(kind)) + "}"
        raise UserError(f"{key or 'configuration'}: expected {wanted}, got {reprlib.repr(value)}")
    hints = _hints(kind)
    prefix = f"{key}." if key else ""
    for name in value:
        if name not in hints:
            raise unknown_key(f"{prefix}{name}", [prefix + hint for hint in hints])
    converted = {}
    for name, hint in hints.items():
        if name not in value and type(None) not in alternatives(hint):
            raise UserError(f"{prefix}{name}: is missing")
        converted[name] = _convert(hint, value.get(name), prefix + name)
    return kind(**converted)


def unknown_key(key: str, candidates: list[str]) -> UserError:
    """The error for a key that no option has."""
    return UserError(f"{key}: unknown key; the nearest is {nearest(key, candidates)}")


def _convert_scalar(kind: Any, value: Any, key: str) -> Any:
    if kind is bool and isinstance(value, bool):
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int and number and abs(value) < LARGEST_NUMBER and value == int(value):
        return int(value)
    if kind is float and number and abs(value) < LARGEST_NUMBER:
        return float(value)
    if kind is str and (isinstance(value, str) or number):
        return str(value)
    wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[kind]
    raise UserError(f"{key}: expected {wanted}, got {reprlib.repr(value)}")


def _within(value: Any, constraints: tuple[Any, ...], key: str) -> Any:
    for constraint in constraints:
        if isinstance(constraint, FilePath):
            value = str(Path(value).expanduser().absolute())
        if isinstance(constraint, Bounds) and not constraint.hold(value):
            raise UserError(f"{key}: must be {constraint}, got {value}")
    return value


def _hints(schema: Any) -> dict[str, Any]:
    return get_type_hints(schema, include_extras=True)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n")[0]
