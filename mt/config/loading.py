"""From a composed configuration, or a run's `config.yaml`, to the checked classes of `mt.config.schema`.

Everything here runs before torch is imported, so that a wrong configuration is answered at once.
"""

import reprlib
import types
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

import mt
from mt.config.checks import check_combinations
from mt.config.marks import Bounds, FilePath
from mt.config.measurements import SweepRow
from mt.config.names import unknown_option
from mt.config.schema import Corpus, Expected, NamedTest, Sampling, TrainConfig
from mt.errors import BadFileError, UserError

MISSING = "???"  # what a composed configuration holds where the user must choose
LARGEST_NUMBER = 2**63
# What PyYAML raises on hostile text in addition to its own errors: dates, numbers, depth.
PARSER_ERRORS = (yaml.YAMLError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)
# What an option that must be given may look like, as it is typed.
EXAMPLES = {
    "source_language": "en",
    "target_language": "de",
    "train": "[{source: a.en, target: a.de}]",
    "path": "wmt/wmt14",
    "source": "A sentence.",
    "format": "huggingface",
    "folder": "opus-mt-en-de",
    "text": "book.txt",
}

_LABELLED_EXAMPLES = {"train": "train.tsv", "validation": "dev.tsv"}
_NULL_UNLESS_WRITTEN = (Corpus, NamedTest, Sampling, Expected, SweepRow)

Schema = TypeVar("Schema")


def checked(schema: type[Schema], values: object) -> Schema:
    """Values as an instance of `schema`, types, bounds and combinations checked; raises `UserError`."""
    return cast(Schema, _convert(schema, values, ""))


def to_yaml(config: TrainConfig) -> str:
    """The text of a run folder's `config.yaml`."""
    return str(yaml.safe_dump(asdict(config), sort_keys=False, allow_unicode=True, width=120))


def from_yaml(content: bytes, *, origin: Path) -> TrainConfig:
    """The configuration that `to_yaml` wrote into a file; raises `BadFileError` for a damaged or an older one."""
    try:
        return checked(TrainConfig, yaml.safe_load(content.decode("utf-8")))
    except UserError as error:
        cure = "a missing option can be added there, as a file in conf/ has it; else train again"
        raise BadFileError(f"{origin}: {error}; an older version wrote it, or it is damaged: {cure}") from error
    except PARSER_ERRORS as error:
        reason = (str(error) or type(error).__name__).split("\n")[0]
        raise BadFileError(f"{origin}: not readable as YAML ({reason})") from error


def configuration_folder() -> Path:
    """`mt/conf` in an installed package, `conf` next to `mt` in a checkout."""
    package = Path(mt.__file__).resolve().parent
    return next(folder for folder in (package / "conf", package.parent / "conf") if folder.is_dir())


def expected_of(recipe: str) -> Expected:
    """What a recipe of `conf/experiment` expects. Raises UserError for a recipe that does not, or does not exist."""
    found: dict[str, Any] = {}

    def read(name: str) -> None:
        path = configuration_folder() / "experiment" / f"{name}.yaml"
        if not path.is_file():
            raise UserError(f"like: the recipe {name} does not exist in {path.parent}")
        written = yaml.safe_load(path.read_text(encoding="utf-8"))
        for choice in written.get("defaults", []):
            if isinstance(choice, str) and choice != "_self_":
                read(choice)
        found.update(written.get("expected") or {})

    read(recipe)
    if not found:
        raise UserError(f"like: the recipe {recipe} expects no figures")
    return checked(Expected, found)


def known_keys(schema: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every dotted key below a schema with its type, branches included; all kinds of a union together."""
    for key, kind in get_type_hints(schema, include_extras=True).items():
        yield prefix + key, kind
        for branch in alternatives(kind):
            if is_dataclass(branch):
                yield from known_keys(branch, f"{prefix}{key}.")


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The branches of a union; of any other type, itself."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


# ---------------------------------------------------------------------------- types


def _convert(kind: Any, value: Any, key: str) -> Any:
    if get_origin(kind) is Annotated:
        kind, *marks = get_args(kind)
        return _within(_convert(kind, value, key), marks, key)
    if get_origin(kind) in (Union, types.UnionType):
        return _convert_union(kind, value, key)
    if is_dataclass(kind):
        return _convert_class(kind, value, key)
    if get_origin(kind) is list:
        if not isinstance(value, list):
            advice = ": write [{...}]" if isinstance(value, dict) else ""
            raise UserError(f"{key}: expected a list [...], got {reprlib.repr(value)}{advice}")
        return [_convert(get_args(kind)[0], item, f"{key}[{position}]") for position, item in enumerate(value)]
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            choices = ", ".join(map(str, get_args(kind)))
            raise UserError(f"{key}: expected one of {choices}; got {reprlib.repr(value)}")
        return value
    return _convert_scalar(kind, value, key)


def _convert_union(kind: Any, value: Any, key: str) -> Any:
    if value is None:
        if type(None) in get_args(kind):
            return None
        raise UserError(f"{key}: may not be null")
    words = [word for branch in get_args(kind) if get_origin(branch) is Literal for word in get_args(branch)]
    if isinstance(value, str) and value in words:
        return value
    branches = [branch for branch in get_args(kind) if branch is not type(None) and get_origin(branch) is not Literal]
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
    hints = get_type_hints(kind, include_extras=True)
    prefix = f"{key}." if key else ""
    for name in value:
        if name not in hints:
            raise unknown_option(f"{prefix}{name}", [prefix + hint for hint in hints])
    if missing := [name for name in hints if value.get(name) == MISSING]:
        raise _must_be_given(key, value, missing)
    converted = {}
    for name, hint in hints.items():
        if name not in value and (kind not in _NULL_UNLESS_WRITTEN or type(None) not in alternatives(hint)):
            raise UserError(f"{prefix}{name}: is missing")
        converted[name] = _convert(hint, value.get(name), prefix + name)
    config = kind(**converted)
    check_combinations(config)
    return config


def _must_be_given(key: str, value: dict[str, Any], missing: list[str]) -> UserError:
    prefix = f"{key}." if key else ""
    examples = EXAMPLES | (_LABELLED_EXAMPLES if value.get("kind") == "labelled" else {})
    typed = [f"{prefix}{name}={examples.get(name, '…')}" for name in missing]
    example = " ".join(f"'{word}'" if " " in word else word for word in typed)
    named = f"{key}={value['kind']} also needs" if "kind" in value else "please give"
    return UserError(f"{named} {', '.join(missing)}, for example {example}")


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
    if kind in (int, float) and number and abs(value) >= LARGEST_NUMBER:
        raise UserError(f"{key}: expected a number below {LARGEST_NUMBER:g}, got {reprlib.repr(value)}")
    wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[kind]
    raise UserError(f"{key}: expected {wanted}, got {reprlib.repr(value)}")


def _within(value: Any, marks: Sequence[Any], key: str) -> Any:
    for mark in marks:
        if isinstance(mark, FilePath):
            try:
                value = str(Path(value).expanduser().absolute())
            except RuntimeError:
                raise UserError(f"{key}: {value}: its home folder does not exist") from None
        if isinstance(mark, Bounds) and not mark.hold(value):
            raise UserError(f"{key}: must be {mark}, got {value}")
    return value
