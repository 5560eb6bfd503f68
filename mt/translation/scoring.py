"""Translating a held-out text and saving its scores in the run folder.

The test split's scores are at the top of the run folder. Everything else that is scored with the run has a folder of
its own there: `evaluations/validation`, or `evaluations/` and the name of the reference file. Another text of the same
name, or another way of decoding, takes the next number: `evaluations/validation-2`. Folders of what the training scores
are for its own search alone.
"""

import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mt.config.schema import Decoding, Expected, TaskData, TrainConfig
from mt.data.lines import count_lines, encode_lines, read_lines
from mt.errors import BadFileError, UserError
from mt.reporting import report
from mt.runs.atomic import LARGEST_SCORES_BYTES, check_file, disk_error, read_file, read_json, replace_file
from mt.runs.folder import (
    CONFIG,
    EVALUATIONS,
    HYPOTHESES,
    SCORES,
    held_out_text,
    load_run,
    scored_splits,
    scores_path,
)
from mt.translation.evaluation import Scores, corpus_scores, format_exact_match, format_scores
from mt.translation.translator import Translator


@dataclass(frozen=True)
class ScoredText:
    """Sources and their references, or labels; `name` is of a folder, and `about` what the scores say of the text."""

    name: str
    about: str
    lines: tuple[list[str], list[str]]


def text_of_split(run_dir: Path, run: TrainConfig, split: str) -> ScoredText:
    """A held-out split of a run. Raises as `split_lines` does."""
    return ScoredText(split, f"{split} split of {run.data.name}", split_lines(run_dir, split))


def text_of_files(source: str, reference: str) -> ScoredText:
    """A file with its references in another. Raises UserError when they do not pair line by line."""
    return ScoredText(Path(reference).name, f"{source} against {reference}", paired_lines(source, reference))


def as_language(text: ScoredText, run: TrainConfig, language: str) -> ScoredText:
    """The text with a remark that it is scored as another language than the run's, by another tokeniser."""
    own = language == run.data.target_language
    return text if own else replace(text, about=f"{text.about}, as {language or 'any language'}")


def score_split(
    run_dir: Path, translator: Translator, split: str, run: TrainConfig, *, language: str, decoding: Decoding
) -> None:
    """Translate a held-out split in the run folder; save the scores with the `decoding` options, and print.

    On the test split they are compared with what the run expects of its own search. Raises as `split_lines` does.
    """
    text = as_language(text_of_split(run_dir, run, split), run, language)
    report(f"translating the {split} split: {len(text.lines[0]):,} sentences, beam {translator.search.beam_size}")
    form = format_exact_match if isinstance(run.data, TaskData) else format_scores
    expected = run.expected if split == "test" else None
    changed = _differences(asdict(run.decoding), asdict(decoding))
    if language != run.data.target_language:
        changed["target_language"] = run.data.target_language
    first = None if changed else scores_path(run_dir, split).parent
    options: dict[str, Any] = {"first": first, "expected": None if changed else expected, "form": form}
    translate_and_score(run_dir, translator, text, language=language, decoding=decoding, **options)
    if expected is not None and changed:
        names = (key if key == "target_language" else f"decoding.{key}" for key in changed)
        typed = " ".join(f"{name}={json.dumps(value)}" for name, value in zip(names, changed.values(), strict=True))
        report(f"not compared with the expected BLEU {expected.bleu:.2f}, which is of the run's own search: {typed}")


def save_scores(folder: Path, values: Mapping[str, object], shown: str, **files: bytes) -> None:
    """Write scores, and further files by their names, into a folder, and print what is `shown`. Raises DiskError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            replace_file(folder / name, content)
        replace_file(folder / SCORES, json.dumps(values, indent=1).encode())
        report(f"{folder}: {', '.join([*files, SCORES])}")
    except OSError as error:
        raise disk_error(folder, error) from error
    finally:
        print(shown, flush=True)  # also when the disk is full


def own_folder(run_dir: Path, name: str, about: Mapping[str, Any], *, first: Path | None = None) -> Path:
    """The folder `first`, else the one of a name or with a number, whose scores are of the same text and options.

    Or that has none, or damaged ones. Folders of what the training scores are for that alone, as `first`. Raises
    BadFileError for scores that are not a file.
    """
    if first is not None:
        if (first / SCORES).exists():
            check_file(first / SCORES)
        return first
    own = scored_splits(load_run(run_dir)) if (run_dir / CONFIG).exists() else []
    named, of_training = run_dir / EVALUATIONS / name, [scores_path(run_dir, split).parent for split in own]
    folder = named
    for number in itertools.count(2):
        if folder not in of_training:
            if not (folder / SCORES).exists():
                break
            try:
                scores = dict(json.loads(read_file(folder / SCORES, LARGEST_SCORES_BYTES)))
            except (ValueError, TypeError, RecursionError):
                break
            same_text = scores.get("scored") == about["scored"]
            if same_text and not _differences(about.get("decoding", {}), scores.get("decoding", {})):
                break
        folder = named.with_name(f"{named.name}-{number}")
    return folder


def is_scored(run_dir: Path, split: str, decoding: Decoding) -> bool:
    """Whether the scores that a training ends with are there for a split, by this search, and whole.

    That is with a hypothesis for each sentence.
    """
    path = scores_path(run_dir, split)
    try:
        scores = read_json(path, LARGEST_SCORES_BYTES)
        hypotheses = count_lines(str(path.with_name(HYPOTHESES)))
    except (BadFileError, UserError):
        return False
    numbers = all(isinstance(scores.get(name), int | float) for name in ("bleu", "chrf", "exact_match", "seconds"))
    described = {"bleu_signature", "chrf_signature", "decoding"} <= scores.keys()
    whole = numbers and described and scores.get("sentences") == hypotheses
    return whole and not _differences(asdict(decoding), scores["decoding"])


def _differences(search: Mapping[str, Any], other: Any) -> dict[str, Any]:
    """The options of `search` whose values differ in `other`; all of them where `other` is not a search.

    The size of batches changes no translation, and options that only one of the two has are not compared.
    """
    if not isinstance(other, Mapping):
        return dict(search)
    compared = search.keys() & other.keys() - {"batch_tokens"}
    return {key: value for key, value in search.items() if key in compared and other[key] != value}


def split_lines(run_dir: Path, split: str) -> tuple[list[str], list[str]]:
    """The sources and references of a split in the run folder.

    Raises UserError when the run has no such split, BadFileError for one that is not a file.
    """
    source, target = (held_out_text(run_dir, split, side) for side in ("source", "target"))
    if Path(split).name != split or not source.exists():
        raise UserError(f"{run_dir}: its data has no {split} split; mt-evaluate takes source=FILE reference=FILE too")
    check_file(source)
    check_file(target)
    return paired_lines(str(source), str(target))


def paired_lines(first: str, second: str) -> tuple[list[str], list[str]]:
    """The lines of two files. Raises UserError when the counts differ."""
    sides = list(read_lines(first)), list(read_lines(second))
    if len(sides[0]) != len(sides[1]):
        counts = f"{first} has {len(sides[0])} lines but {second} has {len(sides[1])}"
        raise UserError(f"{counts}: they must pair line by line")
    return sides


def compare(expected: Expected, scores: Scores) -> str:
    """Return a line that says whether BLEU is within the tolerance of what a recipe expects.

    A score far above does not reproduce it either: something differs from the recipe.
    """
    bleu = scores.bleu if expected.form == "sacrebleu" else scores.bleu_compound_split
    if bleu is None:
        return f"expected: BLEU {expected.bleu:.2f} in the form {expected.form}, which this language does not have"
    difference, promise = bleu - expected.bleu, f"expected {expected.bleu:.2f} ± {expected.tolerance:.2f}"
    if abs(difference) <= expected.tolerance:
        return f"reproduced: BLEU {bleu:.2f}, {promise}"
    return f"NOT reproduced: BLEU {bleu:.2f}, {abs(difference):.2f} {'above' if difference > 0 else 'below'}; {promise}"


def translate_and_score(
    run_dir: Path,
    translator: Translator,
    text: ScoredText,
    *,
    language: str,
    decoding: Decoding,
    first: Path | None = None,
    expected: Expected | None = None,
    form: Callable[[Scores], str] = format_scores,
) -> None:
    """Translate a text, save its scores in `first`, else in a folder of its own, and print. Raises DiskError."""
    about = {"scored": text.about, "decoding": asdict(decoding)}
    folder = own_folder(run_dir, text.name, about, first=first)
    (sources, references), start = text.lines, time.monotonic()
    hypotheses = [translation.text for translation in translator.translate_all(sources)]
    seconds = time.monotonic() - start
    scores = corpus_scores(hypotheses=hypotheses, references=references, target_language=language)
    lines = [form(scores), *([] if expected is None else [compare(expected, scores)])]
    values = {**about, **asdict(scores), "signature": scores.bleu_signature, "seconds": round(seconds, 3)}
    report(f"{len(hypotheses):,} sentences in {seconds:.1f} s")
    save_scores(folder, values, "\n".join(lines), **{HYPOTHESES: encode_lines(hypotheses, at_file_start=True)})
