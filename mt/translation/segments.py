"""A line as the segments that the model takes at once, and their translations joined to that of the line."""

import hashlib
import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from mt.translation.alignment import Links

_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "…", ";", "；", ":", "：", ",", "、", "，")


@dataclass(frozen=True)
class Segment:
    """The subwords that the model takes at once: those of the whole line, if it is not too long."""

    subwords: list[int]
    words: Sequence[int] = ()
    """The word of the line that each subword belongs to, where alignments are wanted."""
    target_prefix: Sequence[int] = ()
    """The subwords that the translation must begin with."""
    seed: int = 0
    """The seed of the random numbers by which samples are drawn."""


@dataclass
class Translation:
    """One translated line."""

    text: str
    score: float
    tokens: list[int]
    segments: int = 1
    """The number of segments of the line, more than 1 where it exceeds the model's length; 0 for an empty line."""
    alignment: Links | None = None
    """Where asked for, the words of the line and of the text that belong together; spaces separate words."""
    probabilities: list[float] | None = None
    """Where asked for, the probability of each word of the text, that of its subwords multiplied."""
    others: list["Translation"] = field(default_factory=list)
    """Where several are asked for, the next best translations, best first."""
    read_as: dict[str, str] = field(default_factory=dict)
    """The words of the line that the model read in another spelling, and in which."""


def split(subwords: list[int], *, longest: int, spell: Callable[[list[int]], list[str]]) -> list[list[int]]:
    """Split what exceeds `longest` subwords at the end of a sentence or clause, else between words, else anywhere.

    `spell` gives the written form of subwords. A line without subwords has no segments.
    """
    segments = []
    while len(subwords) > longest:
        head = spell(subwords[: longest + 1])
        earliest = max(1, longest // 2)  # a segment holds at least one subword
        words = [i for i in range(earliest, longest + 1) if head[i].startswith("▁")]
        # A full stop or a comma inside a number ends nothing; "。" ends a sentence, though no space follows.
        after = [i for i in range(earliest + 1, longest + 1) if head[i - 1].endswith(_SENTENCE_ENDS)]
        ends = [i for i in after if i in words or not head[i - 1][-1].isascii()]
        cut = (ends or words or [longest])[-1]
        segments.append(subwords[:cut])
        subwords = subwords[cut:]
    return [*segments, subwords] if subwords else segments


def seed_of(seed: int, line: int, segment: int) -> int:
    """Return a seed of 64 bits that depends on all three numbers."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {line} {segment}".encode(), digest_size=8).digest())


def join(
    segments: Sequence[list[Translation]], *, separator: str, aligned: bool, probable: bool = False
) -> Translation:
    """Return the best translation of a line, given the best ones of each segment; the scores are added.

    With n of each segment, the line has the n best combinations.
    """
    nothing = Translation("", 0.0, [], alignment=[] if aligned else None, probabilities=[] if probable else None)
    best, *others = reduce(partial(_combined, separator=separator), segments) if segments else [nothing]
    count = len(segments)
    return replace(best, segments=count, others=[replace(other, segments=count) for other in others])


def _combined(first: list[Translation], second: list[Translation], *, separator: str) -> list[Translation]:
    pairs = itertools.product(first, second)
    best = heapq.nlargest(max(len(first), len(second)), pairs, key=lambda pair: pair[0].score + pair[1].score)
    return [_concatenated(*pair, separator=separator) for pair in best]


def _concatenated(first: Translation, second: Translation, *, separator: str) -> Translation:
    text = first.text + separator + second.text
    before = len((first.text + separator + "x").split()) - 1  # words that end before the second text begins
    alignment = probabilities = None
    if first.probabilities is not None and second.probabilities:
        begun = math.prod(first.probabilities[before:])  # of the first text's last word, if the second continues it
        probabilities = [*first.probabilities[:before], begun * second.probabilities[0], *second.probabilities[1:]]
    elif second.probabilities is not None:
        probabilities = first.probabilities
    if first.alignment is not None and second.alignment is not None:
        alignment = sorted({*first.alignment, *((source, target + before) for source, target in second.alignment)})
    score, tokens = first.score + second.score, first.tokens + second.tokens
    return Translation(text, score, tokens, alignment=alignment, probabilities=probabilities)
