"""Subtitles, SRT and WebVTT: the text of the cues. Times, settings, notes and styles stay as they are written."""

import re
from collections.abc import Iterator, Sequence

from mt.documents.document import Document, decoded, encoded
from mt.documents.inline import MARKUP, Inline, joined, spliced

_LINE = r"(?![^\r\n]*-->)[^\r\n]*\S[^\r\n]*"
_CUE = re.compile(
    r"^[^\r\n]*\d:\d\d(?:[.,]\d+)?[ \t]*-->[^\r\n]*\r?\n"  # the times
    rf"(?P<text>{_LINE}(?:\r?\n(?!\d+[ \t]*\r?\n[^\r\n]*-->){_LINE})*)",
    re.MULTILINE,
)
_MARK = re.compile(
    r"(?P<speaker>^[ \t]*[-–—♪♫#>]+[ \t]*)|(?:(?<![ \t])[ \t]++)?(?P<line>\r?\n)[ \t]*"
    r"|<[^<>\r\n]*>|\{[^{}\r\n]*\}|&#?\w+;|\\h",
    re.MULTILINE,
)
_BLANK = re.compile(r"\A\s*\n|(?<=\n)[ \t]*\r?\n|\r?\n[ \t]*\Z")


def parse_subtitles(data: bytes) -> Document:
    """A cue is a text, whose line breaks may be inside a sentence. Raises UserError."""
    text, encoding = decoded(data)
    cues = [(match.span("text"), _inline(match["text"])) for match in _CUE.finditer(text)]
    found = [(span, inline, tagged) for span, inline in cues if (tagged := inline.finished())]

    def changes(translations: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        for (span, inline, _), new in zip(found, translations, strict=True):
            cue = joined((kind, value.replace("-->", "->")) for kind, value in inline.events(new))
            yield (*span, _BLANK.sub("", cue))  # an empty line would end the cue

    def write(translations: Sequence[str]) -> bytes:
        return encoded(spliced(text, changes(translations)), encoding)

    return Document([tagged for _, _, tagged in found], MARKUP, write)


def _inline(cue: str) -> Inline:
    inline, position = Inline(), 0
    for match in _MARK.finditer(cue):
        inline.add_text(cue[position : match.start()])
        position = match.end()
        if match["line"]:
            inline.add_text(" ")
        if match["speaker"]:
            inline.add_point(match[0], splits=True)
        else:
            inline.add_tag(match[0])
    inline.add_text(cue[position:])
    return inline
