"""Filters on training pairs: what is dropped, why, and how many. Validation and test are never filtered.

The reasons are tried in the order of `REASONS`, and a pair is counted under the first that applies. Pairs with too
many subwords are dropped later, when the subwords are known (`FilterReport.with_dropped` adds that row).
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

Pair = tuple[str, str]
Split = str  # train, validation, test, or the name of a further test set
SPLITS = ("train", "validation", "test")
REASONS = BLANK, HELD_OUT, COPY, LENGTH_RATIO, DUPLICATE, PAIR_SCORE = (
    "blank side", "in validation or test", "copy of the source", "length ratio", "duplicate pair", "pair score"
)  # fmt: skip

# Below these sizes a filter says little: "Oh!" for "Ach so!" is not misaligned, "Microsoft Windows" not untranslated.
RATIO_SLACK = 20
COPY_WORDS, COPY_CHARACTERS = 3, 20

# Vowel signs from India to Cambodia are letters as much as others; an accent without a composed letter is not.
_VOWEL_SIGNS = "".join(sign for sign in map(chr, range(0x900, 0x1D00)) if unicodedata.category(sign).startswith("M"))
_NOT_LETTER_OR_DIGIT = re.compile(rf"(?:[^\w{_VOWEL_SIGNS}]|_)+")
_COUNT_AS_THREE = re.compile("[\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
_ASCII_NOT_LETTER_OR_DIGIT = {code: None for code in range(128) if not chr(code).isalnum()}


def normalise(text: str) -> str:
    """Return the letters and digits of `text` alone, NFKC and case-folded: what two spellings have in common."""
    if text.isascii():
        return text.lower().translate(_ASCII_NOT_LETTER_OR_DIGIT)
    return _NOT_LETTER_OR_DIGIT.sub("", unicodedata.normalize("NFKC", text).casefold())


def pair_key(source: str, target: str) -> Pair:
    """Return what two spellings of a pair have in common; a side without letters or digits is compared as it is."""
    return normalise(source) or source.strip(), normalise(target) or target.strip()


@dataclass(frozen=True, kw_only=True)
class Leak:
    """A training pair that is also a validation or test pair, of several the first, by their numbers from 1."""

    corpus: str
    number: int
    split: str
    split_number: int
    source: str
    target: str


class HeldOut:
    """The validation and test pairs by their `pair_key`, to be found among the training pairs."""

    def __init__(self) -> None:
        self._occurrences: dict[Pair, list[tuple[str, int]]] = {}

    def add(self, split: str, pairs: Iterable[Pair], *, first_number: int) -> None:
        """Add pairs of a split, the first of them number `first_number`; one with a blank side is left out."""
        for number, (source, target) in enumerate(pairs, start=first_number):
            key = pair_key(source, target)
            if all(key):
                self._occurrences.setdefault(key, []).append((split, number))

    def occurrences(self, key: Pair) -> list[tuple[str, int]]:
        """Return the (split, number) of every held-out pair with this `pair_key`."""
        return self._occurrences.get(key, [])


def is_length_outlier(source: str, target: str, *, max_length_ratio: float) -> bool:
    """Return whether one side is over `max_length_ratio` times the other, in characters, plus some slack.

    A Chinese, Japanese or Korean character counts as three, because it says about as much as three letters.
    """
    shorter, longer = sorted(map(_characters, (source, target)))
    return longer > max_length_ratio * shorter + RATIO_SLACK


def _characters(text: str) -> int:
    return len(text) if text.isascii() else len(text) + 2 * len(_COUNT_AS_THREE.findall(text))


def is_copy(source: str, normalised_source: str, normalised_target: str) -> bool:
    """Return whether the target repeats the source, punctuation and case aside.

    Names, titles, numbers and formulas are rightly left alone by translators; a copy therefore counts only
    with letters in it and with at least `COPY_WORDS` words or more than `COPY_CHARACTERS` letters and digits.
    """
    if normalised_source != normalised_target or not any(map(str.isalpha, normalised_source)):
        return False
    return len(normalised_source) > COPY_CHARACTERS or len(source.split()) >= COPY_WORDS


@dataclass(frozen=True, kw_only=True)
class FilterReport:
    """Counts of training pairs, and of those of the other splits that there are.

    `dropped` has one entry per reason that was looked for, in order; `corpora` the kept pairs of each corpus for
    training, in order, or nothing where they were not counted.
    """

    read: int
    dropped: dict[str, int]
    held_out: dict[Split, int]
    corpora: list[int] = field(default_factory=list)

    @property
    def kept(self) -> int:
        """The number of training pairs that are left."""
        return self.read - sum(self.dropped.values())

    def with_dropped(self, reason: str, count: int) -> "FilterReport":
        """Return a report in which `count` of the kept pairs are dropped for another reason."""
        return replace(self, dropped={**self.dropped, reason: count})

    def table(self) -> str:
        """Return the report as lines of text for the start of a training."""
        rows = [("read", self.read), *((f"dropped: {reason}", n) for reason, n in self.dropped.items())]
        rows.append(("kept", self.kept))
        width = max(len(name) for name, _ in rows)
        lines = [f"{'training pairs':<{width}} {'count':>12} {'percent':>8}"]
        lines += [f"{name:<{width}} {n:>12,} {100 * n / max(1, self.read):>8.2f}" for name, n in rows]
        lines += [f"{split + ' pairs':<{width}} {n:>12,}" for split, n in self.held_out.items()]
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class FilterSettings:
    """What is removed besides pairs with a blank side; the largest ratio of lengths as in `is_length_outlier`."""

    max_length_ratio: float
    remove_copies: bool
    remove_duplicates: bool
    remove_held_out: bool

    def reason(self, source: str, target: str, key: Pair) -> str | None:
        """Return why a pair cannot be a translation; `key` is its `pair_key`."""
        if self.remove_copies and is_copy(source, *key):
            return COPY
        return LENGTH_RATIO if is_length_outlier(source, target, max_length_ratio=self.max_length_ratio) else None


@dataclass(frozen=True, kw_only=True)
class LearnedScore:
    """The scores of a pair classifier, and the `minimum` of a pair to keep; other scores, another `fingerprint`."""

    score: Callable[[Sequence[Pair]], Sequence[float]]
    minimum: float
    fingerprint: str


@dataclass(kw_only=True)
class PairFilter:
    """Takes training pairs in blocks and returns those to keep; counts the rest in `dropped` and lists `leaks`.

    Duplicates are exact and found by 64-bit hashes: of 5 million pairs, one is lost by chance once in a
    million corpora. They take some 100 bytes of memory each.
    """

    settings: FilterSettings
    held_out: HeldOut
    learned: LearnedScore | None = None
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)  # of each corpus, by its name
    leaks: list[Leak] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)

    def keep(self, block: Sequence[Pair], *, corpus: str, first_number: int) -> list[Pair]:
        """Return the pairs of `block` to keep, in order; its first is pair `first_number` of `corpus`."""
        self.read += len(block)
        kept = []
        for number, (source, target) in enumerate(block, start=first_number):
            reason = self._reason(source, target, corpus=corpus, number=number)
            if reason is None:
                kept.append((source, target))
            else:
                self.dropped[reason] += 1
        if self.learned is not None:
            scored = list(zip(kept, self.learned.score(kept), strict=True))
            likely = [pair for pair, score in scored if score >= self.learned.minimum]
            self.dropped[PAIR_SCORE] += len(kept) - len(likely)
            kept = likely
        self.kept[corpus] += len(kept)
        return kept

    def report(self, *, held_out: dict[Split, int], corpora: Sequence[str] = ()) -> FilterReport:
        """Return the counts so far, with the sizes of the validation and test split, and those of named `corpora`."""
        settings = self.settings
        on = {HELD_OUT: settings.remove_held_out, COPY: settings.remove_copies, DUPLICATE: settings.remove_duplicates}
        on[PAIR_SCORE] = self.learned is not None
        dropped = {reason: self.dropped[reason] for reason in REASONS if on.get(reason, True)}
        of_each = [self.kept[name] for name in corpora]
        return FilterReport(read=self.read, dropped=dropped, held_out=held_out, corpora=of_each)

    def _reason(self, source: str, target: str, *, corpus: str, number: int) -> str | None:
        if not source.strip() or not target.strip():
            return BLANK
        key = pair_key(source, target)
        if self.settings.remove_held_out and (occurrences := self.held_out.occurrences(key)):
            self.leaks += [
                Leak(corpus=corpus, number=number, split=split, split_number=at, source=source, target=target)
                for split, at in dict(reversed(occurrences)).items()
            ]
            return HELD_OUT
        if reason := self.settings.reason(source, target, key):
            return reason
        if self.settings.remove_duplicates and seen_before((source, target), self.seen):
            return DUPLICATE
        return None


def seen_before(pair: Pair, seen: set[bytes]) -> bool:
    """Return whether a hash of the exact pair is among those seen, and add it to them."""
    digest = hashlib.blake2b("\n".join(pair).encode(), digest_size=8).digest()
    known = digest in seen
    seen.add(digest)
    return known
