"""What a client may ask for besides the translation: each word's probability and sources, and what is suspicious."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mt.documents.markup import MarkedText
from mt.documents.passages import PlainText, Span
from mt.translation.segments import Translation

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Word:
    """A word of a translation; positions count characters (code points) from 0, the end is the one after the last."""

    text: str
    probability: float
    start: int | None = None
    end: int | None = None
    source: Sequence[Span] = ()
    """The words of the source text that it comes from, as start and end."""

    def to_json(self) -> dict[str, Any]:
        """Its fields; those of positions only where it has them."""
        fields = asdict(self) | {"probability": round(self.probability, 4)}
        return fields if self.start is not None else {name: fields[name] for name in ("text", "probability")}


def words_of(passage: PlainText | MarkedText, translations: Sequence[Translation], separator: str) -> list[Word]:
    """The words of a passage's translation, given those of its sentences, which have probabilities and alignments.

    Of text with markup the words have no positions.
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
        if position is None:
            found.append(Word(match[0], probability))
        else:
            start, end = position + match.start(), position + match.end()
            found.append(Word(match[0], probability, start, end, links.get(number, ())))
    return found
