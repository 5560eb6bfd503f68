"""The table of a sweep and its files: figures of finished runs, over their seeds, next to those that a paper has."""

import json
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from mt.config.schema import Expected
from mt.errors import BadFileError
from mt.reporting import report
from mt.runs.atomic import LARGEST_JSON_BYTES, read_file, replace_file
from mt.runs.checkpoint import tensors_without_values
from mt.runs.folder import MODEL, TABLE, TABLE_DATA, TABLE_PICTURE, load_run, read_scores
from mt.runs.metrics import UNSCHEDULED_VALIDATION, png, read_metrics

Run = Mapping[str, Any]  # the row and the seed of a run, with its figures
Likes = Mapping[str, Expected | None]  # the rows of a table in order, each with what a paper has for it

_COLUMNS = {  # of each figure its heading and its form
    "parameters": ("parameters (million)", "{:.2f}"),
    "perplexity": ("validation perplexity", "{:.2f}"),
    "bleu": ("test BLEU", "{:.2f}"),
    "training_seconds": ("training (s)", "{:,.0f}"),
    "sentences_per_second": ("decoding (sentences/s)", "{:,.1f}"),
}
_PAPER = {
    "parameters": ("parameters (million)", "{:.0f}"),
    "perplexity": ("perplexity", "{:.2f}"),
    "bleu": ("BLEU", "{:.1f}"),
}
_NOTE = (
    "Mean over the seeds, with the lowest and the highest in brackets. Perplexity is per subword, after the last step. "
    "Training is the time of all steps, validations left out; decoding is that of the test split, batches of the beam "
    "as configured, on the machine as it was."
)
_LEGEND = "point: a seed · line: mean of the first row · diamond: that mean and the difference that the paper has"


def figures(run_dir: Path) -> dict[str, float | None]:
    """What the table shows of a finished run; None is what the run does not have. Raises BadFileError.

    BLEU has the form that the run's recipe expects, else sacreBLEU's.
    """
    expected = load_run(run_dir).expected
    kinds = "train", "validation", UNSCHEDULED_VALIDATION
    steps, validations, unscheduled = (read_metrics(run_dir, kind) for kind in kinds)
    scores = read_scores(run_dir, "test")
    compound = expected is not None and expected.form == "tokenised_compound_split"
    seconds = sum(line["seconds"] for line in steps)
    last = max([*validations, *unscheduled], key=itemgetter("step"), default=None)
    if steps and last is not None:  # the steps after the last logged one
        seconds *= max(1.0, last["step"] / steps[-1]["step"])
    return {
        "parameters": sum(tensor.numel() for tensor in tensors_without_values(run_dir / MODEL).values()) / 1e6,
        "perplexity": last and last["perplexity"],
        "bleu": scores.get("bleu_compound_split" if compound else "bleu"),
        "training_seconds": seconds,
        "sentences_per_second": scores["sentences"] / scores["seconds"] if scores.get("seconds") else None,
    }


def format_table(runs: Sequence[Run], likes: Likes) -> str:
    """The rows in Markdown; where one of them has a paper's figures, those are in further columns."""
    paper = _PAPER if any(likes.values()) else {}
    heads = [
        "row",
        "seeds",
        *(head for head, _ in _COLUMNS.values()),
        *(f"paper: {head}" for head, _ in paper.values()),
    ]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row, like in likes.items():
        own = sorted((run for run in runs if run["row"] == row), key=lambda run: run["seed"])
        cells = [_cell([run[name] for run in own], form) for name, (_, form) in _COLUMNS.items()]
        theirs = [_cell([_of_paper(like).get(name)], form) for name, (_, form) in paper.items()]
        shown = [row, ", ".join(str(run["seed"]) for run in own), *cells]
        if own:
            lines.append(f"| {' | '.join([*shown, *theirs])} |")
    return "\n".join([*lines, "", _NOTE])


def _of_paper(like: Expected | None) -> dict[str, float | None]:
    """The figures of a paper, under the names of ours."""
    if like is None:
        return {}
    return {"parameters": like.parameters_millions, "perplexity": like.perplexity, "bleu": like.bleu}


def _cell(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "—"
    low, high = form.format(min(known)), form.format(max(known))
    return form.format(sum(known) / len(known)) + (f" ({low} to {high})" if low != high else "")


def known_runs(run_dir: Path) -> list[dict[str, Any]]:
    """The runs in the table of a sweep so far; none where it is missing or damaged, as the run folders have all."""
    try:
        runs = [dict(run) for run in json.loads(read_file(run_dir / TABLE_DATA, LARGEST_JSON_BYTES))]
        format_table(runs, {run["row"]: None for run in runs})
        return runs
    except (BadFileError, ValueError, TypeError, KeyError):
        return []


def note_run(run_dir: Path, run: Run, likes: Likes) -> None:
    """Write the table with a run, instead of those of its row with its seed or with other options. Raises DiskError."""
    known = [one for one in known_runs(run_dir) if (one["row"], one["seed"]) != (run["row"], run["seed"])]
    others = [one for one in known if one["row"] != run["row"] or given_options(one) == given_options(run)]
    if gone := [f"{one['row']}-{one['seed']}" for one in known if one not in others]:
        report(f"{run_dir / TABLE}: {', '.join(gone)} had other options than {run['row']} has now, and left the table")
    runs = [*others, run]
    replace_file(run_dir / TABLE_DATA, json.dumps(runs, indent=1).encode())
    replace_file(run_dir / TABLE, f"{format_table(runs, likes)}\n".encode())
    (run_dir / TABLE_PICTURE).unlink(missing_ok=True)


def given_options(run: Mapping[str, Any]) -> set[str]:
    """The options of a run, without those that every run has of its own."""
    return {word for word in run.get("options", []) if word.partition("=")[0] not in ("name", "run_dir", "seed")}


def report_table(run_dir: Path, likes: Likes) -> None:
    """Print the rows of the table; draw it unless the picture shows these runs already. Raises DiskError."""
    runs = [run for run in known_runs(run_dir) if run["row"] in likes]
    if not runs:
        return
    table, picture = format_table(runs, likes), run_dir / TABLE_PICTURE
    print(table, flush=True)
    if not picture.exists() or read_file(run_dir / TABLE, LARGEST_JSON_BYTES).decode() != f"{table}\n":
        replace_file(run_dir / TABLE, f"{table}\n".encode())
        replace_file(picture, png(table_figure(runs, likes), dpi=100))
    report(f"{run_dir}: {TABLE}, {TABLE_DATA}, {TABLE_PICTURE}")


def table_figure(runs: Sequence[Run], likes: Likes) -> Any:
    """For each block of rows (A, B, … of table 3) a line of plots, in which the first row is the baseline."""
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and needed once

    done = [row for row in likes if any(run["row"] == row for run in runs)]
    baseline, others = done[0], done[1:]
    names = dict.fromkeys(row.partition("_")[0] for row in others or done)
    blocks = [[baseline, *(row for row in others if row.partition("_")[0] == name)] for name in names]
    figure = Figure(figsize=(16, 1 + 0.9 * len(blocks) + 0.3 * sum(map(len, blocks))), layout="constrained")
    heights = [2 + len(rows) for rows in blocks]
    grid = figure.subplots(len(blocks), len(_COLUMNS), squeeze=False, sharex="col", height_ratios=heights)
    figure.suptitle(_LEGEND, fontsize=10)
    for (head, _), axes in zip(_COLUMNS.values(), grid[0], strict=True):
        axes.set_title(head, fontsize=10)
    for rows, line in zip(blocks, grid, strict=True):
        for axes, name in zip(line, _COLUMNS, strict=True):
            _draw(axes, rows, name, runs, likes)
            axes.set_yticks(range(len(rows)), rows if name == "parameters" else [""] * len(rows))
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.grid(alpha=0.3)
    return figure


def _draw(axes: Any, rows: Sequence[str], name: str, runs: Sequence[Run], likes: Likes) -> None:
    """A figure of some rows: a point for each seed, a line through the baseline's mean, the paper's difference."""
    found = {row: [run[name] for run in runs if run["row"] == row and run[name] is not None] for row in rows}
    for height, values in enumerate(found.values()):
        axes.plot(values, [height] * len(values), "o", color="C0", alpha=0.7)
    first = found[rows[0]]
    if not first:
        return
    mean = sum(first) / len(first)
    axes.axvline(mean, color="grey", linewidth=0.8)
    paper = [_of_paper(likes[row]).get(name) if name != "parameters" else None for row in rows]
    for height, theirs in enumerate(paper):
        if height and theirs is not None and paper[0] is not None:
            axes.plot(mean + theirs - paper[0], height, "D", markerfacecolor="none", color="C1")
