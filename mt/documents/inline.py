"""Text whose format marks words in its own way, as text with the tags that `markup` returns to their words."""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from mt.data.untranslatable import ADDRESS
from mt.documents.tags import Markup

MARKUP = Markup(html=False, splitting=frozenset({"s"}))
# Of HTML; the names of other blocks are those of components in messages too, such as <link> and <button>.
_BLOCKS = "p div br hr ul ol li dl dt dd h1 h2 h3 h4 h5 h6 table tr td th blockquote pre"
_ADDRESS = re.compile(ADDRESS)
_ELEMENT = re.compile(r"<(?P<close>/)?(?P<name>[a-z][\w:-]*+)[^<>]*?(?P<empty>/)?>", re.IGNORECASE)
_TAG = re.compile(r'<(/?)([gsx])(?: i="(\d+)")?/?>')
Event = tuple[Literal["text", "open", "close", "point"], Any]


class Inline:
    """Text and marks in their order. A mark is what the format writes there, such as `**` or a run's properties."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._marks: list[tuple[Any, bool]] = []  # and whether it stays in its order among such marks
        self._closings: dict[int, Any] = {}
        self._open: list[tuple[str, int, int]] = []  # the name, the part and the mark of what did not end yet
        self.letters = 0

    def add_text(self, text: str, marks: re.Pattern[str] = _ADDRESS) -> None:
        """Text; what `marks` finds in it, such as addresses of pages and mail, is not translated."""
        position = 0
        for match in marks.finditer(text):
            self._add_words(text[position : match.start()])
            self.add_point(match[0], keeps_order=False)
            position = match.end()
        self._add_words(text[position:])

    def _add_words(self, text: str) -> None:
        self._parts.append(html.escape(text, quote=False))
        self.letters += sum(map(str.isalpha, text))

    def add_point(self, mark: Any, *, keeps_order: bool = True, splits: bool = False) -> None:
        """A mark without words, which may end the sentence. Those that keep their order do so in any translation."""
        self._parts.append(f'<{"s" if splits else "x"} i="{len(self._marks)}"/>')
        self._marks.append((mark, keeps_order))

    def open(self, mark: Any, name: str) -> None:
        """Begin what `close` with the same name ends."""
        self._open.append((name, len(self._parts), len(self._marks)))
        self._parts.append(f'<g i="{len(self._marks)}">')
        self._marks.append((mark, False))

    def close(self, mark: Any, name: str) -> None:
        """End it; what began later and did not end, and an end without a beginning, are points."""
        if name not in [each for each, _, _ in self._open]:
            self.add_point(mark)
            return
        while self._open[-1][0] != name:
            self._give_up()
        self._closings[self._open.pop()[2]] = mark
        self._parts.append("</g>")

    def add_tag(self, tag: str) -> None:
        """A tag as HTML and XML have them, or something else that is a point."""
        match = _ELEMENT.fullmatch(tag)
        ends_block = match is not None and match["name"].lower() in _BLOCKS.split()
        if match is None or match["empty"] or ends_block:
            self.add_point(tag, splits=ends_block)
        else:
            (self.close if match["close"] else self.open)(tag, f"<{match['name'].lower()}>")

    def _give_up(self) -> None:
        _, part, number = self._open.pop()
        self._parts[part] = f'<x i="{number}"/>'
        self._marks[number] = (self._marks[number][0], True)

    def finished(self) -> str:
        """The text with tags; empty where it has no letter, and so nothing to translate."""
        while self._open:
            self._give_up()
        return "".join(self._parts) if self.letters else ""

    def events(self, translated: str) -> Iterator[Event]:
        """The translated text and the marks in it, in their order."""
        tags = list(_TAG.finditer(translated))
        numbers = sorted(int(tag[3]) for tag in tags if tag[3])
        ordered = (self._marks[number][0] for number in numbers if self._marks[number][1])
        position, opened = 0, list[int]()
        for tag in tags:
            yield "text", html.unescape(translated[position : tag.start()])
            position = tag.end()
            if tag[1]:
                yield "close", self._closings[opened.pop()]
                continue
            mark, keeps_order = self._marks[int(tag[3])]
            if tag[2] == "g":
                opened.append(int(tag[3]))
            yield "open" if tag[2] == "g" else "point", next(ordered) if keeps_order else mark
        yield "text", html.unescape(translated[position:])


def joined(events: Iterable[Event]) -> str:
    """Marks that are text, and the text between them; there are no spaces of the translation around a line break."""
    parts = (f"\0{value}\0" if kind == "point" and "\n" in value else value for kind, value in events)
    return re.sub("(?:(?<! ) ++)?\0([^\0]*)\0 *", r"\1", "".join(parts))


def spliced(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text with some stretches, ascending, replaced."""
    parts, position = [], 0
    for start, end, new in changes:
        parts += [text[position:start], new]
        position = end
    return "".join([*parts, text[position:]])
