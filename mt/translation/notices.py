"""What makes a translation suspicious: signs that anyone can check without knowing the target language."""

import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Literal

from mt.translation.copied import leave_out
from mt.translation.known_words import folded_form, unknown_words
from mt.translation.segments import Translation

_LOOP = re.compile(r"(.{2,60}?)\1{3,}")  # the same characters four times in a row
_WORD = re.compile(r"[^\W\d_]+")
_FEWEST_COPIED_WORDS = 3  # names and numbers are rightly copied
_LENGTH_RATIO, _MORE_SUBWORDS = 1.5, 15


@dataclass(frozen=True)
class Notice:
    """One sign, and a message that names it."""

    kind: Literal["empty", "copied", "repeated", "long", "spelling", "unknown_words"]
    message: str
    words: list[str] = field(default_factory=list)
    """The source words that training never saw; of spelling, a word and what it was read as."""


def notices(
    source: str, translation: Translation, *, source_subwords: int, known: Container[str] | None = None
) -> list[Notice]:
    """Return what is suspicious; `known` has the source words of the training, None where they are not listed."""
    text, found = translation.text, []
    if _WORD.search(source) and not text.strip():
        found.append(Notice("empty", "the model ended its translation before the first word"))
    copied = text.casefold() == source.casefold()
    if copied and len(_WORD.findall(leave_out(source)[0])) >= _FEWEST_COPIED_WORDS:
        found.append(Notice("copied", "the translation is a copy of the source"))
    if _repeats(text) and not _repeats(source):
        found.append(Notice("repeated", "the translation repeats itself"))
    if len(translation.tokens) > _LENGTH_RATIO * source_subwords + _MORE_SUBWORDS:
        found.append(Notice("long", "the translation is far longer than the source"))
    found += typos(translation)
    if known is not None and (words := guessed_words(source, translation, known)):
        found.append(Notice("unknown_words", f"training never saw: {', '.join(words)}", words))
    return found


def typos(translation: Translation) -> list[Notice]:
    """What each word that was read in another spelling was read as."""
    pairs = translation.read_as.items()
    return [Notice("spelling", f"{typed!r} was read as {meant!r}", [typed, meant]) for typed, meant in pairs]


def guessed_words(source: str, translation: Translation, known: Container[str]) -> list[str]:
    """The source words that training never saw and that were not read as others."""
    read = set(map(folded_form, translation.read_as))
    return [word for word in unknown_words(leave_out(source)[0], known) if word.casefold() not in read]


def _repeats(text: str) -> bool:
    return any(_WORD.search(match[1]) for match in _LOOP.finditer(text + " "))
