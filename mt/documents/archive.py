"""Zip archives of XML files, such as DOCX: unpacked within limits, and packed again with some files changed."""

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

from lxml import etree

from mt.errors import UserError

MOST_FILES = 10_000
MOST_BYTES = 1 << 27  # of all files, unpacked
MOST_XML_BYTES = 1 << 24  # of all XML that is read
_DAMAGE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError, zlib.error)


class Archive:
    """The files of a zip archive, in their order."""

    def __init__(self, data: bytes) -> None:
        """Unpack it. Raises UserError for what is damaged, encrypted, or larger than the limits when unpacked."""
        self._files: list[tuple[zipfile.ZipInfo, bytes]] = []
        left = MOST_BYTES
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for info in archive.infolist()[: MOST_FILES + 1]:
                    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                        raise ValueError("compressed in a way that no Word document is")  # and that has no limit
                    with archive.open(info) as file:
                        self._files.append((info, file.read(left + 1)))
                    left -= len(self._files[-1][1])
                    if left < 0 or len(self._files) > MOST_FILES:
                        limits = f"{MOST_FILES:,} files or {MOST_BYTES >> 20} MiB"
                        raise UserError(f"more than {limits} when it is unpacked")
        except _DAMAGE as error:
            raise UserError(f"damaged or encrypted: {error}") from error
        self.unpacked_bytes = MOST_BYTES - left

    def trees(self, names: re.Pattern[str]) -> dict[str, Any]:
        """The XML files of such names. Raises UserError for XML that is damaged, too large, or has a DOCTYPE."""
        found = {info.filename: content for info, content in self._files if names.fullmatch(info.filename)}
        if sum(map(len, found.values())) > MOST_XML_BYTES:
            raise UserError(f"more than {MOST_XML_BYTES >> 20} MiB of text and tags")
        return {name: _tree(name, content) for name, content in found.items()}

    def packed(self, trees: Mapping[str, Any]) -> bytes:
        """The archive with these files instead of those of the same names."""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for info, content in self._files:
                copied = zipfile.ZipInfo(info.filename, info.date_time)
                stored = info.compress_type == zipfile.ZIP_STORED
                copied.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                copied.external_attr = info.external_attr
                tree = trees.get(info.filename)
                archive.writestr(copied, content if tree is None else _written(tree))
        return stream.getvalue()


def _tree(name: str, content: bytes) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        tree = etree.fromstring(content, parser).getroottree()
    except etree.XMLSyntaxError as error:
        raise UserError(f"damaged: {name}: {error}") from error
    if tree.docinfo.doctype:  # what it declares would be used as text
        raise UserError(f"damaged: {name} has a DOCTYPE")
    return tree


def _written(tree: Any) -> bytes:
    written: bytes = etree.tostring(
        tree, xml_declaration=True, encoding=tree.docinfo.encoding or "UTF-8", standalone=tree.docinfo.standalone
    )
    return written
