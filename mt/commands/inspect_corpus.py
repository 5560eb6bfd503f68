"""mt-inspect: what is wrong with the corpora of a training, before it is trained on them."""

import json
from pathlib import Path

from mt import build
from mt.config.checks import classifies
from mt.config.schema import InspectConfig, LabelledData
from mt.data.drawn import DrawnCorpus
from mt.doctor.examination import examine
from mt.doctor.findings import findings
from mt.doctor.page import page, text
from mt.errors import UserError
from mt.figures.architecture import architecture_svg
from mt.reporting import report
from mt.runs.atomic import replace_file


def inspect(config: InspectConfig) -> None:
    """Examine every corpus of `data`; print the findings and write them to `report.html` and `report.json`.

    The second has the numbers of all suspect lines. `architecture.svg` is figure 1 for the model that is configured.
    Raises UserError for corpora that cannot be read, DiskError.
    """
    if isinstance(config.data, LabelledData):
        raise UserError(
            "data=labelled has no pairs of sentences to examine; mt-train counts its texts and checks its labels"
        )
    splits = build.corpora(config.data).items()
    given = {split: corpora for split, corpora in splits if not isinstance(corpora[0], DrawnCorpus)}
    examination = examine(given, max_length_ratio=config.data.filters.max_length_ratio)
    corpora = examination.corpora
    found = findings(examination, declared=(config.data.source_language, config.data.target_language))
    print(text(corpora, found), flush=True)
    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    suspects = [
        {"split": one.split, "corpus": one.name, "kind": kind, "side": side, "lines": lines}
        for one in corpora
        for (kind, side), lines in one.suspects.items()
    ]
    values = {"findings": [vars(finding) for finding in found], "suspects": suspects}
    replace_file(output / "report.json", json.dumps(values).encode(), key="output")
    shown = page(corpora, found, f"Corpora of {config.name}")
    replace_file(output / "report.html", shown.encode(errors="replace"), key="output")
    svg = architecture_svg(config.model, shared_vocab=config.tokenizer.shared_vocab, classes=classifies(config))
    replace_file(output / "architecture.svg", svg.encode(), key="output")
    report(f"{output}/report.html, report.json, architecture.svg")
