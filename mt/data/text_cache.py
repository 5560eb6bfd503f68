"""Corpora, filtered, as plain text files in a cache folder.

It holds `train.source`, `train.target` and the same for validation and test, one line per pair (`read_lines` gives
back exactly the texts), and `held_out.jsonl` with the training pairs that were removed because they are validation
or test pairs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

from mt.data.cache import Facts, cached_folder
from mt.data.corpus import Corpus
from mt.data.filters import FilterReport, FilterSettings, HeldOut, LearnedScore, Pair, PairFilter, Split
from mt.data.lines import blocks, encode_lines
from mt.errors import UserError
from mt.reporting import Progress

FORMAT_VERSION = 5
BLOCK_PAIRS = 8192
HELD_OUT_FILE = "held_out.jsonl"
Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True, kw_only=True)
class PreparedText:
    """The folder of the filtered text, and what the filters did; `fingerprint` differs when the text does."""

    folder: Path
    fingerprint: str
    report: FilterReport

    def path(self, split: Split, side: Side) -> Path:
        """Return the text file of one side of a split."""
        return self.folder / f"{split}.{side}"

    @property
    def sizes(self) -> dict[Split, int]:
        """The number of pairs of each split that there is."""
        return {"train": self.report.kept, **self.report.held_out}


def prepare_text(
    splits: Mapping[Split, Sequence[Corpus]],
    *,
    filters: FilterSettings,
    cache_dir: Path,
    learned: LearnedScore | None = None,
) -> PreparedText:
    """Return the filtered text of all corpora, from the cache when it is there. Only training pairs are filtered.

    `splits` has the corpora for training, and for validation and test where there are any; all are counted before
    anything is written.
    Raises UserError for a corpus that cannot be used or of which no pair is left, DiskError when writing fails.
    """
    fingerprints = {split: [corpus.fingerprint() for corpus in corpora] for split, corpora in splits.items()}
    origin: list[object] = [FORMAT_VERSION, asdict(filters), fingerprints]
    if learned is not None:
        origin.append([learned.minimum, learned.fingerprint])
    pair_filter = PairFilter(settings=filters, held_out=HeldOut(), learned=learned)
    folder, report = cached_folder(cache_dir, "text", origin, partial(_write_splits, splits, pair_filter))
    return PreparedText(folder=folder, fingerprint=folder.name, report=FilterReport(**report))


def _write_splits(splits: Mapping[Split, Sequence[Corpus]], pair_filter: PairFilter, folder: Path) -> Facts:
    """Write validation and test as they are and train filtered; return the report."""
    counts = {split: sum(corpus.count_pairs() for corpus in corpora) for split, corpora in splits.items()}
    with closing(Progress("reading the corpora", total=sum(counts.values()), unit="pairs")) as progress:
        for split in sorted(splits, key="train".__eq__):  # train last: it is searched for the others
            with (folder / f"{split}.source").open("wb") as source, (folder / f"{split}.target").open("wb") as target:
                for name, first_number, block in _blocks(splits[split]):
                    if split == "train":
                        _write_pairs((source, target), pair_filter.keep(block, corpus=name, first_number=first_number))
                    else:
                        _write_pairs((source, target), block)
                        pair_filter.held_out.add(split, block, first_number=first_number)
                    progress.advance(len(block))
    held_out = {split: count for split, count in counts.items() if split != "train"}
    report = pair_filter.report(held_out=held_out, corpora=[corpus.name for corpus in splits["train"]])
    if not report.kept:
        reasons = ", ".join(f"{count:,} for {reason}" for reason, count in report.dropped.items() if count)
        raise UserError(
            f"no training pair is left of {report.read:,}: dropped {reasons}; check data.train and data.filters"
        )
    leaks = "".join(json.dumps(asdict(leak), ensure_ascii=False) + "\n" for leak in pair_filter.leaks)
    (folder / HELD_OUT_FILE).write_bytes(leaks.encode(errors="replace"))
    return asdict(report)


def _blocks(corpora: Sequence[Corpus]) -> Iterator[tuple[str, int, list[Pair]]]:
    """Yield the corpora in blocks with the corpus' name and the number, from 1, of the block's first pair in it."""
    for corpus in corpora:
        for number, block in enumerate(blocks(corpus.pairs(), BLOCK_PAIRS)):
            yield corpus.name, 1 + number * BLOCK_PAIRS, block


def _write_pairs(streams: Sequence[BinaryIO], pairs: Sequence[Pair]) -> None:
    for stream, lines in zip(streams, zip(*pairs, strict=True), strict=False):
        stream.write(encode_lines(lines, at_file_start=stream.tell() == 0))
