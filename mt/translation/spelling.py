"""Typos read as the known words that were meant.

A word that training never saw is read as the known word from which one typo makes it, if there is one: the likeliest,
by its count and by the kind of the typo (the noisy channel of Kernighan, Church and Gale 1990). A right word may be
unknown too and near a known one by chance, which happens to short words most: they are read as frequent words only.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from mt.data.augmentation import title_case
from mt.translation.as_typed import BEGINNING
from mt.translation.known_words import WORD, KnownWords, folded_form

# No part of a URL, of code or of a word with digits, hyphens or an apostrophe.
_WHOLE_WORD = re.compile(rf"(?<![^\s\"'(\[„“‘«¿¡])(?<![^\s\"(\[„“«]'){WORD.pattern}(?=[.,;:!?…)\]\"'”’“»]*(?:\s|$))")
_LETTERS = range(3, 41)  # of a word that is looked at; more take long
_ANOTHER_LETTER = 0.1  # the weight of a wrong or added letter, which could be any, next to one lost, doubled or swapped
_QUOTED_LETTERS = 5  # after an apostrophe, where shorter words are 'tis, 'em, 'til
_NAME = 8  # times as frequent a word has to be for a capital at the beginning of a sentence to be its
_CERTAIN_LETTERS = 8  # of a word that is read as one seen once; each letter less asks for twice the frequency
_NOUNS = 1 / 6  # a larger share of words has capitals only where nouns have: German has 0.2 to 0.4
_RARE_LETTER = 1e-3  # the share of known words that have it


@dataclass(frozen=True)
class Spelling:
    """What a run knows of the spelling of its source language."""

    known: KnownWords
    language: str

    def __call__(self, text: str) -> tuple[str, dict[str, str]]:
        """The text without typos, and what each word that has one is read as. The number of words stays."""
        beginnings = {found.end() - 1 for found in BEGINNING.finditer(text)}
        read_as: dict[str, str] = {}

        def read(found: re.Match[str]) -> str:
            word = found[0]
            if text[found.start() - 1 : found.start()] == "'" and len(word) < _QUOTED_LETTERS:
                return word
            meant = self._meant(word, inside=found.start() not in beginnings)
            if meant != word:
                read_as[word] = meant
            return meant

        return _WHOLE_WORD.sub(read, text), read_as

    def _meant(self, word: str, *, inside: bool) -> str:
        """The known word that this one is read as, or itself; inside a sentence a capital may mean a name."""
        folded, capital = folded_form(word), word != word.lower()
        rest = word[2:] if word[1:2] == word[:1] else word[1:]  # a doubled capital is a typo
        if folded in self.known or len(folded) not in _LETTERS or rest != rest.lower():  # those in IDs, iPhone are not
            return word
        if capital and inside and not self._capital_nouns:
            return word
        meant = self._likeliest(folded, name=capital)
        if meant is None or (capital and inside and meant == meant.lower()):
            return word
        return title_case(meant, self.language) if capital else meant

    def _likeliest(self, word: str, *, name: bool) -> str | None:
        """The known word, in its usual form, that is one typo away; an unknown word may be a `name`.

        A wrong or added letter is not looked for at either end: an ending makes another form of a word, and the first
        letter is mostly right, while other words differ in it.
        """
        parts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
        forms = {start + end[1:]: _ANOTHER_LETTER for start, end in parts if start and end[1:]}
        for letter in self._letters:
            forms |= {start + letter + end[1:]: _ANOTHER_LETTER for start, end in parts if start and end[1:]}
        for letter in self._letters:
            forms |= {start + letter + end: 1.0 for start, end in parts if end}  # it was lost
        forms |= {start + end[1:]: 1.0 for start, end in parts if start and start[-1] == end[:1]}  # doubled
        forms |= {start + end[1] + end[0] + end[2:]: 1.0 for start, end in parts if end[1:]}  # swapped
        scores = {form: self.known[form].frequency * forms[form] for form in forms if form in self.known}
        best = max(scores, key=scores.__getitem__, default=None)
        if best is None:
            return None
        usual, least = self.known[best].usual, 2.0 ** (_CERTAIN_LETTERS - len(word))
        return usual if scores[best] >= (_NAME * least if name and usual == usual.lower() else least) else None

    @cached_property
    def _letters(self) -> list[str]:
        """Those that words of the language have."""
        counts = Counter(letter for word in self.known for letter in set(word))
        return sorted(letter for letter, words in counts.items() if words > _RARE_LETTER * len(self.known))

    @cached_property
    def _capital_nouns(self) -> bool:
        """Whether nouns have a capital, so that it does not mean a name."""
        capitals = sum(word.frequency for word in self.known.values() if word.usual != word.usual.lower())
        return capitals > _NOUNS * sum(word.frequency for word in self.known.values())
