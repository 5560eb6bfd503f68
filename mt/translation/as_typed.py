"""A translation written as its source was typed: in capitals, in title case, without an end mark.

A model that has hardly seen capitals takes `A DOG` for unknown letters. Lita et al. 2003, "tRuEcasIng", give each word
back its most frequent form; Moses does that before translation. A model that has hardly seen a line without an end mark
adds one.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from mt.data.augmentation import lower_case, title_case, upper_case
from mt.translation.known_words import KnownWords, in_usual_form, letter_words

Restore = Callable[[str], str]
_FEWEST_LETTERS = 4  # US and OK are words of their own
_FEWEST_WORDS = 4  # three capitals may be a name
_END_MARK = re.compile(r"(?:(?<=[^\W\d_]{4})\.|[。．।۔])$")  # not that of etc. or Inc.
BEGINNING = re.compile(r"^\W*\w|(?<=[.!?]\s)[^\w.!?]*\w")


@dataclass(frozen=True)
class AsTyped:
    """What a run knows of the spelling of its source language; without `known` words, capitals are lower-cased."""

    known: KnownWords | None
    source_language: str
    target_language: str
    ends_in_marks: bool = True
    """Whether sentences of the source end in marks, so that one without has something to say."""

    def __call__(self, text: str) -> tuple[str, Restore | None]:
        """The text as training would write it, and what writes its translation as the text is; None for usual text."""
        usual, case = text, None
        if _in_capitals(text):
            usual, case = self._usual(text), partial(upper_case, language=self.target_language)
        elif self._is_title(text):
            usual, case = self._usual(text), partial(title_case, language=self.target_language)
        if not (self.ends_in_marks and unicodedata.category(text.rstrip()[-1:] or " ")[0] in "LMN"):
            return usual, case
        return usual, lambda translation: _END_MARK.sub("", case(translation) if case else translation).rstrip()

    def _is_title(self, text: str) -> bool:
        """Whether each word begins with a capital, of which training writes most without."""
        if self.known is None or text != title_case(text, self.source_language):
            return False
        words = letter_words(text)[1:]
        changed = sum(in_usual_form(word, self.known)[0].islower() for word in words)
        return len(words) + 1 >= _FEWEST_WORDS and 2 * changed >= len(words)

    def _usual(self, text: str) -> str:
        usual = in_usual_form(lower_case(text, self.source_language), self.known or {})
        return BEGINNING.sub(lambda found: upper_case(found[0], self.source_language), usual) if self._cased else usual

    @cached_property
    def _cased(self) -> bool:
        """Whether training has capitals at all, as far as is known."""
        return self.known is None or any(word.usual != word.usual.lower() for word in self.known.values())


def end_in_marks(lines: Sequence[str]) -> bool:
    """Whether most of some lines end in another character than a letter or digit; of no lines, true."""
    ends = [unicodedata.category(line.rstrip()[-1:] or " ")[0] for line in lines]
    return 2 * sum(end in "LMN" for end in ends) <= len(ends)


def _in_capitals(text: str) -> bool:
    """Whether all letters are capitals; where some have no case, an acronym may be the only Latin word."""
    letters = [letter for letter in text if letter.isalpha()]
    return text.isupper() and len(letters) >= _FEWEST_LETTERS and all(map(_has_case, letters))


def _has_case(letter: str) -> bool:
    return letter.lower() != letter.upper()
