"""Text with tags: the plain text is translated, and the tags return by the word alignments.

As in Bergamot, each target word takes the elements of the source word that it is aligned to. Every element returns
once, around the longest run of such words, so that what was balanced stays so and nothing is lost; an element without
any, such as an image, returns behind the word before it. Comments, code and what must not be translated are elements
without words. Tags that end a block, such as `</p>` or `<br>`, end the sentence too, and so does a link
right behind another.
"""

import bisect
import html
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice

from mt.documents.passages import Span, gap_between
from mt.documents.tags import TAG, Markup
from mt.errors import UserError
from mt.translation.segments import Translation

DEEPEST = 100  # elements inside each other
_WORD = re.compile(r"\S+")
# A number or mark without letters in an element of its own, which may be in others: a footnote, an exponent.
_NOTE = re.compile(r"((?:<[^<>/][^<>]{0,200}>){0,3})(?!\s)((?:[^\w<>&]|\d){1,9})((?:</[^<>]{1,20}>){1,4})")
_NOTES = ("sup", "sub", "a")
_BEFORE_NOTE = ".,;:!?)]»”’\"'"

# Where elements end whose end tag is left out: at these tags, or where the list or table ends that they are in.
_AROUND = frozenset(["ul", "ol", "dl", "table", "select", "div", "section", "article", "blockquote", "body"])
_ENDS_AT = {
    "p": _AROUND | frozenset(["p", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "pre"]),
    "li": frozenset({"li"}),
    "tr": frozenset({"tr"}),
    "option": frozenset({"option", "optgroup"}),
    **dict.fromkeys(("dt", "dd"), frozenset({"dt", "dd"})),
    **dict.fromkeys(("td", "th"), frozenset({"td", "th", "tr"})),
}

Spans = Callable[[str], Sequence[Span]]


@dataclass(eq=False)
class _Element:
    """An element of a block, or something verbatim; `start` and `end` count characters of the block's text."""

    opening: str
    start: int
    parent: "_Element | None"
    closing: str = ""
    end: int = 0
    children: list["_Element"] = field(default_factory=list)
    keeps_order: bool = False
    """A tag without its partner in this block, which is in another one."""
    arranged: list["_Element"] = field(default_factory=list)
    """The children in the order of the translation."""
    low: int = 0
    high: int = 0
    """The target words that the element is put around."""


@dataclass(frozen=True)
class _Word:
    """A word, or the punctuation at one of its ends; `part` counts these from 0 to 2."""

    text: str
    sentence: int
    number: int
    part: int
    start: int = 0


def _is_of_word(character: str) -> bool:
    """Whether it is a letter, a digit, or a mark on one, such as a vowel sign."""
    return unicodedata.category(character)[0] in "LNM"


def _words(text: str, sentence: int, offset: int = 0) -> Iterator[_Word]:
    for number, match in enumerate(_WORD.finditer(text)):
        word, start = match[0], offset + match.start()
        low, high = 0, len(word)
        while high > 0 and not _is_of_word(word[high - 1]):
            high -= 1
        while low < high and not _is_of_word(word[low]):
            low += 1
        parts = (word[:low], word[low:high], word[high:]) if high else ("", word, "")
        for part, written in enumerate(parts):
            if written:
                yield _Word(written, sentence, number, part, start)
            start += len(written)


class MarkedText:
    """A text with markup: its sentences, and how it is built again of their translations."""

    def __init__(self, text: str, markup: Markup, spans: Spans) -> None:
        """Read the tags. Raises UserError for elements too deep inside each other."""
        self._parts: list[str | _Block] = list(_blocks(text, markup, spans))
        self.sentences = [sentence for part in self._parts if isinstance(part, _Block) for sentence in part.sentences]

    def rebuilt(self, translations: Sequence[Translation], separator: str) -> str:
        """The text with the sentences' translations, which have alignments."""
        left = iter(translations)
        return "".join(
            part if isinstance(part, str) else part.rebuilt(list(islice(left, len(part.sentences))), separator)
            for part in self._parts
        )


def _blocks(text: str, markup: Markup, spans: Spans) -> Iterator["str | _Block"]:
    """The text cut at the tags that end blocks; a block without words is verbatim."""
    block, start, position = _Block(), 0, 0

    def finished(end: int) -> "str | _Block":
        block.finish(spans)
        return block if block.sentences else text[start:end]

    while match := TAG.search(text, position):
        name = match["open"] or match["close"] or ""
        block.add_text(text[position : match.start()])
        position = match.end()
        alone = markup.is_empty(match)
        if match["open"] and not alone and markup.is_untranslated(name, match[0]):
            position, alone = _end_of_element(text, match, markup), True
        elif match["open"] and not alone and (end := _end_of_note(text, match, after=block.last)):
            position, alone = end, True
        tag = text[match.start() : position]
        is_link = markup.html and not alone and (match["open"] or "").lower() == "a"
        if is_link and text[max(start, match.start() - 4) : match.start()].lower() == "</a>":
            yield finished(match.start())
            block, start = _Block(), match.start()
        if markup.ends_block(name):
            yield finished(match.start())
            yield tag
            block, start = _Block(), position
        elif match["open"] and not alone:
            block.open(tag, name)
        elif match["close"]:
            block.close(tag, name)
        else:
            block.add_verbatim(tag)
    block.add_text(text[position:])
    yield finished(len(text))


def _end_of_element(text: str, opening: re.Match[str], markup: Markup) -> int:
    """Where the element that begins with this tag ends; at the end of the text where it never does."""
    depth, name, position, lists = 1, opening["open"].lower(), opening.end(), 0
    ends_at = _ENDS_AT.get(name, frozenset()) if markup.html else frozenset()
    while match := TAG.search(text, position):
        position = match.end()
        opened, closed = (match["open"] or "").lower(), (match["close"] or "").lower()
        if ends_at and lists == 0 and (opened in ends_at or closed in _AROUND):
            return match.start()  # its end tag may be left out
        lists += (opened in _AROUND) - (closed in _AROUND)
        if closed == name:
            depth -= 1
        elif opened == name and not markup.is_empty(match):
            depth += 1
        if depth == 0:
            return position
    return len(text)


def _end_of_note(text: str, opening: re.Match[str], *, after: str) -> int | None:
    """Where the element ends that begins with this tag, if it is a note on the word before it, not a part of it."""
    of_word = after != "" and _is_of_word(after)
    if not (of_word or after in _BEFORE_NOTE) or (after.isdigit() and opening["open"].lower() not in _NOTES):
        return None
    note = _NOTE.match(text, opening.end())
    if note is None or not any(map(str.isdigit, note[2])) or text[note.end() : note.end() + 1].isalnum():
        return None
    names = [opening["open"], *re.findall(r"<([^\s<>/]+)", note[1])]
    closed = re.findall(r"</([^\s<>]+)", note[3])
    return note.end() if closed == names[::-1] else None


class _Block:
    """Inline content: text with elements that are nested in each other."""

    def __init__(self) -> None:
        self._root = _Element("", 0, None)
        self._open: list[tuple[str, _Element]] = [("", self._root)]
        self._text: list[str] = []
        self._owners: list[_Element] = []  # of each character, the innermost element
        self.text = ""
        self.spans: Sequence[Span] = ()
        self.sentences: list[str] = []

    def add_text(self, text: str) -> None:
        """Text with entities."""
        plain = html.unescape(text)
        if plain:
            self._text.append(plain)
        self._owners += [self._open[-1][1]] * len(plain)

    @property
    def last(self) -> str:
        """The last character of the text so far."""
        return self._text[-1][-1] if self._text else " "

    def add_verbatim(self, text: str, *, keeps_order: bool = False) -> _Element:
        """What comes back as it is, at the same point of the text."""
        position, parent = len(self._owners), self._open[-1][1]
        element = _Element(text, position, parent, end=position, keeps_order=keeps_order)
        parent.children.append(element)
        return element

    def open(self, tag: str, name: str) -> None:
        """An element begins."""
        if len(self._open) > DEEPEST:
            raise UserError(f"more than {DEEPEST} elements are inside each other")
        self._open.append((name.lower(), self.add_verbatim(tag)))

    def close(self, tag: str, name: str) -> None:
        """An element ends; those in it that did not end have no end."""
        names = [each for each, _ in self._open]
        if name.lower() not in names[1:]:
            self.add_verbatim(tag, keeps_order=True)
            return
        while self._open[-1][0] != name.lower():
            self._give_up(self._open.pop()[1])
        element = self._open.pop()[1]
        element.closing, element.end = tag, len(self._owners)

    def finish(self, spans: Spans) -> None:
        """All tags of the block are known."""
        while len(self._open) > 1:
            self._give_up(self._open.pop()[1])
        self.text = "".join(self._text)
        self.spans = spans(self.text)
        self.sentences = [" ".join(self.text[start:end].split()) for start, end in self.spans]

    def _give_up(self, element: _Element) -> None:
        """An element without an end tag here is a tag that stays between the words that it was between."""
        parent = element.parent
        assert parent is not None
        for child in element.children:
            child.parent = parent
        parent.children += element.children  # it is the last child of its parent
        element.children, element.keeps_order = [], True

    # ------------------------------------------------------------------------ the translated block

    def rebuilt(self, translations: Sequence[Translation], separator: str) -> str:
        """The block with the translations of its sentences."""
        source = [word for i, (low, high) in enumerate(self.spans) for word in _words(self.text[low:high], i, low)]
        target = [word for i, one in enumerate(translations) for word in _words(one.text, i)]
        parts = list(self._cut_at_elements(target, _aligned(source, target, translations)))
        target, aligned = [part for part, _ in parts], [origin for _, origin in parts]
        inside = defaultdict[_Element, list[int]](list)  # the target words that belong there, ascending
        for index, word in enumerate(aligned):
            element = None if word is None else self._innermost(word)
            while element is not None:
                inside[element].append(index)
                element = element.parent
        _arrange(self._root, inside, 0, len(target), _position_after(source, aligned))
        return _Writer(self.text, target, self._spaces(target, separator)).whole(self._root)

    def _cut_at_elements(
        self, target: Sequence[_Word], aligned: Sequence[_Word | None]
    ) -> Iterator[tuple[_Word, _Word | None]]:
        """The words with their source words, cut where an element begins or ends in a word that stayed the same."""
        for word, origin in zip(target, aligned, strict=True):
            if origin is None or word.text != origin.text:
                yield word, origin
                continue
            start = 0
            for _, owners in groupby(self._owners_of(origin)):
                text = word.text[start : start + len(list(owners))]
                yield replace(word, text=text), replace(origin, text=text, start=origin.start + start)
                start += len(text)

    def _owners_of(self, word: _Word) -> list[_Element]:
        """For each character of a source word, the innermost element around it."""
        return [self._resolved(owner) for owner in self._owners[word.start : word.start + len(word.text)]]

    def _innermost(self, word: _Word) -> _Element:
        """The innermost element around any character of a source word, of several that around the most."""
        owners = Counter(self._owners_of(word))
        return max(owners, key=lambda owner: (_depth(owner), owners[owner]))

    def _resolved(self, owner: _Element) -> _Element:
        while owner.keeps_order:
            assert owner.parent is not None
            owner = owner.parent
        return owner

    def _spaces(self, target: Sequence[_Word], separator: str) -> list[str]:
        """What is before each target word, and at the end."""
        ends = [0, *(end for _, end in self.spans)]
        gaps = [self.text[end:start] for end, (start, _) in zip(ends, self.spans, strict=False)]
        spaces, sentence, number = [], -1, -1
        for word in target:
            if word.sentence == sentence:
                spaces.append(" " if word.number != number else "")
            else:
                between = "".join(gaps[sentence + 1 : word.sentence + 1])
                spaces.append(gap_between(between, separator) if spaces else between)
            sentence, number = word.sentence, word.number
        return [*spaces, self.text[ends[-1] :]]


def _depth(element: _Element) -> int:
    depth = 0
    while element.parent is not None:
        depth, element = depth + 1, element.parent
    return depth


def _aligned(
    source: Sequence[_Word], target: Sequence[_Word], translations: Sequence[Translation]
) -> list[_Word | None]:
    """The source word of each target word, punctuation by itself; without a link, that of the word before."""
    links = [{target: source for source, target in one.alignment or []} for one in translations]
    words = {(word.sentence, word.number, word.part): word for word in source}
    found: list[_Word | None] = []
    for word in target:
        number = links[word.sentence].get(word.number)
        if number is not None:
            key = (word.sentence, number, word.part)
            found.append(words.get(key) or words.get((word.sentence, number, 1)))
        else:
            found.append(found[-1] if found else None)
    return found


def _position_after(source: Sequence[_Word], aligned: Sequence[_Word | None]) -> Callable[[int], int]:
    """For a character of the source, the number of target words before what comes there."""
    ends = {(word.sentence, word.number): index + 1 for index, word in enumerate(aligned) if word is not None}
    starts, positions = [word.start for word in source], [0]
    for word in source:
        positions.append(ends.get((word.sentence, word.number), positions[-1]))
    return lambda start: positions[bisect.bisect_left(starts, start)]


def _longest_run(words: Sequence[int]) -> tuple[int, int]:
    """The longest stretch of consecutive numbers, the first of several, as low and high."""
    best, start = (0, 0), 0
    for i, word in enumerate(words):
        if i == 0 or words[i - 1] + 1 != word:
            start = word
        if word + 1 - start > best[1] - best[0]:
            best = (start, word + 1)
    return best


def _arrange(
    element: _Element,
    inside: Mapping[_Element, Sequence[int]],
    low: int,
    high: int,
    position: Callable[[int], int],
) -> None:
    """Put each element inside around its own target words, or at a point that is in none of its neighbours."""
    element.low, element.high = low, high
    for child in element.children:
        child.low, child.high = _longest_run([word for word in inside.get(child, ()) if low <= word < high])
    filled = sorted((child for child in element.children if child.low < child.high), key=lambda child: child.low)
    lows, latest = [child.low for child in filled], low
    for child in element.children:
        if child.low < child.high:
            continue
        point = min(high, max(low, position(child.start), latest if child.keeps_order else low))
        index = bisect.bisect_left(lows, point) - 1
        if index >= 0 and point < filled[index].high:
            later = child.keeps_order or filled[index].start < child.start
            point = filled[index].high if later else filled[index].low
        latest = point if child.keeps_order else latest
        child.low = child.high = point
    element.arranged = sorted(element.children, key=lambda child: (child.low, child.low < child.high))
    for child in element.arranged:
        _arrange(child, inside, child.low, child.high, position)


class _Writer:
    """Writes arranged elements with the target words in them."""

    def __init__(self, text: str, target: Sequence[_Word], spaces: list[str]) -> None:
        self._text, self._target, self._spaces = text, target, spaces
        self._written: list[str] = []

    def whole(self, root: _Element) -> str:
        """The whole block."""
        self._inside(root)
        self._space(len(self._target))
        return "".join(self._written)

    def _inside(self, element: _Element) -> None:
        position = element.low
        for child in element.arranged:
            self._words(position, child.low)
            position = child.high
            if child.low < child.high:
                self._space(child.low)
            elif element.low < element.high or element.parent is None or child.start > element.start:
                self._space_around_point(child)
            self._written.append(child.opening)
            self._inside(child)
            self._written.append(child.closing)
        self._words(position, element.high)

    def _words(self, low: int, high: int) -> None:
        for index in range(low, high):
            self._space(index)
            self._written.append(html.escape(self._target[index].text, quote=False))

    def _space(self, index: int) -> None:
        self._written.append(self._spaces[index])
        self._spaces[index] = ""

    def _space_around_point(self, element: _Element) -> None:
        """White space before and behind an element without words where the source has it."""
        low = element.low
        before = element.start > 0 and self._text[element.start - 1].isspace()
        following = self._text[element.end : element.end + 1]
        behind = following.isspace()
        if before and len(self._spaces[low]) > 1:  # the white space before this element and that behind it
            self._written.append(self._spaces[low][0])
            self._spaces[low] = self._spaces[low][1:]
        elif before and low > 0:
            if behind or not self._spaces[low]:
                self._written.append(" ")
            else:
                self._space(low)
        if low == len(self._target) or self._target[low].part == 2 or self._spaces[low]:
            return
        apart = self._target[low].text[0].isalnum() and not following.isalnum()
        if behind or (before and (low == 0 or element.end == len(self._text) or apart)):
            self._spaces[low] = " "
