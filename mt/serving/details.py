"""What a client may ask for besides the translation: each word's probability and sources, and what is suspicious."""

import re
from collections.abc import Sequence
from typing import Any

from mt.documents.markup import MarkedText
from mt.documents.passages import PlainText, Span
from mt.translation.segments import Translation

Word = dict[str, Any]  # as JSON has it
_WORD = re.compile(r"\S+")


def words_of(passage: PlainText | MarkedText, translations: Sequence[Translation], separator: str) -> list[Word]:
    """The words of a passage's translation, given those of its sentences, which have probabilities and alignments.

    A word has its `text` and `probability`, and except in text with markup its `start` and `end`, and those of the
    words of the source that it comes from. Positions count characters (code points) from 0; the end is the one after
    the last.
    """
    if isinstance(passage, MarkedText):
        return [word for one in translations for word in _words(one)]
    words, position = [], 0
    parts = passage.parts(translations, separator)
    for gap, text, one, span in zip(parts[::2], parts[1::2], translations, passage.spans, strict=False):
        position += len(gap)
        words += _words(one, position, _word_spans(passage.text, span))
        position += len(text)
    return words


def _word_spans(text: str, span: Span) -> list[Span]:
    return [match.span() for match in _WORD.finditer(text, *span)]


def _words(one: Translation, position: int | None = None, source: Sequence[Span] = ()) -> list[Word]:
    """The words of one sentence that begins at `position` and whose source words are at these spans."""
    links: dict[int, list[Span]] = {}
    for source_word, target_word in one.alignment or []:
        links.setdefault(target_word, []).extend(source[source_word : source_word + 1])
    found = []
    for number, (match, probability) in enumerate(zip(_WORD.finditer(one.text), one.probabilities or [], strict=False)):
        word: Word = {"text": match[0], "probability": round(probability, 4)}
        if position is not None:
            start, end = position + match.start(), position + match.end()
            word |= {"start": start, "end": end, "source": links.get(number, [])}
        found.append(word)
    return found
