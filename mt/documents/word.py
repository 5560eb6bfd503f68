"""DOCX: the paragraphs of the text, of notes, headers and footers; a change of format is an inline element.

Runs of one format are one, so that words are whole. What is most of a paragraph needs no element. Tabs, line breaks
and the ends of fields end a sentence. Pictures, bookmarks and deleted text are marks without words.
"""

import copy
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lxml import etree

from mt.documents.archive import Archive
from mt.documents.document import Document
from mt.documents.inline import MARKUP, Inline
from mt.errors import UserError

_TEXTS = re.compile(r"word/(document\d*|footnotes|endnotes|header\d*|footer\d*)\.xml")
_MAIN = re.compile(r"http://(schemas\.openxmlformats\.org/.*|purl\.oclc\.org/ooxml/wordprocessingml)/main")
_CONTAINERS = {"hyperlink", "ins", "moveTo", "smartTag", "customXml", "sdt", "dir", "bdo"}
_SPLITTING = {"tab", "ptab", "br", "cr", "fldChar"}
_UNSEEN = {"lang", "noProof"}  # in a format
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def parse_docx(data: bytes) -> Document:
    """A paragraph is a text. Raises UserError as `Archive` does, and for an archive without a Word document."""
    archive = Archive(data)
    trees = archive.trees(_TEXTS)
    roots = [tree.getroot() for tree in trees.values()]
    if not any(_MAIN.fullmatch(root.nsmap.get(root.prefix) or "") for root in roots):
        raise UserError("not a Word document (DOCX)")
    found = [_Paragraph(each) for root in roots for each in root.iter(f"{{{root.nsmap.get(root.prefix)}}}p")]
    paragraphs = [one for one in found if one.tagged]

    def write(translations: Sequence[str]) -> bytes:
        for one, new in zip(paragraphs, translations, strict=True):
            one.write(new)
        return archive.packed(trees)

    return Document([one.tagged for one in paragraphs], MARKUP, write, archive.unpacked_bytes)


def _name(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


class _Paragraph:
    """The runs of a paragraph as inline text; a format is the properties of a run, as XML."""

    def __init__(self, element: Any) -> None:
        self._element, self._inline = element, Inline()
        self._prefix = element.tag.removesuffix("p")
        lengths: Counter[str] = Counter()
        self._properties: dict[str, Any] = {}
        name = f"{self._prefix}r"
        for run in element.findall(name) or element.iter(name):
            lengths[self._format_of(run)] += sum(len(each.text or "") for each in run.iter(f"{self._prefix}t"))
        self._usual = self._format = lengths.most_common(1)[0][0] if lengths else ""
        self._read(element)
        self._change_format(self._usual)
        self.tagged = self._inline.finished()

    def _format_of(self, run: Any) -> str:
        properties = run.find(f"{self._prefix}rPr")
        seen = [] if properties is None else [each for each in properties if _name(each) not in _UNSEEN]
        key = "".join(etree.tostring(each, encoding="unicode") for each in seen)
        self._properties.setdefault(key, properties)
        return key

    def _change_format(self, wanted: str) -> None:
        if self._format not in (wanted, self._usual):
            self._inline.close(None, "format")
        if wanted not in (self._format, self._usual):
            self._inline.open(wanted, "format")
        self._format = wanted

    def _read(self, element: Any, depth: int = 0) -> None:
        for child in element:
            name = _name(child)
            if name == "r":
                self._read_run(child)
            elif name in _CONTAINERS:
                self._change_format(self._usual)
                self._inline.open(child, f"container {depth}")
                self._read(self._inside(child), depth + 1)
                self._change_format(self._usual)
                self._inline.close(None, f"container {depth}")
            elif not name.endswith("Pr"):
                self._inline.add_point((child, False))

    def _inside(self, container: Any) -> Any:
        """The element with the content; a container without that is its own."""
        content = container.find(f"{self._prefix}sdtContent")
        return container if content is None else content

    def _read_run(self, run: Any) -> None:
        wanted = self._format_of(run)
        for child in run:
            name = _name(child)
            if name in ("rPr", "softHyphen"):
                continue
            self._change_format(wanted)
            if name in ("t", "noBreakHyphen"):
                self._inline.add_text("\u2011" if name == "noBreakHyphen" else child.text or "")
            else:
                self._inline.add_point((child, True), splits=name in _SPLITTING)

    # -------------------------------------------------------------------------------- the translation

    def write(self, tagged: str) -> None:
        """Put the translation into the paragraph."""
        events = list(self._inline.events(tagged))
        self._clear(self._element)
        stack = [(self._element, self._usual)]
        for kind, value in events:
            parent, form = stack[-1]
            if kind == "close":
                stack.pop()
            elif kind == "open" and isinstance(value, str):
                stack.append((parent, value))
            elif kind == "open":
                self._clear(self._inside(value))
                parent.append(value)
                stack.append((self._inside(value), form))
            elif isinstance(value, str):
                self._append_text(parent, form, _ILLEGAL.sub("", value))
            else:
                element, needs_run = value
                (self._new_run(parent, form) if needs_run else parent).append(element)

    def _clear(self, element: Any) -> None:
        for child in list(element):
            if not _name(child).endswith("Pr"):
                element.remove(child)

    def _new_run(self, parent: Any, form: str) -> Any:
        run = etree.SubElement(parent, f"{self._prefix}r")
        properties = self._properties.get(form)
        if properties is not None:
            run.append(copy.deepcopy(properties))
        return run

    def _append_text(self, parent: Any, form: str, text: str) -> None:
        if text:
            written = etree.SubElement(self._new_run(parent, form), f"{self._prefix}t")
            written.text = text
            written.set(_SPACE, "preserve")
