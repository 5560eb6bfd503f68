"""mt-compare: scores of runs on the test sets that they share, and whether chance explains the differences."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mt.config.schema import CompareConfig
from mt.data.lines import read_lines
from mt.errors import UserError
from mt.figures.comparison import comparison_picture
from mt.reporting import report
from mt.runs.atomic import disk_error, replace_file
from mt.runs.folder import HYPOTHESES, held_out_text, load_run, scored_splits, scores_path
from mt.translation.evaluation import paired_bootstrap

Results = Mapping[str, Sequence[Any]]  # of each metric, sacreBLEU's result for each run


def compare(config: CompareConfig) -> None:
    """Print a table, and save it with a picture. Raises UserError where no test set is scored in every run."""
    runs = [Path(run) for run in config.runs]
    run = load_run(runs[0])
    found: dict[str, Results] = {}
    for split in scored_splits(run):
        scores = [scores_path(one, split) for one in runs]
        if not all(path.exists() and path.with_name(HYPOTHESES).exists() for path in scores):
            report(f"{split}: not scored in every run, left out; mt-evaluate run_dir=RUN split={split} scores it")
        elif len({held_out_text(one, split, "target").read_bytes() for one in runs}) > 1:
            report(f"{split}: the runs have other references, left out")
        else:
            references = list(read_lines(str(held_out_text(runs[0], split, "target"))))
            hypotheses = {
                str(one): list(read_lines(str(scores_path(one, split).with_name(HYPOTHESES)))) for one in runs
            }
            report(f"{split}: {len(references):,} sentences, {config.samples:,} samples")
            language = run.data.target_language
            found[split] = paired_bootstrap(hypotheses, references, target_language=language, samples=config.samples)
    if not found:
        raise UserError("runs: no test set is scored in all of them; mt-evaluate run_dir=RUN scores the test split")
    table, output = _table(config.runs, found, config.samples), Path(config.output)
    print(table, flush=True)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(output, error, key="output") from error
    replace_file(output / "comparison.md", f"{table}\n".encode(), key="output")
    replace_file(output / "comparison.png", comparison_picture(config.runs, found), key="output")
    report(f"{output}/comparison.md, {output}/comparison.png")


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
