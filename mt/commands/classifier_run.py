"""What the run of a classifier of texts or of pairs does otherwise than that of a translator: examples, validation.

And for texts the labels and their scores.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from mt import build
from mt.api import load_tokenizers, trained_model
from mt.config.schema import LabelledData, TrainConfig
from mt.data.batch import Batch
from mt.data.corpus import labelled_corpus
from mt.data.lines import read_lines
from mt.data.loader import validation_batches
from mt.data.pair_faults import examples, read_pairs
from mt.data.rows import LabelledRows, make_row_batch, rows_of_texts
from mt.data.text_cache import PreparedText, Side
from mt.errors import UserError
from mt.figures.confusion import confusion_picture
from mt.model.decoder_only import AnyTransformer
from mt.reporting import report
from mt.runs.atomic import replace_file
from mt.runs.folder import CONFUSION, SCORES, held_out_text, load_run
from mt.runtime import choose_device
from mt.training.trainer import Validation, accuracy, validation_loss
from mt.translation.classifier import Classifier, label_scores

_MOST_LABELS, _MOST_LISTED = 1000, 20


def training_examples(config: TrainConfig, text: PreparedText, *, epoch: int) -> LabelledRows:
    """The examples of an epoch, a pure function of the seed and the epoch; of pairs some with faults."""
    return _examples(config, [text.path("train", side) for side in get_args(Side)], seed=(config.seed, epoch))


def held_out_examples(config: TrainConfig, batch_tokens: int) -> list[Batch]:
    """The validation split, of pairs every other with a fault, always the same; empty without one."""
    paths = [held_out_text(Path(config.run_dir), "validation", side) for side in get_args(Side)]
    if not all(path.exists() for path in paths):
        return []
    rows = _examples(config, paths, seed=(0, 0))
    return list(validation_batches(rows, batch_tokens=batch_tokens, make_batch=make_row_batch))


def _examples(config: TrainConfig, paths: Sequence[Path], *, seed: tuple[int, int]) -> LabelledRows:
    _, tokenizer = load_tokenizers(config, Path(config.run_dir))
    pairs = read_pairs(*paths, seed=seed)
    texts: Sequence[Sequence[str]]
    if isinstance(config.data, LabelledData):
        number = {label: index for index, label in enumerate(config.data.labels or [])}
        texts, classes = [(text,) for text, _ in pairs], [number[label] for _, label in pairs]
    else:
        texts, classes = examples(pairs, seed=str(seed))
    return LabelledRows(rows_of_texts(texts, tokenizer, max_tokens=config.data.filters.max_tokens), classes)


def classifier_validation(
    config: TrainConfig, model: AnyTransformer, batch_tokens: int
) -> Callable[[], Validation] | None:
    """The loss on the validation split, in nats per row, and the accuracy; None without one."""
    batches = held_out_examples(config, batch_tokens)
    loss = build.validation_loss(model, config.training)
    autocast = build.training_autocast(config.training, next(model.parameters()).device)

    def validate() -> Validation:
        smoothed, nll = validation_loss(loss, batches, autocast=autocast)
        right = accuracy(loss, batches, autocast=autocast)
        return Validation(loss=smoothed, nll=nll, bleu=None, accuracy=right)

    return validate if batches else None


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


def score_labels(
    classifier: Classifier, texts: Sequence[str], real: Sequence[str], folder: Path, *, scored: str
) -> None:
    """Save and print how well the labels of texts are found, with a picture. Raises DiskError."""
    found = [one.text for one in classifier.translate(texts)]
    scores = label_scores(found, real, classifier.labels)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / CONFUSION, confusion_picture(scores.confusion, classifier.labels))
    values = {"scored": scored, "labels": list(classifier.labels), **asdict(scores)}
    replace_file(folder / SCORES, json.dumps(values, indent=1, ensure_ascii=False).encode(errors="replace"))
    interval = f"95 % interval {scores.accuracy_low:.2f} to {scores.accuracy_high:.2f}"
    print(f"accuracy {scores.accuracy:.2f} %  ({interval}, {scores.texts:,} texts)  macro F1 {scores.macro_f1:.2f} %")
    for label, f1 in sorted(scores.f1.items(), key=lambda one: one[1])[:_MOST_LISTED]:
        print(f"{label:<20} F1 {f1:.2f} %")
    report(f"{folder / SCORES}, {folder / CONFUSION}")
