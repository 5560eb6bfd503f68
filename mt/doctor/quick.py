"""The short visit at the start of a training: the filtered text, or an excerpt of it, examined once and remembered."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from mt.data.corpus import Corpus
from mt.data.text_cache import PreparedText, Side, Split
from mt.doctor.examination import COPY, DUPLICATE, LEAK, LENGTH_RATIO
from mt.doctor.examine_all import Diagnosis, diagnose
from mt.doctor.reading import Excerpt

EXCERPT_PAIRS = 32_768  # about two seconds of work, whatever the corpus holds
FORMAT_VERSION = 2  # raised when the doctor learns something new
# The filters that remove a finding; they have been applied to the text already, where they are on.
FILTERS = {
    LEAK: "remove_held_out",
    COPY: "remove_copies",
    DUPLICATE: "remove_duplicates",
    LENGTH_RATIO: "max_length_ratio",
}


@dataclass(frozen=True)
class QuickLook:
    """What the short visit found in `examined` of `pairs` training pairs: a line for each finding."""

    examined: int
    pairs: int
    findings: list[str]


def look(prepared: PreparedText, *, languages: tuple[str, str], max_length_ratio: float, cache_dir: Path) -> QuickLook:
    """Examine prepared text, at most `EXCERPT_PAIRS` pairs of each split; from the cache when it was seen before.

    `languages` are the codes of the source and the target language. Raises what reading the text raises.
    """
    what = [FORMAT_VERSION, EXCERPT_PAIRS, prepared.fingerprint, languages, max_length_ratio]
    name = hashlib.blake2b(json.dumps(what).encode(), digest_size=16).hexdigest()
    path = cache_dir / f"doctor-{name}.json"
    with suppress(OSError, ValueError, TypeError):
        return QuickLook(**json.loads(path.read_bytes()))
    sizes: list[tuple[Split, int | None]] = [
        ("train", prepared.report.kept),
        ("validation", prepared.report.validation),
        ("test", prepared.report.test),
    ]
    splits: dict[str, list[Corpus]] = {
        split: [_excerpt(prepared, split, pairs)] for split, pairs in sizes if pairs is not None
    }
    diagnosis = diagnose(splits, languages=languages, max_length_ratio=max_length_ratio, tokenizers=None)
    seen = QuickLook(
        examined=splits["train"][0].count_pairs(), pairs=prepared.report.kept, findings=list(_words(diagnosis))
    )
    _remember(path, seen)
    return seen


def _excerpt(prepared: PreparedText, split: Split, pairs: int) -> Excerpt:
    sides: tuple[Side, Side] = ("source", "target")
    source, target = (str(prepared.path(split, side)) for side in sides)
    return Excerpt(name=split, source=source, target=target, total=pairs, most=EXCERPT_PAIRS)


def _words(diagnosis: Diagnosis) -> Iterator[str]:
    proposed = {override.partition("=")[0].rpartition(".")[2]: override for override, _ in diagnosis.proposals}
    for finding in diagnosis.findings:
        advice = proposed.get(FILTERS.get(finding.kind, ""))
        yield f"{finding.split}: {finding.message}{f'; {advice} removes them' if advice else ''}"


def _remember(path: Path, seen: QuickLook) -> None:
    """Write the result where the next start finds it, whole; a disk that refuses costs a second visit only."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with suppress(OSError):
        partial.write_text(json.dumps(asdict(seen), ensure_ascii=False), encoding="utf-8")
        partial.replace(path)
    with suppress(OSError):
        partial.unlink()
