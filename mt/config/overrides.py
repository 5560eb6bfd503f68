"""The words of a command line: which are overrides, whether their keys exist, and quoting what is plain text."""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import is_dataclass
from itertools import pairwise
from typing import Annotated, Any, get_args, get_origin

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from mt.config.loading import alternatives, known_keys
from mt.config.marks import Verbatim
from mt.config.names import unknown_flag, unknown_option
from mt.errors import UserError

OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[A-Za-z_][\w./@:\[\]-]*)=(?P<value>.*)", re.DOTALL)
DELETION = re.compile(r"~[\w./@-]+")
# What may be set of Hydra's own: a launcher and a sweeper by name, their settings, folders; the rest can name code.
OF_HYDRA = re.compile(
    r"\+{0,2}hydra(/(launcher|sweeper)=[\w,]+|\.(sweep|run)\.(sub)?dir=[^{]*"
    r"|\.(verbose|sweeper\.(max_batch_size|n_trials|n_jobs)|launcher\.(?!.*_target_)[\w.]+)=[^{]*)"
)
COMPLETION_FLAGS = {"--shell-completion", "-sc"}
FLAGS_WITH_VALUE = {"--cfg", "-c", "--package", "-p", "--info", "-i"}
MULTIRUN_FLAGS = {"--multirun", "-m"}
HELP_FLAGS = {"--help", "-h", "--hydra-help", "--version", "--resolve"}
FLAGS = {*COMPLETION_FLAGS, *FLAGS_WITH_VALUE, *MULTIRUN_FLAGS, *HELP_FLAGS}


def readable(arguments: Sequence[str], schema: Any, groups: Collection[str]) -> list[str]:
    """Command-line arguments as Hydra can read them: flags first, plain text quoted.

    `groups` are the keys whose values are names of files under `conf/`. Raises UserError for a flag or a key that does
    not exist, and for what chooses code that Hydra would call.
    """
    if len(arguments) == 2 and arguments[0] in COMPLETION_FLAGS:
        _check_completion(arguments[1])
        return list(arguments)
    types: dict[str, list[Any]] = {}
    for key, kind in known_keys(schema):  # several times for an option of several kinds of data
        types.setdefault(key, []).extend(alternatives(kind))
    known = list(dict.fromkeys([*types, *groups]))
    words = [word for word in arguments if OVERRIDE.fullmatch(word) or DELETION.fullmatch(word)]
    flags = [word for word in arguments if word not in words]
    _check_flags(flags, known)
    sweeps = bool(MULTIRUN_FLAGS.intersection(flags))
    quoted_words = [_as_text(word, types.get(word.lstrip("+~").split("=")[0], []), sweeps) for word in words]
    for word in quoted_words:
        if re.match(r"[+~]*hydra\b", word):
            if not OF_HYDRA.fullmatch(word):
                raise UserError(f"{word}: an override may not choose code that Hydra calls; leave it out")
        else:
            _check_key(_parse(word), known, groups, sweeps)
    return [*flags, *quoted_words]


def _check_completion(request: str) -> None:
    if not re.fullmatch("(install|uninstall|query)=(bash|zsh|fish)", request):
        raise UserError(f"{request}: completion is installed with --shell-completion install=bash, or zsh or fish")
    if request.startswith("query") and not os.environ.get("COMP_LINE"):
        raise UserError(f"{request}: is for the shell to call; --shell-completion install=bash sets it up")


def _check_key(override: Override, known: Sequence[str], groups: Collection[str], sweeps: bool) -> None:
    key = override.get_key_element().lstrip("+~")
    if key not in known:
        raise unknown_option(key, known)
    swept, value = override.is_sweep_override(), override.value()
    if swept and not sweeps:
        raise UserError(f"{key}: several values need -m (a sweep), or quotes if the commas are meant")
    text = str(override.input_line).partition("=")[2]
    leads_away = re.search(r"[\\$]|(?<!\w)/|/(?!\w)", text)  # ../ could lead to such code
    named = (swept or isinstance(value, str)) and not leads_away
    if key in groups and not (named or isinstance(value, dict) or override.is_delete()):
        raise UserError(f"{key}: expected the name of a choice, as in --help; got {text}")


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
        quoted = "" if word.isascii() else '; such letters need double quotes, as in [{source: "über.en", …}]'
        raise UserError(f"{word}: not readable as key=value ({reason}){quoted}") from error


def _as_text(word: str, kinds: Sequence[Any], sweeps: bool) -> str:
    """Quotes the value of a key that may hold text where Hydra would read something else in it.

    A sentence is always taken as it is typed. Other text keeps Hydra's grammar where that reads it as
    text, and its sweeps under -m; a path with commas or equals signs is a path. `null` stays null.
    """
    match = OVERRIDE.fullmatch(word)
    branches = [get_args(branch) if get_origin(branch) is Annotated else (branch,) for branch in kinds]
    if match is None or match["value"] == "null" or not any(branch[0] is str for branch in branches):
        return word
    structured = any(get_origin(branch[0]) is list or is_dataclass(branch[0]) for branch in branches)
    if structured and match["value"].startswith(("[", "{")):
        return word
    try:
        parsed = OverridesParser.create().parse_override(word)
    except HydraException:
        parsed = None
    value = parsed.value() if parsed else None
    text = match["value"]
    if any(isinstance(mark, Verbatim) for branch in branches for mark in branch):
        text = re.sub(r"(\\*)\$\{", lambda interpolation: interpolation[1] * 2 + r"\${", text)
    elif isinstance(value, str) or (sweeps and parsed and parsed.is_sweep_override()):
        return word
    return f"{match['sign'] or ''}{match['key']}={QuotedString(text, Quote.double).with_quotes()}"
