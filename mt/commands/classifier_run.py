"""What commands share about classifiers of texts or of pairs: loading them, labels, and scores."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mt.api import load_tokenizers, trained_model
from mt.config.schema import LabelledData, TrainConfig
from mt.data.corpus import labelled_corpus
from mt.data.lines import read_lines
from mt.data.text_cache import PreparedText
from mt.errors import UserError
from mt.figures.confusion import confusion_picture
from mt.reporting import report
from mt.runs.folder import CONFUSION, held_out_text, load_run
from mt.runtime import choose_device
from mt.translation.classifier import Classifier, label_scores
from mt.translation.scoring import ScoredText, save_scores, text_of_split

_MOST_LABELS, _MOST_LISTED = 1000, 20


def scored_split(run_dir: Path) -> str | None:
    """The split that a classifier is scored on at its end: test, or validation where there is none."""
    splits = [split for split in ("test", "validation") if held_out_text(run_dir, split, "source").exists()]
    if not splits:
        report("no scores: there is neither a test nor a validation split")
    return splits[0] if splits else None


def classifier_of_run(run_dir: Path, device: str = "auto") -> Classifier:
    """The classifier that a finished run delivered. Raises BadFileError for a damaged one."""
    run, model = load_run(run_dir), trained_model(run_dir, choose_device(device))
    labels = run.data.labels or [] if isinstance(run.data, LabelledData) else []
    return Classifier(model.eval(), load_tokenizers(run, run_dir)[1], run.data.filters.max_tokens, labels)


def score_labelled_run(config: TrainConfig, run_dir: Path) -> None:
    """Score the delivered classifier of texts at the end of its run. Raises DiskError."""
    if split := scored_split(run_dir):
        score_labels(classifier_of_run(run_dir, config.device), text_of_split(run_dir, config, split), run_dir)


def labels_of(data: LabelledData, text: PreparedText) -> list[str]:
    """The labels that the data names or, sorted, those of the training texts. Raises UserError for other labels."""
    labels = data.labels or sorted(set(read_lines(str(text.path("train", "target")))))
    if not 1 < len(labels) <= _MOST_LABELS:
        raise UserError(
            f"data.train: {data.train} has {len(labels):,} different labels, but a classifier knows 2 to "
            f"{_MOST_LABELS:,}; a line of it is a text, a tab and a label, or has the fields text and label"
        )
    paths = [data.validation, data.test, data.train if data.labels else None]
    for path in filter(None, paths):
        labelled_lines(path, labels)
    return labels


def labelled_lines(path: str, labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """The texts of a file and their labels. Raises UserError for a label that is not among `labels`, and for none."""
    pairs = list(labelled_corpus(path).pairs())
    found = [label for _, label in pairs]
    check_labels(path, found, labels)
    return [text for text, _ in pairs], found


def check_labels(path: str, found: Sequence[str], labels: Sequence[str]) -> None:
    """Refuse labels of a file that are not among `labels`, and a file without any. Raises UserError."""
    known = set(labels)
    for number, label in enumerate(found, start=1):
        if label not in known:
            raise UserError(f"{path}, line {number}: the label {label!r} is not among the {len(labels):,} of training")
    if not found:
        raise UserError(f"{path}: has no text with a label")


def score_labels(classifier: Classifier, text: ScoredText, folder: Path) -> None:
    """Save and print how well the labels of a text's lines are found, with a picture. Raises DiskError."""
    texts, real = text.lines
    found = [one.text for one in classifier.translate(texts)]
    scores = label_scores(found, real, classifier.labels)
    interval = f"95 % interval {scores.accuracy_low:.2f} to {scores.accuracy_high:.2f}"
    accuracy = f"accuracy {scores.accuracy:.2f} %  ({interval}, {scores.texts:,} texts)"
    least = sorted(scores.f1.items(), key=lambda one: one[1])[:_MOST_LISTED]
    shown = [f"{accuracy}  macro F1 {scores.macro_f1:.2f} %", *(f"{label:<20} F1 {f1:.2f} %" for label, f1 in least)]
    picture = confusion_picture(scores.confusion, classifier.labels)
    values = {"scored": text.about, "labels": list(classifier.labels), **asdict(scores)}
    save_scores(folder, values, "\n".join(shown), **{CONFUSION: picture})
