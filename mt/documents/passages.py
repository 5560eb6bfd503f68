"""A text as the sentences that are translated, and their translations as a text with its line breaks and spaces."""

import re
from collections.abc import Iterator, Sequence

import sentencex

from mt.data.spaces import main_language, separator
from mt.translation.segments import Translation

_BLANK = re.compile(r"\s+")
_LINE = re.compile(r"[^\r\n]+")
_LONGEST = 4000  # characters
Span = tuple[int, int]  # first character and the one after the last


def sentence_spans(text: str, language: str, *, at_lines: bool = True, at_sentences: bool = True) -> list[Span]:
    """Where the sentences of a text are, without the white space around them."""
    lines = [match.span() for match in _LINE.finditer(text)] if at_lines else [(0, len(text))]
    spans: list[Span] = []
    for first, end in lines:
        line, start = text[first:end], first
        parts = sentencex.segment(main_language(language), line) if at_sentences else [line]
        if "".join(parts) != line:
            parts = [line]
        for part in parts:
            blank = len(part) - len(part.lstrip())
            if blank < len(part):
                low, high = start + blank, start + len(part.rstrip())
                if spans and spans[-1][1] == low and text[low - 1].isascii():  # such as a.js.LICENSE
                    low = spans.pop()[0]
                spans += _cut(text, low, high, unspaced=separator(language) == "")
            start += len(part)
    return spans


def _cut(text: str, low: int, high: int, *, unspaced: bool) -> Iterator[Span]:
    """A span in parts that the model takes a few at a time: one without the end of a sentence is cut between words."""
    while high - low > _LONGEST:
        end = max(text.rfind(" ", low, low + _LONGEST), text.rfind("\n", low, low + _LONGEST))
        if end <= low:
            later = _BLANK.search(text, low + _LONGEST, high)
            end = low + _LONGEST if unspaced else later.start() if later else high
        yield low, end
        blank = _BLANK.match(text, end, high)
        low = blank.end() if blank else end
    if low < high:
        yield low, high


def gap_between(gap: str, separator: str) -> str:
    """What is between two translated sentences, given what is between the sentences."""
    if separator == "" and gap.strip(" ") == "":
        return ""
    return gap or separator


class PlainText:
    """Text without markup."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self.text, self.spans = text, spans
        self.sentences = [" ".join(text[start:end].split()) for start, end in spans]

    def rebuilt(self, translations: Sequence[Translation], separator: str) -> str:
        """The text with the sentences' translations."""
        return "".join(self.parts(translations, separator))

    def parts(self, translations: Sequence[Translation], separator: str) -> list[str]:
        """What is before the first sentence, its translation, what is between it and the next, and so on."""
        parts, position = [], 0
        for (start, end), translation in zip(self.spans, translations, strict=True):
            gap = self.text[position:start]
            parts += [gap_between(gap, separator) if position else gap, translation.text]
            position = end
        return [*parts, self.text[position:]]
