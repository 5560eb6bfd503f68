"""The source words that a training saw, so that a translation of other words can be reported as the guess it is."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from mt.data.lines import read_lines
from mt.runs.atomic import replace_file

# A letter, then letters and the marks that combine with them: accents, Hebrew and Arabic points, Indic vowel signs.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0970-\u0dff"
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])*")
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")  # Thai … Han
_SAMPLE_LINES = 1000


def known_words(lines: Iterable[str], most: int = 100_000) -> set[str] | None:
    """Return the words of a text, case-folded; None when there are more than `most`, which ends the reading.

    A text whose language is written without spaces has no such words: it gives None too.
    """
    remaining = iter(lines)
    sample = list(islice(remaining, _SAMPLE_LINES))
    if 2 * sum(_WITHOUT_SPACES.search(line) is not None for line in sample) > len(sample):
        return None
    known: set[str] = set()
    for line in chain(sample, remaining):
        known.update(folded for _, folded in _words(line))
        if len(known) > most:
            return None
    return known


def unknown_words(text: str, known: set[str]) -> list[str]:
    """Return the words of `text` that are not among the known ones, as they are written, each once."""
    return list({folded: word for word, folded in _words(text) if folded not in known}.values())


def save_known_words(training_text: Path, output: Path, *, earlier: Path | None) -> None:
    """Write the known words of a training text, one a line, with those of an earlier training that it continues.

    Where either training has no list, the file is removed. Raises DiskError.
    """
    known = known_words(read_lines(str(training_text)))
    before = load_known_words(earlier) if earlier is not None else set()
    if known is None or before is None:
        output.unlink(missing_ok=True)
        return
    replace_file(output, "".join(f"{word}\n" for word in sorted(known | before)).encode())


def load_known_words(path: Path) -> set[str] | None:
    """Return the words that a file lists, None when it does not exist."""
    return set(read_lines(str(path))) if path.is_file() else None


def _words(text: str) -> Iterator[tuple[str, str]]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        yield word, word.casefold()
