"""A corpus in blocks of pairs, also one whose sides differ in length: to the doctor that is a finding, not an error."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mt.data.corpus import Corpus, FileCorpus
from mt.data.lines import count_lines, read_lines

BLOCK_PAIRS = 8192
EXCERPT_BLOCKS = 16


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """At most `most` of the `total` pairs of two text files: all, or blocks of neighbours evenly spread."""

    name: str
    source: str
    target: str
    total: int
    most: int

    def fingerprint(self) -> str:
        """Return a text that differs for other excerpts."""
        return f"excerpt {self}"

    def count_pairs(self) -> int:
        """Return the number of pairs in the excerpt."""
        return sum(end - begin for begin, end in self._blocks())

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs in the files' order. Raises UserError when a file cannot be read."""
        lines = zip(read_lines(self.source), read_lines(self.target), strict=False)
        read = 0
        for begin, end in self._blocks():
            yield from islice(lines, begin - read, end - read)
            read = end

    def line_number(self, position: int) -> int:
        """Return the line in the files, from 1, of the pair at a position of the excerpt, from 1."""
        for begin, end in self._blocks():
            if position <= end - begin:
                return begin + position
            position -= end - begin
        return self.total

    def _blocks(self) -> list[tuple[int, int]]:
        if self.total <= self.most:
            return [(0, self.total)]
        size = self.most // EXCERPT_BLOCKS
        begins = [number * (self.total - size) // (EXCERPT_BLOCKS - 1) for number in range(EXCERPT_BLOCKS)]
        return [(begin, begin + size) for begin in begins]


def count_sides(corpus: Corpus) -> tuple[int, int]:
    """Return the number of source and of target lines, which differ only where two text files do.

    Raises UserError for a corpus that cannot be read or is empty.
    """
    files = _text_files(corpus)
    if files is not None and all(Path(path).is_file() for path in files):
        source_lines, target_lines = (count_lines(path) for path in files)
        if source_lines and target_lines:
            return source_lines, target_lines
    pairs = corpus.count_pairs()
    return pairs, pairs


def read_blocks(corpus: Corpus) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the source and the target lines of `BLOCK_PAIRS` pairs at a time, up to the end of the shorter side."""
    files = _text_files(corpus)
    pairs = corpus.pairs() if files is None else zip(*map(read_lines, files), strict=False)
    while block := list(islice(pairs, BLOCK_PAIRS)):
        sources, targets = zip(*block, strict=True)
        yield list(sources), list(targets)


def sample_pairs(corpora: Sequence[Corpus], *, total: int, most: int) -> tuple[list[str], list[str]]:
    """Return at most `most` of the `total` pairs of all corpora, evenly spread."""
    step = max(1, -(-total // most))
    sources: list[str] = []
    targets: list[str] = []
    skip = step // 2
    for corpus in corpora:
        for source_lines, target_lines in read_blocks(corpus):
            sources += source_lines[skip::step]
            targets += target_lines[skip::step]
            skip = (skip - len(source_lines)) % step
    return sources, targets


def _text_files(corpus: Corpus) -> tuple[str, str] | None:
    if isinstance(corpus, FileCorpus) and corpus.source is not None and corpus.target is not None:
        return corpus.source, corpus.target
    return None
