"""Tags of HTML and XML: where they are in a text, and what they mean."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

_BLOCKS = (
    "address article aside blockquote body br button caption center col colgroup dd details dialog div dl dt fieldset "
    "figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe input label legend li "
    "link main meta nav ol optgroup option p pre section select summary table tbody td textarea tfoot th thead title "
    "tr ul video"
)
_VOID = "area base br col embed hr img input link meta param source track wbr"
_UNTRANSLATED = "code kbd pre samp script style svg math textarea var"
_OPTED_OUT = re.compile(r"""\s(?:translate\s*=\s*["']?no\b|class\s*=\s*["'][^"']*\bnotranslate\b)""", re.IGNORECASE)
TAG = re.compile(
    r"""
    (?P<verbatim> <!--.*?(?:-->|\Z) | <!\[CDATA\[.*?(?:\]\]>|\Z) | <\?.*?(?:\?>|\Z) | <![a-z\[][^<>]*+>
                | <(?P<raw>script|style)\b.*?(?:</(?P=raw)\s*>|\Z) )
    | </(?P<close>[^\s<>/]++)\s*>
    | <(?P<open>[a-z_][^\s<>/]*+)(?:[^<>"'/]++|"[^"]*+"|'[^']*+'|/(?!>))*+(?P<empty>/)?>
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_BEFORE_SLASH = " \t\r\n\f\"'"


@dataclass(frozen=True)
class Markup:
    """What tags mean: those of HTML, or of XML, where `ignored` and `splitting` name the special ones."""

    html: bool
    ignored: frozenset[str] = frozenset()
    splitting: frozenset[str] = frozenset()

    def ends_block(self, name: str) -> bool:
        """Whether a tag of that name ends a sentence."""
        return name in self.splitting or (self.html and name.lower() in _BLOCKS.split())

    def is_empty(self, tag: re.Match[str]) -> bool:
        """Whether a tag has no end tag."""
        slash, name = tag["empty"] is not None, tag["open"] or tag["close"] or ""
        if self.html and slash:  # it may be the end of a value without quotes
            slash = tag.end("open") == tag.start("empty") or tag[0][-3] in _BEFORE_SLASH
        return slash or (self.html and name.lower() in _VOID.split())

    def is_untranslated(self, name: str, tag: str) -> bool:
        """Whether an element with that start tag stays as it is."""
        opted_out = self.html and (name.lower() in _UNTRANSLATED.split() or _OPTED_OUT.search(tag) is not None)
        return opted_out or name in self.ignored


def plain_text(text: str) -> str:
    """The text without its tags, such as a language is recognised by."""
    return html.unescape(TAG.sub(" ", text))


def structure(texts: Iterable[str]) -> frozenset[str]:
    """The names of the elements of XML that have no text next to them in their parents, as paragraphs and titles."""
    contents: list[set[str]] = []  # of each element, the names in it, and "" for text
    for text in texts:
        contents.append(set())
        parents, position = [contents[-1]], 0
        for match in TAG.finditer(text):
            if text[position : match.start()].strip():
                parents[-1].add("")
            position = match.end()
            if match["open"]:
                parents[-1].add(match["open"])
                if match["empty"] is None:
                    contents.append(set())
                    parents.append(contents[-1])
            elif match["close"] and len(parents) > 1:
                parents.pop()
        if text[position:].strip():
            parents[-1].add("")
    inline = set().union(*(names for names in contents if "" in names))
    return frozenset(set().union(*contents) - inline)
