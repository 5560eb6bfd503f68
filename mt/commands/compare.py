"""mt-compare: scores of runs on the test sets that they share, and whether chance explains the differences."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mt.config.checks import classifies
from mt.config.schema import CompareConfig, TextData
from mt.data.lines import read_lines, without_surrogates
from mt.errors import UserError
from mt.figures.comparison import comparison_picture
from mt.reporting import report
from mt.runs.atomic import replace_file
from mt.runs.folder import HYPOTHESES, held_out_text, load_run, scored_splits, scores_path
from mt.translation.evaluation import paired_bootstrap
from mt.translation.scoring import is_scored

Results = Mapping[str, Sequence[Any]]  # of each metric, sacreBLEU's result for each run


def compare(config: CompareConfig) -> None:
    """Print a table, and save it with a picture.

    Raises UserError for a run that does not translate, and where no test set is scored in every run.
    """
    runs = [Path(run) for run in config.runs]
    run, *others = map(load_run, runs)
    for one, loaded in zip(runs, (run, *others), strict=True):
        if classifies(loaded) or isinstance(loaded.data, TextData):
            raise UserError(f"runs: {one} does not translate, so it has no BLEU to compare; leave it out")
    found: dict[str, Results] = {}
    left_out = []
    for split in scored_splits(run):
        if reason := _incomparable(runs, split):
            left_out.append(f"{split}: {reason}")
        else:
            references = list(read_lines(str(held_out_text(runs[0], split, "target"))))
            hypotheses = {
                str(one): list(read_lines(str(scores_path(one, split).with_name(HYPOTHESES)))) for one in runs
            }
            report(f"{split}: {len(references):,} sentences, {config.samples:,} samples")
            language = run.data.target_language
            found[split] = paired_bootstrap(hypotheses, references, target_language=language, samples=config.samples)
    if not found:
        raise UserError(f"runs: no test set to compare them on: {'; '.join(left_out)}")
    for reason in left_out:
        report(f"left out: {reason}")
    names = list(map(without_surrogates, config.runs))
    table, output = _table(names, found, config.samples), Path(config.output)
    print(table, flush=True)
    output.mkdir(parents=True, exist_ok=True)
    replace_file(output / "comparison.md", f"{table}\n".encode(), key="output")
    replace_file(output / "comparison.png", comparison_picture(names, found), key="output")
    report(f"{output}/comparison.md, {output}/comparison.png")


def _incomparable(runs: Sequence[Path], split: str) -> str | None:
    """Why a test set cannot be compared, and what to do where that helps; None where it can."""
    texts = {run: held_out_text(run, split, "target") for run in runs}
    if lacking := [str(run) for run, text in texts.items() if not text.is_file()]:
        return f"not a test set of {', '.join(lacking)}"
    if len({text.read_bytes() for text in texts.values()}) > 1:
        return "the runs have different references, so train them on the same data"
    unscored = [run for run in runs if not is_scored(run, split, load_run(run).decoding)]
    if not unscored:
        return None
    evaluate = f"mt-evaluate run_dir={unscored[0]} split={split}"
    return f"not scored by the run's own search; {evaluate} with the decoding options of its config.yaml does it"


def _table(runs: Sequence[str], found: Mapping[str, Results], samples: int) -> str:
    rows = ["| test set | run | BLEU | chrF++ |", "|---|---|---|---|"]
    for split, results in found.items():
        for number, run in enumerate(runs):
            rows.append(f"| {split} | {run} | {' | '.join(_cell(metric[number]) for metric in results.values())} |")
    note = (
        f"Mean and 95 % interval of {samples:,} paired bootstrap samples. p: how often chance alone would make such a"
    )
    return "\n".join([*rows, "", f"{note} difference from {runs[0]}."])


def _cell(result: Any) -> str:
    chance = "" if result.p_value is None else f", p = {result.p_value:.3f}"
    return f"{result.score:.2f} ({result.mean:.2f} ± {result.ci:.2f}{chance})"
