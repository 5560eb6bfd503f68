"""What the corpus doctor's short visit says before a training begins."""

from pathlib import Path

from mt.config.schema import TrainConfig
from mt.data.text_cache import PreparedText
from mt.doctor.quick import QuickLook, look
from mt.errors import StoppedError
from mt.reporting import report

_FULL = "mt-inspect with the same options examines every line and writes a page"


def report_corpus_findings(config: TrainConfig, prepared: PreparedText) -> None:
    """A line for each finding. It changes nothing, and whatever happens in it, but for a signal, training goes on."""
    try:
        seen = look(
            prepared,
            languages=(config.data.source_language, config.data.target_language),
            max_length_ratio=config.data.filters.max_length_ratio,
            cache_dir=Path(config.data.cache_dir),
        )
    except StoppedError:
        raise
    except Exception as error:  # noqa: BLE001  an advice must not cost a training
        report(f"corpus doctor: could not look at the corpora ({type(error).__name__}: {error}); {_FULL}")
        return
    if not seen.findings:
        report(f"corpus doctor: nothing suspicious in {_extent(seen)} ({_FULL})")
        return
    for finding in seen.findings:
        report(f"warning: corpus doctor: {finding}")
    report(f"corpus doctor: looked at {_extent(seen)}, lines as in {prepared.folder}; {_FULL}")


def _extent(seen: QuickLook) -> str:
    return f"{seen.examined:,} of {seen.pairs:,} pairs" if seen.examined < seen.pairs else f"{seen.pairs:,} pairs"
