"""One pass over the corpora of a training: what is counted of them, and which of their lines and pairs are suspect."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from jaxtyping import Int64

from mt.data.corpus import Corpus, FileCorpus
from mt.data.filters import HeldOut, Pair, Split, is_copy, is_length_outlier, normalise, pair_key, seen_before
from mt.data.lines import blocks
from mt.data.text_cache import SIDES
from mt.doctor.checks import BLANK, COPY, DUPLICATE, LEAK, LENGTH_RATIO, OTHER_LANGUAGE, PAIR, damaged_lines
from mt.doctor.languages import Table, in_other_language, learn_difference, recognise
from mt.doctor.shifts import Shift, align
from mt.reporting import Progress

BLOCK_PAIRS = 2048
EXAMPLES = 5  # of each kind and side, whose text is kept
_SAMPLE_PAIRS = 30_000  # for the languages, which need not see every line


@dataclass
class Examined:
    """Everything the doctor noted of one corpus."""

    split: str
    name: str
    source_lines: int
    target_lines: int
    suspects: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    """Line numbers, from 1, by kind and side; instead of a side `PAIR`, or the split that a leaked pair belongs to."""
    examples: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    """The text of the first `EXAMPLES` suspects."""
    leaked: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The line numbers of the pairs of a held-out split that are in this corpus."""
    lengths: Int64[np.ndarray, "side pairs"] = field(default_factory=lambda: np.zeros((2, 0), np.int64))
    """In characters, of all examined pairs."""
    correlation: float = 0.0  # of the lengths of the sides
    shifts: list[Shift] = field(default_factory=list)


@dataclass(frozen=True)
class Examination:
    """All corpora, and the codes of the languages that each side may be in; none where it is not recognised."""

    corpora: list[Examined]
    sizes: dict[str, int]
    """The pairs of each split."""
    languages: tuple[list[str], list[str]]


def examine(
    splits: Mapping[Split, Sequence[Corpus]], *, max_length_ratio: float, most_pairs: int | None = None
) -> Examination:
    """Examine the corpora of each split (`train`, and `validation` and `test` where given).

    With `most_pairs`, about that number of pairs of each split is examined, in blocks evenly spread.
    Raises UserError for a corpus that cannot be read; sides of unequal length are no error.
    """
    counted = {split: [(corpus, _count_sides(corpus)) for corpus in corpora] for split, corpora in splits.items()}
    sizes: dict[str, int] = {split: sum(min(lines) for _, lines in corpora) for split, corpora in counted.items()}
    strides = {split: -(-size // (most_pairs or size)) for split, size in sizes.items()}
    stride = max(strides["train"], -(-sizes["train"] // _SAMPLE_PAIRS))
    sample = [pair for corpus in counted["train"] for _, pairs in _blocks(*corpus, stride) for pair in pairs]
    difference = learn_difference([pair for pair in sample if normalise(pair[0]) != normalise(pair[1])])
    held_out = HeldOut()
    for split in (split for split in counted if split != "train"):
        for corpus, lines in counted[split]:
            for first, pairs in _blocks(corpus, lines, strides[split]):
                held_out.add(split, pairs, first_number=first)
    examined = []
    total = sum(size // strides[split] for split, size in sizes.items())
    with closing(Progress("examining the corpora", total=total, unit="pairs")) as progress:
        for split, corpora in counted.items():
            searched = held_out if split == "train" else HeldOut()
            examiner = _Examiner(difference=difference, held_out=searched, max_length_ratio=max_length_ratio)
            for corpus, lines in corpora:
                found = Examined(split, corpus.name, *lines)
                examiner.examine(found, _blocks(corpus, lines, strides[split]), progress)
                examined.append(found)
    sources, targets = zip(*sample, strict=True)
    return Examination(examined, sizes, (recognise(sources), recognise(targets)))


@dataclass(kw_only=True)
class _Examiner:
    """Examines corpora one after another; duplicates are looked for among all that one examiner sees."""

    difference: Table | None
    held_out: HeldOut
    max_length_ratio: float
    seen: set[bytes] = field(default_factory=set)

    def examine(self, found: Examined, blocks: Iterable[tuple[int, list[Pair]]], progress: Progress) -> None:
        """Note what is found in the blocks of a corpus. Raises UserError at damage."""
        lengths, numbers = [], []
        for first, pairs in blocks:
            for (kind, side), indices in self._suspects(found, pairs).items():
                found.suspects[kind, side] += [first + index for index in indices]
                examples = found.examples[kind, side]
                for index in indices[: EXAMPLES - len(examples)]:
                    examples.append(pairs[index][SIDES.index(side)] if side in SIDES else "\t".join(pairs[index]))
            lengths.append([(len(source), len(target)) for source, target in pairs])
            numbers.append(first + np.arange(len(pairs)))
            progress.advance(len(pairs))
        found.lengths = np.concatenate(lengths).T
        (found.correlation, shifts), lines = align(*found.lengths), np.concatenate(numbers)
        found.shifts = [replace(shift, line=int(lines[shift.line - 1])) for shift in shifts]

    def _suspects(self, found: Examined, pairs: list[Pair]) -> dict[tuple[str, str], list[int]]:
        """Return the indices of what is suspect in a block, in order, by kind and side."""
        suspects: dict[tuple[str, str], list[int]] = defaultdict(list)
        same = np.zeros(len(pairs), dtype=bool)
        for index, (source, target) in enumerate(pairs):
            key = pair_key(source, target)
            if not all(key):
                continue
            same[index] = key[0] == key[1]
            if is_copy(source, *key):
                suspects[COPY, PAIR].append(index)
            if is_length_outlier(source, target, max_length_ratio=self.max_length_ratio) and not same[index]:
                suspects[LENGTH_RATIO, PAIR].append(index)
            occurrences = self.held_out.occurrences(key)
            for split in dict(occurrences):
                suspects[LEAK, split].append(index)
            for split, number in occurrences:
                found.leaked[split].add(number)
        suspects[DUPLICATE, PAIR] = [index for index, pair in enumerate(pairs) if seen_before(pair, self.seen)]
        for number, lines in enumerate(zip(*pairs, strict=True)):
            side = SIDES[number]
            suspects[BLANK, side] = [index for index, line in enumerate(lines) if not line.strip()]
            damage = damaged_lines(lines)
            suspects.update({(kind, side): sorted(damaged) for kind, damaged in damage.items()})
            if self.difference is not None:
                towards_other = self.difference if side == "source" else -self.difference
                other = np.flatnonzero(in_other_language(lines, towards_other) & ~same).tolist()
                suspects[OTHER_LANGUAGE, side] = sorted(set(other).difference(*damage.values()))
        return suspects


def _count_sides(corpus: Corpus) -> tuple[int, int]:
    """Return the number of source and of target lines, which differ only where two text files do. Raises UserError."""
    if isinstance(corpus, FileCorpus):
        return corpus.count_sides()
    pairs = corpus.count_pairs()
    return pairs, pairs


def _blocks(corpus: Corpus, lines: tuple[int, int], stride: int) -> Iterator[tuple[int, list[Pair]]]:
    """Yield each `stride`-th block of pairs with the line number of its first, to the end of the shorter side."""
    first_line = corpus.first_line if isinstance(corpus, FileCorpus) else 1
    for number, block in enumerate(blocks(islice(corpus.pairs(), min(lines)), BLOCK_PAIRS)):
        if number % stride == 0:
            yield first_line + number * BLOCK_PAIRS, block
