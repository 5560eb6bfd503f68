"""The doctor's quick check before a training: the filtered text, or an excerpt, is examined once and cached."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from mt.data.corpus import Corpus
from mt.data.filters import Split
from mt.data.text_cache import PreparedText
from mt.doctor.examination import COPY, DUPLICATE, LEAK, LENGTH_RATIO
from mt.doctor.examine_all import Diagnosis, diagnose
from mt.doctor.reading import Excerpt
from mt.errors import DiskError, StoppedError
from mt.reporting import report
from mt.runs.atomic import replace_file

EXCERPT_PAIRS = 32_768  # about two seconds of work for a corpus of any size
FORMAT_VERSION = 3  # raised when the doctor learns something new
# The filters that remove a finding; they have been applied to the text already, where they are on.
FILTERS = {
    LEAK: "remove_held_out",
    COPY: "remove_copies",
    DUPLICATE: "remove_duplicates",
    LENGTH_RATIO: "max_length_ratio",
}
_FULL = "mt-inspect with the same options examines every line and writes a page"


@dataclass(frozen=True)
class QuickLook:
    """What the quick check found in `examined` of `pairs` training pairs: a line for each finding."""

    examined: int
    pairs: int
    findings: list[str]


def report_corpus_findings(
    prepared: PreparedText, *, languages: tuple[str, str], max_length_ratio: float, cache_dir: Path
) -> None:
    """Report each finding in a line. It changes nothing, and no error in it, except for a signal, ends the training."""
    try:
        seen = look(prepared, languages=languages, max_length_ratio=max_length_ratio, cache_dir=cache_dir)
    except StoppedError:
        raise
    except Exception as error:  # noqa: BLE001  an advice must not cost a training
        report(f"corpus doctor: could not look at the corpora ({type(error).__name__}: {error}); {_FULL}")
        return
    extent = f"{seen.pairs:,} pairs" if seen.examined >= seen.pairs else f"{seen.examined:,} of {seen.pairs:,} pairs"
    if not seen.findings:
        report(f"corpus doctor: nothing suspicious in {extent} ({_FULL})")
        return
    for finding in seen.findings:
        report(f"warning: corpus doctor: {finding}")
    report(f"corpus doctor: looked at {extent}, lines as in {prepared.folder}; {_FULL}")


def look(prepared: PreparedText, *, languages: tuple[str, str], max_length_ratio: float, cache_dir: Path) -> QuickLook:
    """Examine prepared text, at most `EXCERPT_PAIRS` pairs of each split; from the cache when it was seen before.

    `languages` are the codes of the source and the target language. Raises what reading the text raises.
    """
    what = [FORMAT_VERSION, EXCERPT_PAIRS, prepared.fingerprint, languages, max_length_ratio]
    name = hashlib.blake2b(json.dumps(what).encode(), digest_size=16).hexdigest()
    path = cache_dir / f"doctor-{name}.json"
    with suppress(OSError, ValueError, TypeError):
        return QuickLook(**json.loads(path.read_bytes()))
    splits: dict[str, list[Corpus]] = {
        split: [_excerpt(prepared, split, pairs)] for split, pairs in prepared.sizes.items()
    }
    diagnosis = diagnose(splits, languages=languages, max_length_ratio=max_length_ratio, tokenizers=None)
    seen = QuickLook(splits["train"][0].count_pairs(), prepared.report.kept, list(_sentences(diagnosis)))
    with suppress(DiskError, OSError):  # a disk that refuses costs only a second visit
        replace_file(path, json.dumps(asdict(seen), ensure_ascii=False).encode("utf-8", "replace"))
    return seen


def _excerpt(prepared: PreparedText, split: Split, pairs: int) -> Excerpt:
    source, target = str(prepared.path(split, "source")), str(prepared.path(split, "target"))
    return Excerpt(name=split, source=source, target=target, total=pairs, most=EXCERPT_PAIRS)


def _sentences(diagnosis: Diagnosis) -> Iterator[str]:
    proposed = {override.partition("=")[0].rpartition(".")[2]: override for override, _ in diagnosis.proposals}
    for finding in diagnosis.findings:
        advice = proposed.get(FILTERS.get(finding.kind, ""))
        yield f"{finding.split}: {finding.message}{f'; {advice} removes them' if advice else ''}"
