"""What a tokenizer does to characters: letters and marks are composed (as in Unicode's NFC), spaces are of one kind.

SentencePiece's own rule, `nmt_nfkc`, also writes ， as a comma, 10⁶ as 106 and ½ as 1⁄2, so that no model could ever
output the former. Here what looks different stays different, where a model can have learned it.
"""

import functools
import unicodedata
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import permutations

_SPACES = "\t\n\f\r\xa0\u061c\u1680\u200e\u200f\u2028\u2029\u202f\u205f\u2581\u3000\ufeff\ufffd" + "".join(
    map(chr, range(0x2000, 0x200C))
)
_END = 0x30000  # no later character is composed
_REMOVED = "".join(map(chr, [*range(0x1, 0x9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F]))  # control characters


def rules(known: AbstractSet[str]) -> list[tuple[str, str]]:
    """What becomes what, as SentencePiece takes it; characters that are not `known` are read as the usual ones."""
    usual = {character: written for character, written in _compatible().items() if character not in known}
    return list((usual | _composed_forms() | dict.fromkeys(_SPACES, " ") | dict.fromkeys(_REMOVED, "")).items())


@functools.cache
def _compatible() -> dict[str, str]:
    """The characters that NFKC writes with others, and those, where that makes no words of them."""
    alike = (one for one in map(chr, range(_END)) if unicodedata.decomposition(one).startswith("<"))
    written = ((character, unicodedata.normalize("NFKC", character)) for character in alike)
    return {character: usual for character, usual in written if not any(map(str.isspace, usual))}


@functools.cache
def _composed_forms() -> dict[str, str]:
    """The ways to write a letter with its marks, and the composed one."""
    return {written: _composed(character) for character in _characters() for written in _ways_to_write(character)}


def _ways_to_write(character: str) -> Iterator[str]:
    """The canonically equal forms that are not composed, or only in part; the marks on a letter in any order."""
    if (composed := _composed(character)) != character:
        yield character
        return
    decomposed = unicodedata.normalize("NFD", character)
    for order in permutations(decomposed[1:]):
        parts = decomposed[0] + "".join(order)
        for form in (parts, _composed(parts[:-1]) + parts[-1]):
            if form != composed and _composed(form) == composed:
                yield form


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _characters() -> Iterator[str]:
    """Those that are canonically equal to others, Korean syllables among them."""
    for character in map(chr, range(_END)):
        parts = unicodedata.decomposition(character)
        if "가" <= character <= "힣" or (parts and not parts.startswith("<")):
            yield character
