"""Corpora, filtered, as plain text files in a cache folder: written once, whole or not at all, then reused.

A folder is named by a hash of everything that its content depends on, so a changed corpus or filter finds
another folder. It holds `train.source`, `train.target` and the same for validation and test, one line per
pair (`read_lines` gives back exactly the texts); `held_out.jsonl` with the training pairs that were removed
because they are validation or test pairs; and `report.json`.
"""

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from mt.data.corpus import Corpus
from mt.data.filters import FilterReport, HeldOut, PairFilter
from mt.data.lines import encode_lines
from mt.errors import DiskError, UserError
from mt.reporting import Progress

FORMAT_VERSION = 1
BLOCK_PAIRS = 8192
ABANDONED_SECONDS = 86400.0
REPORT_FILE = "report.json"
HELD_OUT_FILE = "held_out.jsonl"
Split = Literal["train", "validation", "test"]
Side = Literal["source", "target"]
Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class PreparedText:
    """Where the filtered text lies, and what the filters did; `fingerprint` differs when the text does."""

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
        remove_abandoned(cache_dir, "text-*.partial")
        partial = folder.with_name(f"{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
        try:
            partial.mkdir(parents=True)
            pair_filter = _write_splits(partial, splits, counts, filters)
            report = pair_filter.report(validation=counts.get("validation"), test=counts.get("test"))
            _write_report(partial, report)
            report = _publish(partial, folder, report)
        except OSError as error:
            raise DiskError(
                f"cannot write the text cache {folder}: {error.strerror or error}; "
                "free some space, or set data.cache_dir to another folder"
            ) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return PreparedText(folder=folder, fingerprint=fingerprint, report=report)


def _fingerprint(splits: Mapping[Split, Sequence[Corpus]], filters: Mapping[str, object]) -> str:
    content = {
        "format": FORMAT_VERSION,
        "filters": filters,
        "splits": {split: [corpus.fingerprint() for corpus in corpora] for split, corpora in splits.items()},
    }
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode("utf-8"), digest_size=16).hexdigest()


def _write_splits(
    folder: Path, splits: Mapping[Split, Sequence[Corpus]], counts: Mapping[Split, int], filters: Mapping[str, Any]
) -> PairFilter:
    """Write validation and test as they are and train filtered; return the filter with its counts."""
    held_out = HeldOut()
    pair_filter = PairFilter(
        max_length_ratio=filters["max_length_ratio"],
        remove_copies=filters["remove_copies"],
        remove_duplicates=filters["remove_duplicates"],
        held_out=held_out if filters["remove_held_out"] else None,
    )
    with closing(Progress("reading the corpora", total=sum(counts.values()), unit="pairs")) as progress:
        for split in sorted(splits, key="train".__eq__):  # train last: it is searched for the others
            with closing(_PairFiles(folder, split)) as files:
                for name, first_number, block in _blocks(splits[split]):
                    if split == "train":
                        files.write(pair_filter.keep(block, corpus=name, first_number=first_number))
                    else:
                        files.write(block)
                        held_out.add(split, block, first_number=first_number)
                    progress.advance(len(block))
    leaks = "".join(json.dumps(asdict(leak), ensure_ascii=False) + "\n" for leak in pair_filter.leaks)
    _write_synced(folder / HELD_OUT_FILE, leaks.encode("utf-8"))
    if pair_filter.read == pair_filter.dropped.total():
        reasons = ", ".join(f"{count:,} for {reason}" for reason, count in pair_filter.dropped.items())
        raise UserError(f"no training pair is left of {pair_filter.read:,}: dropped {reasons}; check data.train")
    return pair_filter


def _blocks(corpora: Sequence[Corpus]) -> Iterator[tuple[str, int, list[Pair]]]:
    """Yield the corpora in blocks with the corpus' name and the number, from 1, of the block's first pair in it."""
    for corpus in corpora:
        pairs, first_number = corpus.pairs(), 1
        while block := list(islice(pairs, BLOCK_PAIRS)):
            yield corpus.name, first_number, block
            first_number += len(block)


class _PairFiles:
    """The two text files of a split, written side by side and synced to the disk when closed."""

    def __init__(self, folder: Path, split: Split) -> None:
        self._streams = [(folder / f"{split}.{side}").open("wb") for side in ("source", "target")]
        self._at_start = True

    def write(self, pairs: Sequence[Pair]) -> None:
        for stream, lines in zip(self._streams, zip(*pairs, strict=True), strict=False):
            data = encode_lines(lines, at_file_start=self._at_start)
            if data.count(b"\n") != len(lines):
                raise ValueError("a corpus yielded a text with a line break in it")
            stream.write(data)
        self._at_start = self._at_start and not pairs

    def close(self) -> None:
        for stream in self._streams:
            with stream:
                stream.flush()
                os.fsync(stream.fileno())


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _write_report(folder: Path, report: FilterReport) -> None:
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    content = {"report": asdict(report), "file_sizes_bytes": sizes}
    _write_synced(folder / REPORT_FILE, (json.dumps(content, indent=2) + "\n").encode("utf-8"))


def _read_report(folder: Path) -> FilterReport | None:
    """Return the report of a prepared folder, or None when the folder is missing or not as it was written."""
    try:
        content = json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.name != REPORT_FILE}
        return FilterReport(**content["report"]) if sizes == content["file_sizes_bytes"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove_abandoned(cache_dir: Path, pattern: str) -> None:
    """Delete what a killed process left half written: nobody writes for longer than `ABANDONED_SECONDS`."""
    for partial in cache_dir.glob(pattern):
        with suppress(OSError):
            if time.time() - partial.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(partial, ignore_errors=True)


def _publish(partial: Path, folder: Path, report: FilterReport) -> FilterReport:
    """Give a finished folder its name; a sound one that another process published first stays and counts."""
    try:
        partial.rename(folder)
    except OSError:
        if (earlier := _read_report(folder)) is not None:
            return earlier
        folder.rename(partial.with_suffix(".damaged"))
        shutil.rmtree(partial.with_suffix(".damaged"), ignore_errors=True)
        partial.rename(folder)
    return report
