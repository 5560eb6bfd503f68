"""The words of a command line: which are overrides, whether their keys exist, and quoting what is plain text."""

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_origin

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import OverrideParseException

from mt.config import Verbatim
from mt.errors import UserError
from mt.loading import alternatives, known_keys, unknown_key

OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[A-Za-z_][\w./@:\[\]-]*)=(?P<value>.*)", re.DOTALL)
DELETION = re.compile(r"~[\w./@-]+")
UNCHECKED_FLAGS = {"--shell-completion", "-sc", "--help", "-h", "--hydra-help", "--version"}
MULTIRUN_FLAGS = {"--multirun", "-m"}
LONGEST_FILE_NAME = 200  # bytes; file systems allow 255


class Overrides:
    """The overrides among some command-line arguments, checked against a schema; raises `UserError`.

    `arguments` is the command line that Hydra can read: flags first, plain text quoted.
    """

    def __init__(self, arguments: Sequence[str], schema: Any) -> None:
        self.are_checked = not UNCHECKED_FLAGS.intersection(word.split("=")[0] for word in arguments)
        self.multirun = bool(MULTIRUN_FLAGS.intersection(arguments))
        self.arguments = list(arguments)
        self.keys: set[str] = set()
        self._parsed: list[Override] = []
        if self.are_checked:
            self._types = dict(known_keys(schema))
            words = [word for word in arguments if OVERRIDE.fullmatch(word) or DELETION.fullmatch(word)]
            flags = [word for word in arguments if word not in words]
            self.arguments = [*flags, *(self._read(word) for word in words)]

    def jobs(self) -> list[list[str]]:
        """The overrides of every job of a sweep."""
        return [job for batch in BasicSweeper.split_arguments(self._parsed, None) for job in batch]

    def own_suffix(self, job_overrides: list[str]) -> str:
        """What tells one job of a sweep from the others, as the end of a folder's name."""
        fixed = {override.input_line for override in self._parsed if not override.is_sweep_override()}
        own = ",".join(text for text in job_overrides if text not in fixed)
        name = re.sub(r"[^\w.,=+-]+", "_", own)
        if len(name.encode()) > LONGEST_FILE_NAME:
            name = hashlib.sha256(own.encode()).hexdigest()[:16]
        return f",{name}" if name else ""

    def _read(self, word: str) -> str:
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
        if "/" not in key and key not in self._types and key != "experiment":
            raise unknown_key(key, [*self._types, "experiment"])
        if override.is_sweep_override() and not self.multirun:
            raise UserError(f"{key}: several values need -m (a sweep), or quotes if the commas are meant")


def _parse(word: str) -> Override:
    try:
        return OverridesParser.create().parse_override(word)
    except OverrideParseException as error:
        raise UserError(f"{word}: not of the form key=value ({error.message.splitlines()[0]})") from error


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
    except OverrideParseException:
        parsed = None
    value = parsed._value if parsed else None
    if _is_verbatim(kind):
        text = value.text if isinstance(value, QuotedString) else match["value"]
        return f"{match['sign'] or ''}{match['key']}={quoted(text)}"
    if parsed is None or not (isinstance(value, str | QuotedString) or (multirun and parsed.is_sweep_override())):
        return f"{match['sign'] or ''}{match['key']}={QuotedString(match['value'], Quote.double).with_quotes()}"
    return word


def quoted(text: str) -> str:
    """Any text as a value that Hydra and OmegaConf give back unchanged."""
    escaped = re.sub(r"(\\*)\$\{", lambda match: match[1] * 2 + r"\${", text)
    if "${" in text:  # with an interpolation somewhere, backslashes at the end are escapes too
        escaped = re.sub(r"\\+$", lambda match: match[0] * 2, escaped)
    return QuotedString(escaped, Quote.double).with_quotes()


def _holds_text(kind: Any) -> bool:
    return any(
        branch is str or (get_origin(branch) is Annotated and get_args(branch)[0] is str)
        for branch in alternatives(kind)
    )


def _is_verbatim(kind: Any) -> bool:
    return any(isinstance(mark, Verbatim) for branch in alternatives(kind) for mark in get_args(branch)[1:])
