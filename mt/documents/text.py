"""Plain text, line by line, and HTML, whose tags `markup` knows."""

import re
from collections.abc import Sequence

from mt.documents.document import CHARSET, Document, decoded, encoded
from mt.documents.inline import spliced
from mt.documents.tags import Markup

_READ_BY_BROWSERS = {"iso-8859-1": "windows-1252", "us-ascii": "windows-1252"}  # as what has more characters
_STRETCH = re.compile(r"(?:[^\t\r\n\f\v ]++|[ ]{1,2}(?![ ]))++")


def parse_text(data: bytes) -> Document:
    """Each line, and each column that tabs or wide spaces separate, is by itself. Raises UserError."""
    text, encoding = decoded(data)
    found = [match for match in _STRETCH.finditer(text) if any(map(str.isalpha, match[0]))]

    def write(translations: Sequence[str]) -> bytes:
        changes = [(*match.span(), new) for match, new in zip(found, translations, strict=True)]
        return encoded(spliced(text, changes), encoding)

    return Document([match[0] for match in found], None, write)


def parse_html(data: bytes) -> Document:
    """The whole page. A character that its encoding lacks becomes a reference. Raises UserError."""
    text, encoding = decoded(data, rb"<meta\b[^>]*?" + CHARSET, _READ_BY_BROWSERS)
    return Document([text], Markup(html=True), lambda texts: encoded(texts[0], encoding, "xmlcharrefreplace"))
