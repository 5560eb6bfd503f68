"""The doctor's quick check before a training: the filtered text, or blocks of a long one, is examined."""

from mt.data.corpus import Corpus, FileCorpus
from mt.data.filters import Split
from mt.data.text_cache import PreparedText
from mt.doctor.examination import examine
from mt.doctor.findings import findings
from mt.errors import StoppedError
from mt.reporting import report

MOST_PAIRS = 30_000  # of a split: about two seconds of work, and the time to read the text
_FULL = "mt-inspect with the same options examines every line and writes a page"


def report_corpus_findings(prepared: PreparedText, *, languages: tuple[str, str], max_length_ratio: float) -> None:
    """Report each finding in a line. It changes nothing, and no error in it, except for a signal, ends the training.

    `languages` are the codes of the source and the target language.
    """
    splits: dict[Split, list[Corpus]] = {}
    for split in prepared.sizes:
        source, target = (str(prepared.path(split, side)) for side in ("source", "target"))
        splits[split] = [FileCorpus(source=source, target=target, source_language="", target_language="")]
    try:
        examination = examine(splits, max_length_ratio=max_length_ratio, most_pairs=MOST_PAIRS)
        found = findings(examination, declared=languages)
    except StoppedError:
        raise
    except Exception as error:  # noqa: BLE001  an advice must not cost a training
        report(f"corpus doctor: could not look at the corpora ({type(error).__name__}: {error}); {_FULL}")
        return
    examined, pairs = examination.corpora[0].lengths.shape[1], prepared.report.kept
    extent = f"{pairs:,} pairs" if examined == pairs else f"{examined:,} of {pairs:,} pairs"
    if not found:
        report(f"corpus doctor: nothing suspicious in {extent} ({_FULL})")
        return
    for finding in found:
        report(f"warning: corpus doctor: {finding.split}: {finding.message}")
    report(f"corpus doctor: looked at {extent}, lines as in {prepared.folder}; {_FULL}")
