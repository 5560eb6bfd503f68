"""The option that was probably meant by a name that does not exist: misspelt, or the name in another toolkit."""

import difflib
from collections.abc import Sequence
from pathlib import Path

import yaml

from mt.errors import UserError


def names_elsewhere() -> dict[str, str]:
    """Each option and its names in other toolkits, with spaces between them."""
    names: dict[str, str] = yaml.safe_load(Path(__file__).with_name("names_elsewhere.yaml").read_text(encoding="utf-8"))
    return names


def unknown_option(key: str, options: Sequence[str]) -> UserError:
    """The error for a key that is not an option, with the option that was probably meant."""
    return UserError(f"unknown option {key}; did you mean {_named(key, options) or _most_similar(key, options)}?")


def unknown_flag(flag: str, options: Sequence[str]) -> UserError:
    """The error for a flag that does not exist, with the option of that name where there is one."""
    named = _named(flag.lstrip("-").partition("=")[0], options)
    meant = f"; did you mean {named}=…?" if named else ""
    return UserError(f"unknown flag {flag.partition('=')[0]}; options are written key=value{meant}")


def unknown_choice(group: str, name: str, choices: Sequence[str]) -> UserError:
    """The error for a file that a group of `conf/` does not have."""
    near = [choice for choice in choices if name and choice.startswith(name)] or difflib.get_close_matches(
        name, choices
    )
    advice = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(choices)}"
    return UserError(f"{group}={name} does not exist; {advice}")


def _named(key: str, options: Sequence[str]) -> str | None:
    """The option that has this name, in this program or elsewhere; the name may lack its groups or have wrong ones."""
    word = key.replace("-", "_").lower()
    last = word.rpartition(".")[2]
    meant = [word, *(option for option, names in names_elsewhere().items() if last in names.split())]
    for fits in (str.__eq__, _ends_alike):
        for name in meant:
            for option in options:
                if fits(option, name):
                    return option
    return None


def _ends_alike(option: str, name: str) -> bool:
    return f".{option}".endswith(f".{name}") or f".{name}".endswith(f".{option}")


def _most_similar(key: str, options: Sequence[str]) -> str:
    def likeness(option: str) -> float:
        whole = difflib.SequenceMatcher(None, key, option).ratio()
        last = difflib.SequenceMatcher(None, key.rpartition(".")[2], option.rpartition(".")[2]).ratio()
        return max(whole, 0.99 * last)

    return max(options, key=likeness)
