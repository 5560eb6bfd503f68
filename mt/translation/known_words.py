"""The source words that a training saw, each in its usual spelling and with its count.

A translation of other words can be reported as the guess it is, and capitals and typos be read as usual.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from mt.data.lines import read_lines
from mt.data.spaces import look_unspaced
from mt.errors import BadFileError
from mt.runs.atomic import replace_file

# A letter, then letters and the marks that combine with them: accents, Hebrew and Arabic points, Indic vowel signs.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0970-\u0dff"
WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])*+")
_SAMPLE_LINES = 1000


class KnownWord(NamedTuple):
    """A word of the training text."""

    usual: str
    """The form in which it is mostly written."""
    frequency: int
    """How often the text has it, in any form."""


KnownWords = dict[str, KnownWord]  # by the case-folded form


def known_words(lines: Iterable[str], most: int = 100_000) -> KnownWords | None:
    """Return the words of a text; None when there are more than `most`, which ends the reading.

    The usual form is the most frequent one; the first word of a line, which many languages write with a capital,
    counts only where it is all there is. A text whose language is written without spaces has no such words: it gives
    None too.
    """
    remaining = iter(lines)
    sample = list(islice(remaining, _SAMPLE_LINES))
    if look_unspaced(sample):
        return None
    counts, first, inside = Counter[str](), Counter[str](), Counter[str]()
    for line in chain(sample, remaining):
        words = list(_words(line))
        counts.update(folded for _, folded in words)
        if len(counts) > most:
            return None
        first.update(word for word, _ in words[:1])
        inside.update(word for word, _ in words[1:])
    rising = sorted({*first, *inside}, key=lambda word: (inside[word], first[word], word))
    return {(folded := word.casefold()): KnownWord(word, counts[folded]) for word in rising}


def unknown_words(text: str, known: Container[str]) -> list[str]:
    """Return the words of `text` that are not among the known ones, as they are written, each once."""
    return list({folded: word for word, folded in _words(text) if folded not in known}.values())


def save_known_words(training_text: Path, output: Path, *, earlier: Path | None) -> None:
    """Write the known words of a training text and their counts, with those of an earlier training that it continues.

    Where either training has no list, the file is removed. Raises DiskError, and BadFileError for the earlier list.
    """
    known = known_words(read_lines(str(training_text)))
    before: KnownWords | None = load_known_words(earlier) if earlier is not None else {}
    if known is None or before is None:
        output.unlink(missing_ok=True)
        return
    for folded, (word, count) in before.items():
        own = known.get(folded, KnownWord(word, 0))
        known[folded] = KnownWord(own.usual, own.frequency + count)
    replace_file(output, "".join(f"{word}\t{count}\n" for _, (word, count) in sorted(known.items())).encode())


def load_known_words(path: Path) -> KnownWords | None:
    """Return the words that a file lists, None when it does not exist. Raises BadFileError."""
    if not path.is_file():
        return None
    rows = (line.rpartition("\t") for line in read_lines(str(path)))
    try:
        return {word.casefold(): KnownWord(word, int(count)) for word, _, count in rows}
    except ValueError as error:
        raise BadFileError(f"{path}: not a word, a tab and a count a line; restore it") from error


def in_usual_form(text: str, known: KnownWords) -> str:
    """The text, its known words as they are usually written."""
    return WORD.sub(lambda word: found.usual if (found := known.get(folded_form(word[0]))) else word[0], text)


def folded_form(word: str) -> str:
    """By which a word is known."""
    return unicodedata.normalize("NFKC", word).casefold()


def letter_words(text: str) -> list[str]:
    """The words of a text, as they are written."""
    return [word for word, _ in _words(text)]


def _words(text: str) -> Iterator[tuple[str, str]]:
    for word in WORD.findall(unicodedata.normalize("NFKC", text)):
        yield word, word.casefold()
