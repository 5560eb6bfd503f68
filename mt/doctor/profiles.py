"""Lines in a language that is not their side's, found with character trigrams learned from the corpus itself.

Cavnar and Trenkle (1994) tell languages by character n-grams. Nothing but the corpus is asked: each side teaches
its own language, and a group of lines that fits neither side but fits itself is a third language. Trigrams are
those of the UTF-8 bytes of the lower-cased text, hashed, so that any script will do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from jaxtyping import Bool, Float32, Int8, Integer

from mt.doctor.languages import count_words, describe

MAIN, OTHER_SIDE, FOREIGN = 0, 1, 2
BUCKETS = 1 << 16
_MULTIPLIER = np.uint32(2654435761)  # Knuth's multiplicative hashing
_LEAST_LINES = 200
_LEAST_TRIGRAMS = 15  # shorter lines are names and numbers as often as sentences
_LEAST_EVIDENCE = 8.0  # nats for another language before a line is counted there
_TRIMMED_SHARE = 0.2
_SEED_SHARES = (0.01, 0.002)  # where a third language may begin: a large seed drowns a small group
_ROUNDS = 12
# Half of a sentence's words are the language's own twenty most frequent; a foreign group's hardly occur elsewhere.
_TOP_WORDS, _LEAST_TOP_SHARE, _LARGEST_SHARED = 20, 0.15, 0.25
_LARGEST_SHARED_UNNAMED = 0.12  # by a language that is not known by its little words
_LARGEST_TOP_SHARE = 0.62  # more is a set phrase (the hat costs ten euros), which consists of few words alone
_WORDS_PER_LINE = 2.5
# For text without spaces: how much of the group's frequent trigrams the rest has, at most.
_TOP_TRIGRAMS, _LARGEST_SHARED_TRIGRAMS = 50, 0.25
_LEAST_GROUP_LINES, _LEAST_GROUP_SHARE = 15, 0.0005

Table = Float32[np.ndarray, "65536"]  # log probability of each trigram


@dataclass(frozen=True)
class Trigrams:
    """The hashed trigrams of some lines, one line after another, and how many each line has."""

    hashes: Integer[np.ndarray, " trigrams"]
    counts: Integer[np.ndarray, " lines"]

    def sums(self, table: Table) -> Float32[np.ndarray, " lines"]:
        """Return what a table says of each line in total."""
        starts = np.cumsum(self.counts) - self.counts
        return np.add.reduceat(table[self.hashes], starts) if len(starts) else np.zeros(0, np.float32)

    def learn(self, chosen: Bool[np.ndarray, " lines"]) -> Table:
        """Return the log probabilities of the trigrams in the chosen lines."""
        counts = np.bincount(self.hashes[np.repeat(chosen, self.counts)], minlength=BUCKETS) + 0.1
        return np.log(counts / counts.sum()).astype(np.float32)


@dataclass(frozen=True)
class SideLanguages:
    """What the lines of one side are compared with; `foreign` is None where no third language was found."""

    name: str
    main: Table
    other_side: Table
    other_side_name: str
    foreign: Table | None
    foreign_name: str
    foreign_words: list[str]


def hash_trigrams(lines: Sequence[str]) -> Trigrams:
    """Return the trigrams of lines without line breaks; a line's beginning counts as a character."""
    text = "\n" + "\n".join(lines).lower() + "\n\n"
    codes = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8).astype(np.uint32)
    trigrams = (codes[:-2] << np.uint32(16)) | (codes[1:-1] << np.uint32(8)) | codes[2:]
    hashes = ((trigrams * _MULTIPLIER) >> np.uint32(16)).astype(np.intp)
    starts = np.flatnonzero(codes[:-2] == ord("\n"))
    return Trigrams(hashes, np.diff(np.append(starts, len(hashes))))


def learn_languages(sources: Sequence[str], targets: Sequence[str]) -> tuple[SideLanguages, SideLanguages] | None:
    """Return what to compare each side with, from a sample of pairs; None when there are too few to learn from.

    Pairs with equal sides must be left out: they belong to one language and stand on both sides.
    """
    if len(sources) < _LEAST_LINES:
        return None
    lines = (list(sources), list(targets))
    trigrams = [hash_trigrams(side) for side in lines]
    mains = [_main_table(side) for side in trigrams]
    names = [describe(side[:5000]) for side in lines]
    found = [_third_language(lines[side], trigrams[side], mains[side], mains[1 - side], names[side]) for side in (0, 1)]
    sides = [SideLanguages(names[side], mains[side], mains[1 - side], names[1 - side], *found[side]) for side in (0, 1)]
    return sides[0], sides[1]


def classify(lines: Sequence[str], languages: SideLanguages) -> Int8[np.ndarray, " lines"]:
    """Return for each line `MAIN`, `OTHER_SIDE` or `FOREIGN`; what is short or in doubt is `MAIN`."""
    trigrams = hash_trigrams(lines)
    best = np.full(len(lines), _LEAST_EVIDENCE, dtype=np.float32)
    kinds = np.zeros(len(lines), dtype=np.int8)
    for kind, table in ((OTHER_SIDE, languages.other_side), (FOREIGN, languages.foreign)):
        if table is not None:
            evidence = trigrams.sums(table - languages.main)
            kinds[evidence > best] = kind
            best = np.maximum(best, evidence)
    kinds[trigrams.counts < _LEAST_TRIGRAMS] = MAIN
    return kinds


def _main_table(trigrams: Trigrams) -> Table:
    """Learn the side's language without the fifth of the lines that fits it least."""
    chosen = np.ones(len(trigrams.counts), dtype=bool)
    for _ in range(3):
        score = trigrams.sums(trigrams.learn(chosen)) / trigrams.counts
        chosen = score >= np.quantile(score, _TRIMMED_SHARE)
    return trigrams.learn(chosen)


def _third_language(
    lines: Sequence[str], trigrams: Trigrams, main: Table, other_side: Table, name: str
) -> tuple[Table | None, str, list[str]]:
    """Return the table, name and typical words of lines that fit each other but neither side."""
    long = trigrams.counts >= _LEAST_TRIGRAMS
    usable = long & (trigrams.sums(main - other_side) > -_LEAST_EVIDENCE)
    if usable.sum() < _LEAST_LINES:
        return None, "", []
    score = trigrams.sums(main) / trigrams.counts
    for seed_share in _SEED_SHARES:
        chosen = _split_off(trigrams, usable & (score < np.quantile(score[usable], seed_share)), long)
        if chosen.sum() < max(_LEAST_GROUP_LINES, _LEAST_GROUP_SHARE * len(lines)):
            continue
        group, rest = list(compress(lines, chosen)), list(compress(lines, ~chosen))
        table = trigrams.learn(chosen)
        foreign, words = _is_foreign(group, rest, _shared_trigrams(table, trigrams.learn(~chosen)))
        group_name = describe(group)
        if foreign and group_name != (name or None) and not _is_nearer(table, other_side, main):
            return table, group_name, words
    return None, "", []


def _split_off(
    trigrams: Trigrams, chosen: Bool[np.ndarray, " lines"], long: Bool[np.ndarray, " lines"]
) -> Bool[np.ndarray, " lines"]:
    """Fit a mixture of two languages to the lines, beginning with the chosen ones; return the part that grew there."""
    for _ in range(_ROUNDS):
        share = np.clip(chosen[long].mean(), 1e-5, 0.5)
        ratio = trigrams.learn(chosen) - trigrams.learn(~chosen)
        before, chosen = chosen, long & (trigrams.sums(ratio) + np.log(share / (1 - share)) > 0)
        if (before == chosen).all() or not chosen.any():
            break
    return chosen


def _is_foreign(group: Sequence[str], rest: Sequence[str], shared_trigrams: float) -> tuple[bool, list[str]]:
    """Return whether two parts of a side are two languages, and the most frequent words of the first.

    Any text falls into two parts: topics, styles. They are two languages when what is most frequent in the one is
    rare in the other, and is what the lines are made of, as it is with little words and is not with names.
    """
    words, rest_words = count_words(group), count_words(rest)
    top = [word for word, _ in words.most_common(_TOP_WORDS)]
    if words.total() < _WORDS_PER_LINE * len(group):
        return shared_trigrams <= _LARGEST_SHARED_TRIGRAMS, top[:8]
    share = sum(words[word] for word in top) / words.total()
    rest_share = sum(rest_words[word] for word in top) / max(1, rest_words.total())
    largest = _LARGEST_SHARED if describe(group) else _LARGEST_SHARED_UNNAMED
    return _LEAST_TOP_SHARE <= share <= _LARGEST_TOP_SHARE and rest_share <= largest * share, top[:8]


def _shared_trigrams(group: Table, rest: Table) -> float:
    top = np.argsort(group)[-_TOP_TRIGRAMS:]
    return float(np.exp(rest[top]).sum() / np.exp(group[top]).sum())


def _is_nearer(group: Table, other_side: Table, main: Table) -> bool:
    """Return whether a group is the other side's language: their frequent trigrams are much the same."""
    shared = _shared_trigrams(group, other_side)
    return shared > 0.6 and shared > 1.5 * _shared_trigrams(group, main)
