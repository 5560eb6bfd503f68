"""Filters on training pairs: what is dropped, why, and how many. Validation and test are never filtered.

The reasons are tried in the order of `REASONS`, and a pair is counted under the first that applies. Pairs with too
many subwords are dropped later, when the subwords are known (`FilterReport.with_dropped` adds that row).
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
from jaxtyping import Bool, UInt64

Pair = tuple[str, str]
BLANK, HELD_OUT, COPY, LENGTH_RATIO, DUPLICATE = (
    "blank side",
    "in validation or test",
    "copy of the source",
    "length ratio",
    "duplicate pair",
)
REASONS = (BLANK, HELD_OUT, COPY, LENGTH_RATIO, DUPLICATE)

# Below these sizes a filter says little: "Oh!" for "Ach so!" is not misaligned, "Microsoft Windows" not untranslated.
RATIO_SLACK_BYTES = 20
COPY_WORDS, COPY_CHARACTERS = 3, 20

_NOT_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
_ASCII_NOT_LETTER_OR_DIGIT = {code: None for code in range(128) if not chr(code).isalnum()}


def normalise(text: str) -> str:
    """Return the letters and digits of `text` alone, NFKC and case-folded: what two spellings have in common."""
    if text.isascii():
        return text.lower().translate(_ASCII_NOT_LETTER_OR_DIGIT)
    return _NOT_LETTER_OR_DIGIT.sub("", unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True, kw_only=True)
class Leak:
    """A training pair that is also a validation or test pair, each found by its number counted from 1."""

    corpus: str
    number: int
    split: str
    split_number: int
    source: str
    target: str


class HeldOut:
    """The validation and test pairs in normalised form, to be found among the training pairs."""

    def __init__(self) -> None:
        """Start empty."""
        self._occurrences: dict[Pair, list[tuple[str, int]]] = {}
        self._sources: set[str] = set()
        self._targets: set[str] = set()

    def add(self, split: str, pairs: Iterable[Pair], *, first_number: int) -> None:
        """Add pairs of a split, the first of them number `first_number`.

        A pair with a side without letters or digits identifies nothing and is left out.
        """
        for number, (source, target) in enumerate(pairs, start=first_number):
            key = normalise(source), normalise(target)
            if all(key):
                self._occurrences.setdefault(key, []).append((split, number))
                self._sources.add(key[0])
                self._targets.add(key[1])

    def occurrences(self, key: Pair) -> list[tuple[str, int]]:
        """Return the (split, number) of every held-out pair with this normalised form."""
        return self._occurrences.get(key, [])

    def has_source(self, key: Pair) -> bool:
        """Return whether a held-out pair has this normalised source, with any target."""
        return key[0] in self._sources

    def has_target(self, key: Pair) -> bool:
        """Return whether a held-out pair has this normalised target, with any source."""
        return key[1] in self._targets


def is_length_outlier(source: str, target: str, *, max_length_ratio: float) -> bool:
    """Return whether one side is over `max_length_ratio` times the other, in UTF-8 bytes, plus some slack.

    Bytes and not characters: a Japanese character says about as much as three Latin letters, and takes three.
    """
    shorter, longer = sorted((len(source.encode("utf-8")), len(target.encode("utf-8"))))
    return longer > max_length_ratio * shorter + RATIO_SLACK_BYTES


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
    """Counts of training pairs; `dropped` has one entry per reason that was looked for, in order."""

    read: int
    dropped: dict[str, int]
    kept: int
    shares_source: int
    shares_target: int
    validation: int | None
    test: int | None

    def with_dropped(self, reason: str, count: int) -> "FilterReport":
        """Return a report in which `count` of the kept pairs are dropped for another reason."""
        return replace(self, dropped={**self.dropped, reason: count}, kept=self.kept - count)

    def table(self) -> str:
        """Return the report as lines of text for the start of a training."""
        rows = [("read", self.read), *((f"dropped: {reason}", n) for reason, n in self.dropped.items())]
        rows.append(("kept", self.kept))
        width = max(len(name) for name, _ in rows)
        lines = [f"{'training pairs':<{width}} {'count':>12} {'percent':>8}"]
        lines += [f"{name:<{width}} {n:>12,} {100 * n / max(1, self.read):>8.2f}" for name, n in rows]
        for split, count in (("validation", self.validation), ("test", self.test)):
            if count is not None:
                lines.append(f"{split + ' pairs':<{width}} {count:>12,}")
        if self.shares_source or self.shares_target:
            lines.append(
                f"not dropped: validation or test has the same source with another target for {self.shares_source:,}, "
                f"the same target with another source for {self.shares_target:,}"
            )
        return "\n".join(lines)


class SeenHashes:
    """A set of 64-bit hashes that takes 8 bytes each: sorted runs, two of which are merged when alike in size."""

    def __init__(self) -> None:
        """Start empty."""
        self._runs: list[UInt64[np.ndarray, " hashes"]] = []

    def add(self, hashes: UInt64[np.ndarray, " pairs"]) -> Bool[np.ndarray, " pairs"]:
        """Add `hashes` and return which of them were never seen, neither before nor earlier among them."""
        unique, first = np.unique(hashes, return_index=True)
        known = np.zeros(len(unique), dtype=bool)
        for run in self._runs:
            at = np.searchsorted(run, unique)
            known |= run[np.minimum(at, len(run) - 1)] == unique
        new = np.zeros(len(hashes), dtype=bool)
        new[first[~known]] = True
        if new.any():
            self._runs.append(unique[~known])
        while len(self._runs) > 1 and 2 * len(self._runs[-1]) > len(self._runs[-2]):
            merged = np.concatenate((self._runs.pop(), self._runs.pop()))
            merged.sort(kind="stable")
            self._runs.append(merged)
        return new


@dataclass(kw_only=True)
class PairFilter:
    """Takes training pairs in blocks and returns those to keep; counts the rest in `dropped` and lists `leaks`.

    Duplicates are exact and found by 64-bit hashes: of 5 million pairs, one is lost by chance once in a
    million corpora. `held_out` None does not look for validation or test pairs.
    """

    max_length_ratio: float
    remove_copies: bool
    remove_duplicates: bool
    held_out: HeldOut | None
    read: int = 0
    shares_source: int = 0
    shares_target: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    leaks: list[Leak] = field(default_factory=list)
    seen: SeenHashes = field(default_factory=SeenHashes)

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
        if self.remove_duplicates and kept:
            read = len(kept)
            kept = list(compress(kept, self.seen.add(hash_pairs(kept))))
            self.dropped[DUPLICATE] += read - len(kept)
        return kept

    def report(self, *, validation: int | None, test: int | None) -> FilterReport:
        """Return the counts so far; `validation` and `test` are the sizes of those splits, None where there is none."""
        off = {HELD_OUT: self.held_out is None, COPY: not self.remove_copies, DUPLICATE: not self.remove_duplicates}
        return FilterReport(
            read=self.read,
            dropped={reason: self.dropped[reason] for reason in REASONS if not off.get(reason)},
            kept=self.read - self.dropped.total(),
            shares_source=self.shares_source,
            shares_target=self.shares_target,
            validation=validation,
            test=test,
        )

    def _reason(self, source: str, target: str, *, corpus: str, number: int) -> str | None:
        if not source.strip() or not target.strip():
            return BLANK
        key = normalise(source), normalise(target)
        if self.held_out is not None and self._is_held_out(source, target, key, corpus=corpus, number=number):
            return HELD_OUT
        if self.remove_copies and is_copy(source, *key):
            return COPY
        if is_length_outlier(source, target, max_length_ratio=self.max_length_ratio):
            return LENGTH_RATIO
        return None

    def _is_held_out(self, source: str, target: str, key: Pair, *, corpus: str, number: int) -> bool:
        assert self.held_out is not None
        shares_source, shares_target = self.held_out.has_source(key), self.held_out.has_target(key)
        occurrences = self.held_out.occurrences(key) if shares_source and shares_target else []
        for split, split_number in occurrences:
            self.leaks.append(
                Leak(corpus=corpus, number=number, split=split, split_number=split_number, source=source, target=target)
            )
        if not occurrences:
            self.shares_source += shares_source
            self.shares_target += shares_target
        return bool(occurrences)


def hash_pairs(pairs: Sequence[Pair]) -> UInt64[np.ndarray, " pairs"]:
    """Return hashes of the exact pairs, the same in every process."""
    digests = (hashlib.blake2b(f"{source}\n{target}".encode(), digest_size=8).digest() for source, target in pairs)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
