"""Gettext's PO files: messages without a translation get one; placeholders stay as they are written."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import polib

from mt.documents.document import CHARSET, Document, decoded, encoded
from mt.documents.inline import MARKUP, Inline, joined, spliced
from mt.errors import UserError

_SEPARATORS = str.maketrans(dict.fromkeys("\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))  # polib would end lines there
_EMPTY = re.compile(r'^msgstr(?:\[(\d+)\])?[ \t]+("")[ \t]*\r?$', re.MULTILINE)
_LINE_START = re.compile(r"(?<![^\n])|(?<=\r)(?!\n)")

_WIDTH = r"(?:\d++|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[jztL])?"
_BY_POSITION = rf"%[-+#0]*+{_WIDTH}[diouxXeEfFgGaAcspnr@]|%[ ]{_WIDTH}[dfeEgG](?![a-zA-Z])|\{{\}}"
_BY_NAME = (
    r"%(?:\(\w+\)|\d+\$)[-+#0 ]*+\d*+\.?\d*+[a-zA-Z@]|%%"
    r"|%L?\d{1,2}(?!\$[a-zA-Z]|[\d.]*[diouxXeEfFgGcs](?![a-zA-Z]))"  # Qt's, unless the letter after it is C's
    r"|[%$]?\{\w[^{}]*\}|\{\{[^{}]*\}\}|\$[a-zA-Z_]\w*"
)
_EVERY = f"{_BY_NAME}|{_BY_POSITION}"
_AROUND = ("()", "[]", '""', "''", "“”", "‘’", "„“", "«»", "``", "`'")  # what goes where a placeholder goes
_QUOTED = "|".join(f"{re.escape(pair[0])}(?:{_EVERY})+{re.escape(pair[1])}" for pair in _AROUND)
_MARK = re.compile(rf"{_QUOTED}|{_EVERY}|(?P<tag></?[a-zA-Z][^<>]*>|&#?\w+;)|(?P<gap>[\t\n]+|[ ]{{3,}})")
_ORDERED, _PLACEHOLDER = re.compile(_BY_POSITION), re.compile(_EVERY)


def parse_po(data: bytes) -> Document:
    """The messages whose translation is empty. Raises UserError."""
    text, encoding = decoded(data, CHARSET)
    try:  # with a line break, so that it is never taken for the name of a file
        entries = polib.pofile(text.translate(_SEPARATORS) + "\n")
    except (OSError, ValueError, IndexError, AttributeError) as error:
        raise UserError(f"not a PO file: {error}") from error
    found = [(message, spans, _inline(message)) for message, spans in _messages(text, entries)]
    texts = [(message, spans, inline, tagged) for message, spans, inline in found if (tagged := inline.finished())]
    end = "\r\n" if "\r\n" in text else "\n"

    def changes(translations: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        for (message, spans, inline, _), tagged in zip(texts, translations, strict=True):
            new = joined(inline.events(tagged))
            for span in spans if _same_placeholders(message, new) else []:
                yield (*span, _quoted(new, end))

    def write(translations: Sequence[str]) -> bytes:
        return encoded(spliced(text, sorted(changes(translations))), encoding)

    return Document([tagged for *_, tagged in texts], MARKUP, write)


def _messages(text: str, entries: Sequence[polib.POEntry]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Each message to be translated, and where its translations belong."""
    starts = [match.start() for match in _LINE_START.finditer(text)]
    lows = [starts[max(0, entry.linenum - 1)] for entry in entries]
    for entry, low, high in zip(entries, lows, [*lows, len(text)][1:], strict=True):
        if entry.obsolete or entry.msgstr or any(entry.msgstr_plural.values()):
            continue
        empty = list(_EMPTY.finditer(text, low, high))
        count = len(empty) if not entry.msgid_plural else int(len(empty) > 1)
        yield entry.msgid, [one.span(2) for one in empty[:count]]
        if entry.msgid_plural:
            yield entry.msgid_plural, [one.span(2) for one in empty[count:]]


def _inline(message: str) -> Inline:
    inline, position = Inline(), 0
    for match in _MARK.finditer(message):
        inline.add_text(message[position : match.start()])
        position = match.end()
        if match["tag"]:
            inline.add_tag(match[0])
        else:
            keeps_order = _ORDERED.search(match[0]) is not None
            inline.add_point(match[0], keeps_order=keeps_order, splits=match["gap"] is not None)
    inline.add_text(message[position:])
    return inline


def _same_placeholders(source: str, target: str) -> bool:
    """Whether both have the same ones, those by position in the same order, and no other percent signs."""
    found, there = _PLACEHOLDER.findall(source), _PLACEHOLDER.findall(target)
    signs, signs_there = (_PLACEHOLDER.sub("", text).count("%") for text in (source, target))
    in_order = list(filter(_ORDERED.fullmatch, found)) == list(filter(_ORDERED.fullmatch, there))
    return Counter(found) == Counter(there) and signs == signs_there and in_order


def _quoted(text: str, end: str) -> str:
    """The text as strings of a PO file, one for each of its lines."""
    lines = [f'"{polib.escape(line)}"' for line in re.findall(r"[^\n]*\n|[^\n]+", text)] or ['""']
    return lines[0] if len(lines) == 1 else end.join(['""', *lines])
