"""mt-evaluate: sacreBLEU scores on raw references, of a text classifier its accuracy; printed and saved."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mt.api import translator_of_run
from mt.commands.classifier_run import check_labels, classifier_of_run, labelled_lines, score_labels, scored_split
from mt.config.schema import EvaluateConfig, LabelledData, TrainConfig
from mt.data.spaces import look_unspaced, main_language
from mt.doctor.languages import looks_like_other, recognise
from mt.errors import UserError
from mt.fast.memory import keep_freed_memory
from mt.reporting import report
from mt.runs.folder import load_run
from mt.translation.card import add_robustness
from mt.translation.evaluation import check_scorable, corpus_scores, format_scores
from mt.translation.robustness import score_robustness
from mt.translation.scoring import (
    ScoredText,
    as_language,
    own_folder,
    paired_lines,
    score_split,
    text_of_files,
    text_of_split,
    translate_and_score,
)
from mt.translation.translator import Translator


def evaluate(config: EvaluateConfig) -> None:
    """Score a hypothesis file, the translation of a file or its labels, or a split of a run's own data."""
    run = load_run(config.run_dir) if config.run_dir is not None else None
    language = config.target_language or (run.data.target_language if run is not None else "")
    if config.hypothesis is not None:
        hypotheses, references = paired_lines(config.hypothesis, str(config.reference))
        if not language and look_unspaced(references):
            report(f"warning: {config.reference} looks written without spaces, so give target_language, as zh or th")
        scores = corpus_scores(hypotheses=hypotheses, references=references, target_language=language)
        print(format_scores(scores), flush=True)
        return
    assert run is not None  # without a hypothesis a run is given, or the newest taken
    keep_freed_memory(large=False)
    run_dir = Path(str(config.run_dir))
    if isinstance(run.data, LabelledData):
        _evaluate_labels(config, run_dir, run, run.data.labels or [])
        return
    if config.source is not None and config.reference is None:
        raise UserError("reference: source=FILE of a translator needs reference=FILE, its translations line by line")
    check_scorable(language)
    translator = translator_of_run(run_dir, config.decoding, config.device, processes=True)
    if config.source is None and not config.robustness:
        score_split(run_dir, translator, config.split, run, language=language, decoding=config.decoding)
        return
    text = as_language(_text(config, run_dir, run), run, language)
    if config.source is not None:
        found, found_there = map(recognise, text.lines)
        own, other = main_language(run.data.source_language), main_language(run.data.target_language)
        if looks_like_other(found, found_there, own=own, other=other):
            report(f"warning: {config.source} looks like {' or '.join(found)}, but the run translates from {own}")
    if config.robustness:
        _robustness(config, text, translator, (run.data.source_language, language))
    else:
        translate_and_score(run_dir, translator, text, language=language, decoding=config.decoding)


def _evaluate_labels(config: EvaluateConfig, run_dir: Path, run: TrainConfig, labels: Sequence[str]) -> None:
    """Score a text classifier on a split, on a labelled file, or on texts with their labels in a second file."""
    if config.robustness:
        raise UserError(f"robustness: {run_dir} is a text classifier; only translations have a measured robustness")
    if config.source is not None and config.reference is None:
        text = ScoredText(Path(config.source).name, config.source, labelled_lines(config.source, labels))
    else:
        text = _text(config, run_dir, run)
    if config.reference is not None:
        check_labels(config.reference, text.lines[1], labels)
    first = run_dir if config.source is None and config.split == scored_split(run_dir) else None
    folder = own_folder(run_dir, text.name, {"scored": text.about}, first=first)
    score_labels(classifier_of_run(run_dir, config.device), text, folder)


def _text(config: EvaluateConfig, run_dir: Path, run: TrainConfig) -> ScoredText:
    if config.source is None:
        return text_of_split(run_dir, run, config.split)
    return text_of_files(config.source, str(config.reference))


def _robustness(config: EvaluateConfig, text: ScoredText, translator: Translator, languages: tuple[str, str]) -> None:
    """Score the text clean and changed, in a folder of its own."""
    run_dir = Path(str(config.run_dir))
    about = {"scored": text.about, "decoding": asdict(config.decoding)}
    folder = own_folder(run_dir, f"robustness-{text.name}", about)

    def translate(texts: list[str]) -> list[str]:
        return [translation.text for translation in translator.translate_all(texts)]

    pairs = list(zip(*text.lines, strict=True))
    table = score_robustness(folder, translate, pairs, languages=languages, about=about)
    add_robustness(run_dir, folder.name.removeprefix("robustness-"), f"Beam {config.decoding.beam_size}.\n\n{table}")
