"""What a tokenizer does to characters: letters and marks are composed (as in Unicode's NFC), spaces are of one kind.

SentencePiece's own rule, `nmt_nfkc`, also writes ， as a comma, 10⁶ as 106 and ½ as 1⁄2, so that no model could ever
output the former. Here what looks different stays different, where a model can have learned it.
"""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations

_SPACES = "\t\n\f\r\xa0\u1680\u2028\u2029\u202f\u205f\u2581\u3000\ufffd" + "".join(map(chr, range(0x2000, 0x200B)))
_INVISIBLE = "\u061c\u200b\u200e\u200f\ufeff"  # spaces without width, and marks of the direction of writing
_END = 0x30000  # no later character is composed
_MOST_MARKS = 3
_CONTROLS = "".join(map(chr, [*range(0x1, 0x9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F]))


def rules(lines: Iterable[str]) -> list[tuple[str, str]]:
    """What becomes what, as SentencePiece takes it, for a model that learns from these lines.

    Characters that they do not have are read as the usual ones. An Indian letter that NFC always decomposes (such as
    U+09DF) stays composed where it is more frequent than its mark by itself.
    """
    counts: Counter[str] = Counter()
    marked: set[str] = set()
    for line in lines:
        counts.update(line)
        if not line.isascii():
            marked.update(_marked_letters().findall(line))
    usual = {form: written for form, written in _compatible().items() if form[0] not in counts}
    forms = usual | _composed_forms()
    for letter in marked:  # of those with several marks, which Unicode does not all compose
        forms |= dict.fromkeys(_ways_to_write(letter), _composed(letter))
    for letter in _not_composed_again():
        in_two = _composed(letter)
        if counts[letter] > counts[in_two[-1]]:
            del forms[letter]
            forms[in_two] = letter
    return list((forms | dict.fromkeys(_SPACES, " ") | dict.fromkeys(_CONTROLS + _INVISIBLE, "")).items())


@functools.cache
def _marked_letters() -> re.Pattern[str]:
    """Letters with marks that have an order."""
    marks = "".join(one for one in map(chr, range(_END)) if unicodedata.combining(one))
    return re.compile(rf"[^\W\d_][{marks}]+")


@functools.cache
def _compatible() -> dict[str, str]:
    """The characters that NFKC writes with others, and those, where that makes no words of them."""
    alike = [one for one in map(chr, range(_END)) if unicodedata.decomposition(one).startswith("<")]
    voiced = [kana + mark for kana in alike if "\uff66" <= kana <= "\uff9d" for mark in "\uff9e\uff9f"]
    written = ((form, unicodedata.normalize("NFKC", form)) for form in [*alike, *voiced])
    return {form: usual for form, usual in written if not any(map(str.isspace, usual))}


@functools.cache
def _composed_forms() -> dict[str, str]:
    """The ways to write a letter with its marks, and the composed one."""
    return {written: _composed(character) for character in _characters() for written in _ways_to_write(character)}


def _ways_to_write(letter: str) -> Iterator[str]:
    """The forms of a letter that are canonically equal to the composed one; the marks on it in any order."""
    composed, decomposed = _composed(letter), unicodedata.normalize("NFD", letter)
    if len(letter) == 1 and letter != composed:
        yield letter
        return
    for order in permutations(decomposed[1:]) if len(decomposed) <= 1 + _MOST_MARKS else ():
        parts = decomposed[0] + "".join(order)
        for form in (parts, _composed(parts[:-1]) + parts[-1]):
            if form != composed and _composed(form) == composed:
                yield form


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@functools.cache
def _not_composed_again() -> list[str]:
    """Letters from India to Burma that NFC writes as two characters."""
    return [one for one in map(chr, range(0x900, 0x10A0)) if len(_composed(one)) == 2]


def _characters() -> Iterator[str]:
    """Those that are canonically equal to others, Korean syllables among them."""
    for character in map(chr, range(_END)):
        parts = unicodedata.decomposition(character)
        if "가" <= character <= "힣" or (parts and not parts.startswith("<")):
            yield character
