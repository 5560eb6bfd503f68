"""Language codes: the language without its region, and whether it is written with spaces."""

import re
from collections.abc import Sequence

CHINESE = {"zh", "zho", "cmn", "yue", "wuu"}
_SENTENCES_TOUCH = CHINESE | {"ja", "jpn"}
_WITHOUT_SPACES = _SENTENCES_TOUCH | {"th", "tha", "lo", "lao", "km", "khm", "my", "mya"}
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")  # Thai … Han


def main_language(code: str) -> str:
    """The language of a code, without its region or script: zh of zh-CN, zh_Hans and ZH."""
    return re.split("[-_]", code.lower())[0]


def has_spaces(language: str) -> bool:
    """Whether spaces separate the words of a language."""
    return main_language(language) not in _WITHOUT_SPACES


def look_unspaced(lines: Sequence[str]) -> bool:
    """Whether most of the lines have letters of a script that is written without spaces."""
    return 2 * sum(_UNSPACED.search(line) is not None for line in lines) > len(lines)


def separator(language: str) -> str:
    """What joins two sentences of a language: a space, also in Thai, whose words it does not separate, or nothing."""
    return "" if main_language(language) in _SENTENCES_TOUCH else " "
