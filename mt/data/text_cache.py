"""Corpora, filtered, as plain text files in a cache folder: written once, whole or not at all, then reused.

A folder is named by a hash of everything that its content depends on, so a changed corpus or filter finds
another folder. It holds `train.source`, `train.target` and the same for validation and test, one line per
pair (`read_lines` gives back exactly the texts); `held_out.jsonl` with the training pairs that were removed
because they are validation or test pairs; and `report.json`.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

from mt.data.cache import publish_folder
from mt.data.corpus import Corpus
from mt.data.filters import FilterReport, HeldOut, PairFilter
from mt.data.lines import encode_lines
from mt.errors import UserError
from mt.reporting import Progress

FORMAT_VERSION = 1
BLOCK_PAIRS = 8192
REPORT_FILE = "report.json"
HELD_OUT_FILE = "held_out.jsonl"
Split = Literal["train", "validation", "test"]
Side = Literal["source", "target"]
Pair = tuple[str, str]


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
    def held_out_path(self) -> Path:
        """The list of training pairs removed because validation or test has them: one JSON object per pair."""
        return self.folder / HELD_OUT_FILE


def prepare_text(
    *,
    train: Sequence[Corpus],
    validation: Corpus | None,
    test: Corpus | None,
    max_length_ratio: float,
    remove_copies: bool,
    remove_duplicates: bool,
    remove_held_out: bool,
    cache_dir: Path,
) -> PreparedText:
    """Return the filtered text of all corpora, from the cache when it is there. Only training pairs are filtered.

    All corpora are counted before anything is written. Several processes may prepare the same text at once.
    Raises UserError for a corpus that cannot be used or of which no pair is left, DiskError when writing fails.
    """
    splits: dict[Split, Sequence[Corpus]] = {"train": train}
    splits |= {"validation": [validation]} if validation is not None else {}
    splits |= {"test": [test]} if test is not None else {}
    filters = {
        "max_length_ratio": float(max_length_ratio),
        "remove_copies": remove_copies,
        "remove_duplicates": remove_duplicates,
        "remove_held_out": remove_held_out,
    }
    fingerprint = _fingerprint(splits, filters)
    folder = cache_dir / f"text-{fingerprint}"
    report = _read_report(folder)
    if report is None:
        counts = {split: sum(corpus.count_pairs() for corpus in corpora) for split, corpora in splits.items()}
        write = partial(_write_splits, splits=splits, counts=counts, filters=filters)
        report = publish_folder(folder, write, is_whole=lambda: _read_report(folder) is not None)
    return PreparedText(folder=folder, fingerprint=fingerprint, report=report)


def _fingerprint(splits: Mapping[Split, Sequence[Corpus]], filters: Mapping[str, object]) -> str:
    content = {
        "format": FORMAT_VERSION,
        "filters": filters,
        "splits": {split: [corpus.fingerprint() for corpus in corpora] for split, corpora in splits.items()},
    }
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode("utf-8"), digest_size=16).hexdigest()


def _write_splits(
    folder: Path, *, splits: Mapping[Split, Sequence[Corpus]], counts: Mapping[Split, int], filters: Mapping[str, Any]
) -> FilterReport:
    """Write validation and test as they are, train filtered, and the report."""
    held_out = HeldOut()
    pair_filter = PairFilter(
        max_length_ratio=filters["max_length_ratio"],
        remove_copies=filters["remove_copies"],
        remove_duplicates=filters["remove_duplicates"],
        held_out=held_out if filters["remove_held_out"] else None,
    )
    with closing(Progress("reading the corpora", total=sum(counts.values()), unit="pairs")) as progress:
        for split in sorted(splits, key="train".__eq__):  # train last: it is searched for the others
            with (folder / f"{split}.source").open("wb") as source, (folder / f"{split}.target").open("wb") as target:
                for name, first_number, block in _blocks(splits[split]):
                    if split == "train":
                        _write_pairs((source, target), pair_filter.keep(block, corpus=name, first_number=first_number))
                    else:
                        _write_pairs((source, target), block)
                        held_out.add(split, block, first_number=first_number)
                    progress.advance(len(block))
    if pair_filter.read == pair_filter.dropped.total():
        reasons = ", ".join(f"{count:,} for {reason}" for reason, count in pair_filter.dropped.items())
        raise UserError(f"no training pair is left of {pair_filter.read:,}: dropped {reasons}; check data.train")
    leaks = "".join(json.dumps(asdict(leak), ensure_ascii=False) + "\n" for leak in pair_filter.leaks)
    (folder / HELD_OUT_FILE).write_bytes(leaks.encode("utf-8"))
    report = pair_filter.report(validation=counts.get("validation"), test=counts.get("test"))
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    content = {"report": asdict(report), "file_sizes_bytes": sizes}
    (folder / REPORT_FILE).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return report


def _blocks(corpora: Sequence[Corpus]) -> Iterator[tuple[str, int, list[Pair]]]:
    """Yield the corpora in blocks with the corpus' name and the number, from 1, of the block's first pair in it."""
    for corpus in corpora:
        pairs, first_number = corpus.pairs(), 1
        while block := list(islice(pairs, BLOCK_PAIRS)):
            yield corpus.name, first_number, block
            first_number += len(block)


def _write_pairs(streams: Sequence[BinaryIO], pairs: Sequence[Pair]) -> None:
    for stream, lines in zip(streams, zip(*pairs, strict=True), strict=False):
        data = encode_lines(lines, at_file_start=stream.tell() == 0)
        if data.count(b"\n") != len(lines):
            raise ValueError("a corpus yielded a text with a line break in it")
        stream.write(data)


def _read_report(folder: Path) -> FilterReport | None:
    """Return the report of a prepared folder, or None when the folder is missing or not as it was written."""
    try:
        content = json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.name != REPORT_FILE}
        return FilterReport(**content["report"]) if sizes == content["file_sizes_bytes"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
