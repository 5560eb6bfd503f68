"""Markdown: the text of paragraphs, headings and table cells. Code, addresses, HTML and front matter stay as they are.

markdown-it finds the blocks and their inline parts; every character outside the text is taken from the file. A
translated block is parsed again. Where it would not have the parts of the source, such as an emphasis that ends behind
a space, it is tried without line breaks and with escaped characters, and else left as it is.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise, product
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mt.data.untranslatable import ADDRESS
from mt.documents.document import Document, decoded, encoded
from mt.documents.inline import MARKUP, Inline, joined, spliced

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n.*?^(?:\1|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\n|\r")
_KINDS = {"paragraph_open": "{}", "heading_open": "# {}", "th_open": "| {} |\n|-|", "td_open": "| {} |\n|-|"}
_UNTRANSLATED = re.compile(ADDRESS + r"|\[\^[^\[\]]*\]|^\[[ xX]\]|\{\{[^{}]*\}\}|\{%[^{}]*%\}|\{[#.:][^{}]*\}")
_DIRECTIVE = re.compile(r"\[![A-Za-z]+\]|:::.*")  # GitHub's alerts, containers of Docusaurus and VitePress
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&]")
_BREAK = re.compile(r"[ ]*\\?\n[ \t]*")
_DESTINATION = r"(?:<[^<>\n]*>|(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))*)"
_TITLE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\))"""
_WHOLE_LINK = re.compile(r"<[^<>]*>|\[\^[^\[\]]*\]")  # also a footnote
_LINK_END = re.compile(rf"\](?:\(\s*+{_DESTINATION}(?:\s++{_TITLE})?\s*+\)|\[(?:[^\[\]\\]|\\.)*\])?", re.DOTALL)
_IMAGE = re.compile(rf"!\[(?:[^\[\]\\]|\\.|\[[^\[\]]*\])*(?:{_LINK_END.pattern})", re.DOTALL)

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")  # escapes stay apart


class _NotFoundError(Exception):
    """A part of a block is not where it is expected."""


def parse_markdown(data: bytes) -> Document:
    """Each block that has text is a text. Raises UserError."""
    text, encoding = decoded(data)
    front = _FRONT_MATTER.match(text)
    parsed = text if front is None else "\n" * len(_LINE_END.findall(front[0])) + text[front.end() :]
    environment: dict[str, Any] = {}
    tokens = _PARSER.parse(parsed, environment)
    starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    found = list(_blocks(text, starts, tokens, environment))
    blocks = [block for block in found if block.tagged]

    def write(translations: Sequence[str]) -> bytes:
        changes = [(*one.span, one.translated(new)) for one, new in zip(blocks, translations, strict=True)]
        return encoded(spliced(text, changes), encoding)

    return Document([block.tagged for block in blocks], MARKUP, write)


def _blocks(text: str, starts: list[int], tokens: list[Token], environment: dict[str, Any]) -> Iterator["_Block"]:
    position = 0  # in a table several blocks are on one line
    for before, token in pairwise(tokens):
        if token.type != "inline" or before.type not in _KINDS or not token.map:
            continue
        cells = before.type in ("th_open", "td_open")
        if cells and "|" in token.content:  # which has a backslash in the file: the cell stays as it is
            written = token.content.replace("|", r"\|")
            found = text.find(written, max(position, starts[token.map[0]]))
            position = position if found < 0 else found + len(written)
            continue
        offsets: list[int] = []  # of each line of the block's content
        for number, line in enumerate(token.content.split("\n"), start=token.map[0]):
            low, high = starts[number : number + 2]
            offsets.append(text.find(line, max(position, low), high) if cells else text.rfind(line, low, high))
        if -1 not in offsets:
            position = offsets[-1] + len(token.content.split("\n")[-1])
            try:
                yield _Block(text, offsets, token, _KINDS[before.type], environment)
            except _NotFoundError:
                continue


class _Block:
    """The content of a block: `offsets` are where its lines begin in the file; without their indentation or `>`."""

    def __init__(self, text: str, offsets: list[int], token: Token, template: str, environment: dict[str, Any]) -> None:
        """Find the inline parts. Raises _NotFoundError."""
        self._content, self._template, self._environment = token.content, template, environment
        self._file, self._offsets = text, offsets
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", self._content))]
        self._inline, self._position = Inline(), 0
        self._written_as: dict[str, str] = {}  # characters that are escaped in the source
        self._links: list[tuple[int, int]] = []  # where each begins, and the letters before
        self._skips = False  # what is in a link that was taken as a whole
        for child in token.children or []:
            if not self._skips:
                self._add(child)
            self._skips = self._skips and child.type != "link_close"
        if self._content[self._position :].strip():
            raise _NotFoundError
        self.span = (offsets[0], self._offset(len(self._content)))
        beginnings = {text[self._offset(start - 1) : self._offset(start)] for start in self._line_starts[1:]}
        self._beginnings = sorted(beginnings, key=len, reverse=True)  # of lines, which are not in the content
        self.tagged = self._inline.finished()

    def _offset(self, position: int) -> int:
        """Where a position in the content is in the file."""
        line = bisect_right(self._line_starts, position) - 1
        return self._offsets[line] + position - self._line_starts[line]

    def _take(self, part: str | re.Pattern[str]) -> str:
        """The next part of the content as it is in the file, with the beginning of lines."""
        pattern = re.compile(re.escape(part)) if isinstance(part, str) else part
        match = pattern.match(self._content, self._position)
        if match is None:
            raise _NotFoundError
        start, self._position = self._position, match.end()
        return self._file[self._offset(start) : self._offset(self._position)]

    def _add(self, token: Token) -> None:
        inline = self._inline
        if token.type == "text" and _DIRECTIVE.fullmatch(token.content):
            inline.add_point(self._take(token.content), splits=True)
        elif token.type == "text":
            inline.add_text(self._take(token.content), _UNTRANSLATED)
        elif token.type == "text_special":
            self._take(token.markup)
            self._written_as[token.content] = token.markup
            inline.add_text(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            inline.add_text(" ")
            inline.add_point(self._take(_BREAK), splits=token.type == "hardbreak")
        elif token.type == "code_inline":
            fence = re.escape(token.markup)
            whole = re.compile(rf"{fence}(?!`).*?(?<!`){fence}(?!`)", re.DOTALL)
            inline.add_point(self._take(whole), keeps_order=False)
        elif token.type == "image":
            inline.add_point(self._take(_IMAGE), keeps_order=False)
        elif token.type == "html_inline":
            inline.add_tag(self._take(token.content))
        elif token.type in ("link_open", "link_close"):
            self._add_link(token)
        elif token.type.endswith("_open"):
            inline.open(self._take(token.markup), token.tag)
        elif token.type.endswith("_close"):
            inline.close(self._take(token.markup), token.tag)
        else:
            raise _NotFoundError

    def _add_link(self, token: Token) -> None:
        if token.type == "link_open" and _WHOLE_LINK.match(self._content, self._position):
            self._inline.add_point(self._take(_WHOLE_LINK), keeps_order=False)
            self._skips = True
        elif token.type == "link_open":
            self._links.append((self._position + 1, self._inline.letters))
            self._inline.open(self._take("["), "link")
        else:
            start, letters = self._links.pop()
            label = " ".join(self._content[start : self._position].split())
            end = self._take(_LINK_END)
            if end in ("]", "][]") and self._inline.letters > letters:  # the text is also the label of the address
                end = f"][{label}]"
            self._inline.close(end, "link")

    # -------------------------------------------------------------------------------- the translation

    def translated(self, tagged: str) -> str:
        """The block with its translation, or as it is where no form of that has the same parts."""
        events = list(self._inline.events(tagged))
        wanted = self._parts(self._content)
        for escape, breaks in product((self._escape_as_source, self._escape_all), (True, False)):
            changed = [(kind, escape(value) if kind == "text" else value) for kind, value in events]
            if not breaks:
                changed = [(kind, " " if kind == "point" and value.strip() == "" else value) for kind, value in changed]
            new = joined(iter(changed))
            content = reduce(lambda text, beginning: text.replace(beginning, "\n"), self._beginnings, new)
            if self._parts(content) == wanted and all(map(str.strip, content.split("\n"))):
                return new
        return self._file[slice(*self.span)]

    def _escape_as_source(self, text: str) -> str:
        return "".join(self._written_as.get(character, character) for character in text)

    def _escape_all(self, text: str) -> str:
        return _SPECIAL.sub(r"\\\g<0>", text)

    def _parts(self, content: str) -> list[str]:
        """What there is besides text, sorted."""
        tokens = _PARSER.parse(self._template.format(content), dict(self._environment))
        inline = [child for token in tokens for child in token.children or []]
        seen = [one for one in [*tokens, *inline] if one.type not in ("inline", "text", "text_special", "softbreak")]
        return sorted(f"{one.type} {one.tag} {one.markup} {one.attrs} {one.content}" for one in seen)
