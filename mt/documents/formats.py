"""The formats of documents, by the ending of a file's name."""

from collections.abc import Callable

from mt.documents.document import Document
from mt.documents.gettext import parse_po
from mt.documents.markdown import parse_markdown
from mt.documents.subtitles import parse_subtitles
from mt.documents.text import parse_html, parse_text
from mt.documents.word import parse_docx
from mt.errors import UserError

FORMATS: dict[str, tuple[Callable[[bytes], Document], str]] = {  # and its media type
    ".docx": (parse_docx, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ".htm": (parse_html, "text/html"),
    ".html": (parse_html, "text/html"),
    ".markdown": (parse_markdown, "text/markdown"),
    ".md": (parse_markdown, "text/markdown"),
    ".po": (parse_po, "text/x-gettext-translation"),
    ".srt": (parse_subtitles, "application/x-subrip"),
    ".txt": (parse_text, "text/plain"),
    ".vtt": (parse_subtitles, "text/vtt"),
}


def ending_of(name: str) -> str:
    """The ending of a file's name by which its format is known. Raises UserError for a format that is not."""
    ending = "." + name.rpartition(".")[2].lower()
    if ending not in FORMATS:
        raise UserError(f"not a document that can be translated; its name must end in one of {' '.join(FORMATS)}")
    return ending


def parse(name: str, data: bytes) -> Document:
    """The document in a file of that name. Raises UserError for an unknown format and for what the format is not."""
    try:
        return FORMATS[ending_of(name)][0](data)
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
