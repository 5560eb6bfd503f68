"""A file to be translated: what each format gives, and the sentences in it."""

import codecs
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from mt.documents.markup import MarkedText
from mt.documents.passages import PlainText, sentence_spans
from mt.documents.tags import Markup, plain_text
from mt.errors import UserError
from mt.translation.segments import Translation

CHARSET = rb"charset\s*=\s*[\"']?((?:utf|iso|windows|koi8|euc|shift|gb|big5|cp|us-ascii)[\w-]*)"
_HEAD_BYTES = 4096
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16"}


@dataclass(frozen=True)
class Document:
    """The texts of a file, with tags as `markup` says or without any, and how the file is written with others."""

    texts: Sequence[str]
    markup: Markup | None
    write: Callable[[Sequence[str]], bytes]
    """Takes one translation for each text."""
    unpacked_bytes: int = 0
    """What `write` keeps of an archive."""


class Work:
    """The sentences of a document, and the document that their translations make."""

    def __init__(self, document: Document, language: str) -> None:
        """Find the sentences. Raises UserError for elements too deep inside each other."""
        self._document = document
        self._passages = [passage(text, document.markup, language) for text in document.texts]
        self.sentences = [sentence for one in self._passages for sentence in one.sentences]

    def written(self, translations: Sequence[Translation], separator: str) -> bytes:
        """The file, given each sentence's translation with its alignment; where that is empty, the sentence stays."""
        pairs = zip(self.sentences, translations, strict=True)
        left = iter([one if one.text.strip() else _untranslated(sentence) for sentence, one in pairs])
        texts = [one.rebuilt(list(islice(left, len(one.sentences))), separator) for one in self._passages]
        return self._document.write(texts)


def _untranslated(sentence: str) -> Translation:
    return Translation(sentence, 0.0, [], alignment=[(number, number) for number in range(len(sentence.split()))])


def passage(
    text: str, markup: Markup | None, language: str, *, split_lines: bool = True, split_sentences: bool = True
) -> PlainText | MarkedText:
    """A text in its sentences; in HTML a line break is a space. Raises UserError as `MarkedText` does."""
    at_lines = split_lines and not (markup is not None and markup.html)
    spans = partial(sentence_spans, language=language, at_lines=at_lines, at_sentences=split_sentences)
    return PlainText(text, spans(text)) if markup is None else MarkedText(text, markup, spans)


def sample(document: Document, characters: int = 2000) -> str:
    """Text of the document without tags, such as its language is recognised by."""
    found = ""
    for text in document.texts:
        found += " " + (text if document.markup is None else plain_text(text))
        if len(found) > characters:
            break
    return found


def decoded(data: bytes, declaration: bytes | None = None, aliases: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Text and its encoding: by a byte order mark, a `declaration` at the beginning, else UTF-8. Raises UserError.

    A declaration is a regular expression, for formats that have one; its group is the name. Where the data is
    not in that encoding, the one is meant that `aliases` has for it.
    """
    declared = re.search(declaration, data[:_HEAD_BYTES], re.IGNORECASE) if declaration else None
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    encoding = marked or (declared[1].decode() if declared else "utf-8")
    tries = [encoding, (aliases or {}).get(encoding.lower(), encoding)]
    if re.search(rb"[\x80-\x9f]", data):  # control characters in Latin-1, so the alias is meant
        tries.reverse()
    for tried in tries:
        with contextlib.suppress(UnicodeError, LookupError):
            text = data.decode(tried)
            if encoded(text, tried) == data:
                return text, tried
    raise UserError(f"not {encoding.upper()} text: convert it, such as with iconv -f latin1 -t utf-8")


def encoded(text: str, encoding: str, errors: str = "strict") -> bytes:
    """The text in the encoding of its document. Raises UserError for a character that it lacks."""
    try:
        return text.encode(encoding, errors)
    except UnicodeEncodeError as error:
        lacking = error.object[error.start]
        raise UserError(f"the document is in {encoding}, which lacks {lacking!r}: convert it to UTF-8 first") from error
