"""The words of a command line: which are overrides, whether their keys exist, and quoting what is plain text."""

import hashlib
import re
from collections.abc import Collection, Sequence
from itertools import pairwise, product
from typing import Annotated, Any, get_args, get_origin

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from mt.config.loading import alternatives, known_keys
from mt.config.names import unknown_flag, unknown_option
from mt.config.schema import Verbatim
from mt.errors import UserError

OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[A-Za-z_][\w./@:\[\]-]*)=(?P<value>.*)", re.DOTALL)
DELETION = re.compile(r"~[\w./@-]+")
CALLS_CODE = re.compile(r"[+~]*hydra\b(.*_target_|(\.(job|hydra)_logging|[./]callbacks)\b)", re.DOTALL)
OWN_SWEEP_FLAGS = ("--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn")
UNCHECKED_FLAGS = {"--shell-completion", "-sc", "--help", "-h", "--hydra-help", "--version"}
FLAGS_WITH_VALUE = {*OWN_SWEEP_FLAGS, "--cfg", "-c", "--package", "-p", "--info", "-i"}
MULTIRUN_FLAGS = {"--multirun", "-m"}
FLAGS = {*UNCHECKED_FLAGS, *FLAGS_WITH_VALUE, *MULTIRUN_FLAGS, "--resolve", "--run", "-r"}
LONGEST_FILE_NAME = 200  # bytes; file systems allow 255
# `batch_tokens` is the recipe's and stays what it is; what can be found out is how much of it fits at once.
SAME_AS = {"training.batch_tokens=auto": "training.micro_batch_tokens=auto"}


class Overrides:
    """The overrides among some command-line arguments, checked against a schema; raises `UserError`.

    `groups` are the keys whose values are names of files under `conf/`. The attribute `arguments` is
    the command line that Hydra can read: flags first, plain text quoted.
    """

    def __init__(self, arguments: Sequence[str], schema: Any, groups: Collection[str]) -> None:
        self.are_checked = not UNCHECKED_FLAGS.intersection(word.split("=")[0] for word in arguments)
        self.multirun = bool(MULTIRUN_FLAGS.intersection(arguments))
        self.arguments = list(arguments)
        own = any(word.startswith((*OWN_SWEEP_FLAGS, "hydra/sweeper", "hydra.searchpath")) for word in arguments)
        self.make_plain_sweep = self.are_checked and self.multirun and not own
        self.keys: set[str] = set()
        self._groups = groups
        self._parsed: list[Override] = []
        for word in arguments:
            if CALLS_CODE.match(word):
                raise UserError(f"{word}: an override may not choose code that Hydra calls; leave it out")
        if self.are_checked:
            self._types = dict(known_keys(schema))
            words = [word for word in arguments if OVERRIDE.fullmatch(word) or DELETION.fullmatch(word)]
            flags = [word for word in arguments if word not in words]
            _check_flags(flags, self._known())
            self.arguments = [*flags, *(self._read(word) for word in words)]

    def jobs(self) -> list[list[str]]:
        """The overrides of every job of a sweep."""
        return [list(job) for job in product(*map(_choices, self._parsed))]

    def own_suffix(self, job_overrides: list[str]) -> str:
        """What distinguishes one job of a sweep, as the end of a folder's name."""
        fixed = {
            f"{override.get_key_element()}={override.get_value_element_as_str()}"
            for override in self._parsed
            if not override.is_sweep_override()
        }
        own = ",".join(text for text in job_overrides if text not in fixed)
        name = re.sub(r"[^\w.,=+-]+", "_", own)
        if len(name.encode()) > LONGEST_FILE_NAME:
            name = hashlib.sha256(own.encode()).hexdigest()[:16]
        return f",{name}" if name else ""

    def _known(self) -> list[str]:
        return list(dict.fromkeys([*self._types, *self._groups]))

    def _read(self, word: str) -> str:
        word = SAME_AS.get(word, word)
        key = re.split("=", word.lstrip("+~"), maxsplit=1)[0]
        kind = self._types.get(key)
        word = _as_text(word, kind, self.multirun)
        override = _parse(word)
        self._check_key(override)
        self._parsed.append(override)
        return word

    def _check_key(self, override: Override) -> None:
        key = override.key_or_group
        if key.split(".")[0].split("/")[0] == "hydra":
            return
        if override.get_key_element().lstrip("+~") in self.keys:
            raise UserError(f"{key}: given twice")
        self.keys.add(override.get_key_element().lstrip("+~"))
        if "/" not in key and key not in self._types and key not in self._groups:
            raise unknown_option(key, self._known())
        optional = key not in self._types and override.value() is None  # experiment=null
        if key in self._groups and not (override.is_sweep_override() or isinstance(override.value(), str) or optional):
            raise UserError(f"{key}: expected the name of a choice, as in --help; got {override.value()}")
        if override.is_sweep_override() and not self.multirun:
            raise UserError(f"{key}: several values need -m (a sweep), or quotes if the commas are meant")


def _check_flags(words: list[str], options: list[str]) -> None:
    for before, word in pairwise(["", *words]):
        if word.startswith("-") and word.partition("=")[0] not in FLAGS:
            raise unknown_flag(word, options)
        if not word.startswith("-") and before not in FLAGS_WITH_VALUE:
            raise UserError(f"{word}: options are written key=value")


def _parse(word: str) -> Override:
    try:
        return OverridesParser.create().parse_override(word)
    except HydraException as error:
        reason = str(error).split("\n")[0]
        raise UserError(f"{word}: not readable as key=value ({reason})") from error


def _choices(override: Override) -> list[str]:
    """The overrides that an override of a sweep becomes, one in each job. Raises UserError for an endless sweep."""
    key = override.get_key_element()
    if not override.is_sweep_override():
        return [f"{key}={override.get_value_element_as_str()}"]
    if not override.is_discrete_sweep():
        raise UserError(f"{key}: a sweep over an interval has no values to try; list them: {key}=1,2,3")
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def _as_text(word: str, kind: Any, multirun: bool) -> str:
    """Quotes the value of a key that holds text where Hydra would read something else in it.

    A sentence is always taken as it is typed. Other text keeps Hydra's grammar where that reads it as
    text, and its sweeps under -m; a path with commas or equals signs is a path. `null` stays null.
    """
    match = OVERRIDE.fullmatch(word)
    if match is None or not _holds_text(kind) or match["value"] == "null":
        return word
    try:
        parsed = OverridesParser.create().parse_override(word)
    except HydraException:
        parsed = None
    value = parsed.value() if parsed else None
    if _is_verbatim(kind):
        in_quotes = isinstance(value, str) and match["value"].lstrip().startswith(("'", '"'))
        return f"{match['sign'] or ''}{match['key']}={quoted(str(value) if in_quotes else match['value'])}"
    if parsed is None or not (isinstance(value, str) or (multirun and parsed.is_sweep_override())):
        return f"{match['sign'] or ''}{match['key']}={QuotedString(match['value'], Quote.double).with_quotes()}"
    return word


def quoted(text: str) -> str:
    """Any text as a value that Hydra and OmegaConf give back unchanged."""
    escaped = re.sub(r"(\\*)\$\{", lambda match: match[1] * 2 + r"\${", text)
    return QuotedString(escaped, Quote.double).with_quotes()


def _holds_text(kind: Any) -> bool:
    return any(
        branch is str or (get_origin(branch) is Annotated and get_args(branch)[0] is str)
        for branch in alternatives(kind)
    )


def _is_verbatim(kind: Any) -> bool:
    return any(isinstance(mark, Verbatim) for branch in alternatives(kind) for mark in get_args(branch)[1:])
