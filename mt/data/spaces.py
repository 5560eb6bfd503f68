"""Language codes: the language without its region, and whether it is written with spaces between sentences."""

import re

_WITHOUT_SPACES = {"zh", "zho", "ja", "jpn", "th", "tha", "lo", "lao", "km", "khm", "my", "mya"}


def main_language(code: str) -> str:
    """The language of a code, without its region or script: zh of zh-CN, zh_Hans and ZH."""
    return re.split("[-_]", code.lower())[0]


def separator(language: str) -> str:
    """What joins two sentences of a language: a space, or nothing."""
    return "" if main_language(language) in _WITHOUT_SPACES else " "
