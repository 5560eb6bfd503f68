"""One pass over a corpus: what is counted of its lines and pairs, and which of them are suspect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Int64, Integer

from mt.data.corpus import Corpus
from mt.data.filters import RATIO_SLACK_BYTES, HeldOut, SeenHashes, hash_pairs, is_copy, normalise
from mt.doctor.damage import DAMAGE, damaged_lines
from mt.doctor.languages import SideLanguages, in_other_language
from mt.doctor.reading import read_blocks
from mt.doctor.shifts import Alignment, align
from mt.reporting import Progress

CODE_POINTS = 0x110000
BLANK, COPY, DUPLICATE, LENGTH_RATIO, LEAK = "blank side", "copy", "duplicate pair", "length ratio", "held-out pair"
OTHER_LANGUAGE = "language of the other side"
SIDES = ("source", "target")


@dataclass
class Side:
    """Counts of one side of a corpus."""

    characters: int = 0
    words: int = 0
    blank: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*DAMAGE, OTHER_LANGUAGE), 0))
    code_points: Int64[np.ndarray, " codes"] = field(default_factory=lambda: np.zeros(CODE_POINTS, np.int64))


@dataclass
class Suspect:
    """A line or pair that something may be wrong with; `line` counts from 1."""

    kind: str
    line: int
    side: str  # "pair" where it is both
    text: str
    note: str = ""


@dataclass
class Examined:
    """Everything the doctor noted of one corpus."""

    split: str
    name: str
    source_lines: int
    target_lines: int
    source: Side = field(default_factory=Side)
    target: Side = field(default_factory=Side)
    pairs: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((BLANK, COPY, DUPLICATE, LENGTH_RATIO, LEAK), 0)
    )
    leaked_from: dict[str, set[int]] = field(default_factory=dict)  # split → numbers of its pairs
    suspects: list[Suspect] = field(default_factory=list)
    lengths: Integer[np.ndarray, "side pairs"] = field(default_factory=lambda: np.zeros((2, 0), np.int32))
    needed_ratios: Integer[np.ndarray, " pairs"] | np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    alignment: Alignment = field(default_factory=lambda: Alignment(0.0, [], [], []))

    def sides(self) -> tuple[Side, Side]:
        """Return both sides."""
        return self.source, self.target

    def number_lines(self, line_number: Callable[[int], int]) -> None:
        """Replace the line numbers of an excerpt by those of the lines that it was taken from."""
        for suspect in self.suspects:
            suspect.line = line_number(suspect.line)
        shifts = [replace(shift, line=line_number(shift.line)) for shift in self.alignment.shifts]
        unrelated = [(line_number(first), line_number(last)) for first, last in self.alignment.unrelated]
        self.alignment = replace(self.alignment, shifts=shifts, unrelated=unrelated)


@dataclass(kw_only=True)
class Examiner:
    """Examines corpora one after another; duplicates are looked for among all that one examiner sees."""

    languages: tuple[SideLanguages, SideLanguages] | None
    held_out: HeldOut
    max_length_ratio: float
    seen: SeenHashes = field(default_factory=SeenHashes)

    def examine(self, corpus: Corpus, *, split: str, lines: tuple[int, int], progress: Progress) -> Examined:
        """Return what is found in a corpus whose sides have `lines` lines. Raises UserError at damage."""
        found = Examined(split, corpus.name, *lines)
        lengths, ratios = [], []
        for sources, targets in read_blocks(corpus):
            sizes = np.array(
                [_measure(side, block) for side, block in zip(found.sides(), (sources, targets), strict=True)]
            )
            lengths.append(sizes[:, 0])
            copies = self._pairs(found, sources, targets)
            ratios.append(self._ratios(found, sizes[:, 1], copies))
            for index, block in enumerate((sources, targets)):
                self._side(found, index, block, copies)
            found.pairs += len(sources)
            progress.advance(len(sources))
        if lengths:
            found.lengths, found.needed_ratios = np.concatenate(lengths, axis=1), np.concatenate(ratios)
            found.alignment = align(*found.lengths)
        return found

    def _pairs(self, found: Examined, sources: Sequence[str], targets: Sequence[str]) -> Bool[np.ndarray, " pairs"]:
        """Count blank sides, copies, leaks and duplicates; return which pairs are copies, of any length."""
        copies = np.zeros(len(sources), dtype=bool)
        for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
            key = normalise(source), normalise(target)
            if not key[0] or not key[1]:
                blank = not source.strip(), not target.strip()
                found.source.blank += blank[0]
                found.target.blank += blank[1]
                found.counts[BLANK] += any(blank)
                continue
            if key[0] == key[1]:
                copies[index] = True
                found.counts[COPY] += is_copy(source, *key)
            if leaked := self.held_out.occurrences(key):
                found.counts[LEAK] += 1
                note = ", ".join(f"{split} {number}" for split, number in leaked)
                found.suspects.append(Suspect(LEAK, found.pairs + index + 1, "pair", f"{source}\t{target}", note))
                for split, number in leaked:
                    found.leaked_from.setdefault(split, set()).add(number)
        new = self.seen.add(hash_pairs(list(zip(sources, targets, strict=True))))
        found.counts[DUPLICATE] += int((~new).sum())
        return copies

    def _ratios(
        self, found: Examined, sizes: Integer[np.ndarray, "side pairs"], copies: Bool[np.ndarray, " pairs"]
    ) -> np.ndarray:
        """Return the length ratio that each pair needs to be kept, by the rule of the filter; copies and blanks 1."""
        shorter, longer = sizes.min(axis=0), sizes.max(axis=0)
        needed = ((longer - RATIO_SLACK_BYTES) / np.maximum(shorter, 1)).astype(np.float32)
        needed[(shorter == 0) | copies] = 1.0
        found.counts[LENGTH_RATIO] += int((needed > self.max_length_ratio).sum())
        return np.maximum(needed, 1.0)

    def _side(self, found: Examined, index: int, lines: Sequence[str], copies: Bool[np.ndarray, " pairs"]) -> None:
        """Note damage and language of one side of a block."""
        side, text = found.sides()[index], "\n".join(lines)
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        counts = np.bincount(codes, minlength=CODE_POINTS)
        counts[ord("\n")] = 0
        side.code_points += counts
        ends = np.cumsum([len(line) + 1 for line in lines])
        kinds = damaged_lines(text, counts, ends - np.diff(ends, prepend=0))
        if self.languages is not None:
            damaged = set().union(*kinds.values())
            other = in_other_language(lines, self.languages[index]) & ~copies
            kinds[OTHER_LANGUAGE] = set(np.flatnonzero(other).tolist()) - damaged
        for kind, indices in kinds.items():
            side.counts[kind] += len(indices)
            found.suspects += [Suspect(kind, found.pairs + at + 1, SIDES[index], lines[at]) for at in sorted(indices)]


def _measure(side: Side, lines: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the lengths of lines in characters and in UTF-8 bytes, and count their words."""
    characters = list(map(len, lines))
    side.characters += sum(characters)
    side.words += sum(map(len, map(str.split, lines)))
    if "".join(lines).isascii():
        return characters, characters
    return characters, [len(line.encode("utf-8", "surrogatepass")) for line in lines]
