"""A line as the parts that the model takes at once, and their translations as those of the line again."""

import hashlib
import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from mt.translation.alignment import Links

_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "…", ";", "；", ":", "：", ",", "、", "，")


@dataclass(frozen=True)
class Part:
    """As many pieces of a line as the model takes at once: the whole line, if it is not too long."""

    pieces: list[int]
    words: Sequence[int] = ()
    """The word of the line that each piece belongs to, where alignments are wanted."""
    prefix: Sequence[int] = ()
    """The pieces with which the translation has to begin."""
    seed: int = 0
    """Of the random numbers by which samples are drawn."""


@dataclass
class Translation:
    """One translated line."""

    text: str
    score: float
    tokens: list[int]
    parts: int = 1
    """How many parts a line beyond the model's length was split into; 0 for an empty line."""
    alignment: Links | None = None
    """Where asked for, the words of the line and of the text that belong together; spaces separate words."""
    others: list["Translation"] = field(default_factory=list)
    """Where several are asked for, the next best translations, best first."""


def split(pieces: list[int], *, longest: int, spell: Callable[[list[int]], list[str]]) -> list[list[int]]:
    """Cut what is longer than `longest` pieces at the end of a sentence or clause, else between words, else anywhere.

    `spell` gives the written form of pieces. A line without pieces has no parts.
    """
    parts = []
    while len(pieces) > longest:
        head = spell(pieces[:longest])
        earliest = max(1, len(head) // 2)  # a part holds at least one piece
        ends = [i + 1 for i in range(earliest, len(head)) if head[i].endswith(_SENTENCE_ENDS)]
        words = [i for i in range(earliest, len(head)) if head[i].startswith("▁")]
        cut = (ends or words or [len(head)])[-1]
        parts.append(pieces[:cut])
        pieces = pieces[cut:]
    return [*parts, pieces] if pieces else parts


def seed_of(seed: int, line: int, part: int) -> int:
    """Return a seed of 64 bits that depends on all three numbers."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {line} {part}".encode(), digest_size=8).digest())


def join(parts: Sequence[list[Translation]], *, separator: str, aligned: bool) -> Translation:
    """Return the best translation of a line, given the best ones of each part; the scores are added.

    With n of each part, the line has the n best combinations.
    """
    nothing = Translation("", 0.0, [], parts=0, alignment=[] if aligned else None)
    best, *others = reduce(partial(_combined, separator=separator), parts) if parts else [nothing]
    return replace(best, parts=len(parts), others=[replace(other, parts=len(parts)) for other in others])


def _combined(first: list[Translation], second: list[Translation], *, separator: str) -> list[Translation]:
    pairs = itertools.product(first, second)
    best = heapq.nlargest(max(len(first), len(second)), pairs, key=lambda pair: pair[0].score + pair[1].score)
    return [_concatenated(*pair, separator=separator) for pair in best]


def _concatenated(first: Translation, second: Translation, *, separator: str) -> Translation:
    text = first.text + separator + second.text
    alignment = None
    if first.alignment is not None and second.alignment is not None:
        before = len((first.text + separator + "x").split()) - 1  # words that end before the second text begins
        alignment = sorted({*first.alignment, *((source, target + before) for source, target in second.alignment)})
    return Translation(text, first.score + second.score, first.tokens + second.tokens, alignment=alignment)
