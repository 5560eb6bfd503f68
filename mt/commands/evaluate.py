"""mt-evaluate: sacreBLEU scores on raw references, printed and saved.

`evaluation.json` and `hypotheses.txt` of a run folder are of its own test split. What else is scored with the run
has its own folder there: `evaluations/validation`, or `evaluations/` and the name of the reference file, with a number
behind it where that name is taken by other files.
"""

import itertools
import json
import time
from dataclasses import asdict
from pathlib import Path

from mt import build
from mt.config.schema import EvaluateConfig, Expected, TrainConfig
from mt.data.lines import encode_lines, read_lines
from mt.errors import UserError
from mt.reporting import report
from mt.runs.atomic import disk_error, replace_file
from mt.runs.folder import load_run
from mt.runtime import keep_freed_memory
from mt.translation.evaluation import Scores, check_scorable, compare, corpus_scores, format_scores
from mt.translation.translator import Translator

OTHER_EVALUATIONS, SCORES, HYPOTHESES = "evaluations", "evaluation.json", "hypotheses.txt"


def evaluate(config: EvaluateConfig) -> None:
    """Score a hypothesis file, the translation of a file, or a split of a run's own data."""
    if config.hypothesis is not None:
        _score_files(config)
        return
    keep_freed_memory()
    run_dir = Path(str(config.run_dir))
    run = load_run(run_dir)
    language = config.target_language or run.data.target_language
    check_scorable(language)
    if config.source is None:
        translator = build.translator_of_run(run_dir, config.decoding, config.device, copied=True)
        score_split(run_dir, run, translator, config.split, language)
        return
    sources, references = _paired(str(config.source), str(config.reference))
    translator = build.translator_of_run(run_dir, config.decoding, config.device, copied=True)
    hypotheses, seconds = _translate(translator, sources)
    scores = corpus_scores(hypotheses=hypotheses, references=references, target_language=language)
    origin = f"{config.source} against {config.reference}"
    try:
        folder = _folder_of_its_own(run_dir / OTHER_EVALUATIONS / Path(str(config.reference)).name, origin)
        _save(folder, hypotheses, scores, seconds=seconds, origin=origin)
    finally:
        print(format_scores(scores), flush=True)  # also where the disk is full


def score_split(run_dir: Path, run: TrainConfig, translator: Translator, split: str, language: str) -> None:
    """Translate a held-out split that the run folder holds, and save and print its scores.

    On the test split a recipe's expected score is compared. Raises UserError when the run has no such split.
    """
    source, target = (run_dir / "data" / f"{split}.{side}" for side in ("source", "target"))
    if not source.exists():
        raise UserError(f"{run_dir}: its data has no {split} split; give source=FILE reference=FILE")
    sources, references = _paired(str(source), str(target))
    report(f"translating the {split} split: {len(sources):,} sentences, beam {translator.search.beam_size}")
    hypotheses, seconds = _translate(translator, sources)
    scores = corpus_scores(hypotheses=hypotheses, references=references, target_language=language)
    lines = [format_scores(scores)]
    if run.expected is not None and split == "test":
        lines.append(_compared(run.expected, scores))
    origin = f"{split} split of {run.data.name}"
    try:
        folder = run_dir if split == "test" else _folder_of_its_own(run_dir / OTHER_EVALUATIONS / split, origin)
        _save(folder, hypotheses, scores, seconds=seconds, origin=origin)
    finally:
        print("\n".join(lines), flush=True)  # also where the disk is full


def _score_files(config: EvaluateConfig) -> None:
    hypotheses, references = _paired(str(config.hypothesis), str(config.reference))
    language = config.target_language
    if language is None:
        language = load_run(config.run_dir).data.target_language if config.run_dir else ""
    print(
        format_scores(corpus_scores(hypotheses=hypotheses, references=references, target_language=language)), flush=True
    )


def _paired(first: str, second: str) -> tuple[list[str], list[str]]:
    """The lines of two files. Raises UserError when the counts differ."""
    sides = list(read_lines(first)), list(read_lines(second))
    if len(sides[0]) != len(sides[1]):
        counts = f"{first} has {len(sides[0])} lines but {second} has {len(sides[1])}"
        raise UserError(f"{counts}: they must pair line by line")
    return sides


def _translate(translator: Translator, sources: list[str]) -> tuple[list[str], float]:
    start = time.monotonic()
    hypotheses = [translation.text for translation in translator.translate_all(sources)]
    return hypotheses, time.monotonic() - start


def _folder_of_its_own(folder: Path, origin: str) -> Path:
    """The folder, or one with a number behind its name, that holds no scores or those of the same files."""
    names = itertools.chain([folder.name], (f"{folder.name}-{number}" for number in itertools.count(2)))
    return next(place for place in map(folder.with_name, names) if _takes(place / SCORES, origin))


def _takes(scores: Path, origin: str) -> bool:
    """Whether a file of scores is not there or of the same origin; a damaged one is of another."""
    if not scores.exists():
        return True
    try:
        values = json.loads(scores.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(values, dict) and values.get("scored") == origin


def _save(folder: Path, hypotheses: list[str], scores: Scores, *, seconds: float, origin: str) -> None:
    """Write the hypotheses and their scores into a folder. Raises DiskError."""
    values = asdict(scores)
    values["signature"] = values["bleu_signature"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(folder, error) from error
    replace_file(folder / HYPOTHESES, encode_lines(hypotheses, at_file_start=True))
    content = json.dumps({"scored": origin, **values, "seconds": round(seconds, 3)}, indent=1, ensure_ascii=False)
    replace_file(folder / SCORES, content.encode())
    report(f"{len(hypotheses):,} sentences in {seconds:.1f} s; {folder}/{SCORES}, {folder}/{HYPOTHESES}")


def _compared(expected: Expected, scores: Scores) -> str:
    bleu = scores.bleu if expected.form == "sacrebleu" else scores.bleu_compound_split
    if bleu is None:
        return f"expected: BLEU {expected.bleu:.2f} in the form {expected.form}, which this language has not"
    return compare(expected_bleu=expected.bleu, tolerance=expected.tolerance, bleu=bleu)[1]
