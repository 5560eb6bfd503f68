"""mt-inspect: what is wrong with the corpora of a training, before it is trained on them."""

import json
from pathlib import Path

from mt import build
from mt.config.schema import InspectConfig
from mt.data.tokenizer import Tokenizer
from mt.doctor.examine_all import diagnose
from mt.doctor.page import page, text
from mt.errors import DiskError
from mt.reporting import report
from mt.runs.atomic import replace_file
from mt.runs.folder import tokenizer_paths


def inspect(config: InspectConfig) -> None:
    """Examine every corpus of `data`; print the findings and write `report.json`, `report.html` and `suspects.jsonl`.

    With a tokenizer in the run folder lengths are counted in its subwords too. Raises UserError for corpora that
    cannot be read, DiskError.
    """
    train, validation, test = build.corpora(config.data)
    splits = {"train": train}
    splits |= {name: [corpus] for name, corpus in (("validation", validation), ("test", test)) if corpus is not None}
    paths = tokenizer_paths(Path(config.run_dir), shared_vocab=config.tokenizer.shared_vocab)
    known = all(path.exists() for path in paths)
    diagnosis = diagnose(
        splits,
        languages=(config.data.source_language, config.data.target_language),
        max_length_ratio=config.data.filters.max_length_ratio,
        tokenizers=(Tokenizer.load(paths[0]), Tokenizer.load(paths[1])) if known else None,
    )
    print(text(diagnosis), flush=True)
    output = Path(config.output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskError(f"cannot make the folder {output}: {error.strerror}; choose another output=DIR") from error
    title = f"Corpora of {config.name}"
    suspects = (
        {"split": one.split, "corpus": one.name, **vars(suspect)}
        for one in diagnosis.examined
        for suspect in one.suspects
    )
    listed = "".join(json.dumps(suspect) + "\n" for suspect in suspects)
    values = {
        "findings": [vars(finding) for finding in diagnosis.findings],
        "proposals": [{"override": override, "reason": reason} for override, reason in diagnosis.proposals],
    }
    replace_file(output / "report.json", json.dumps(values, indent=1).encode(), key="output")
    replace_file(output / "report.html", page(diagnosis, title).encode(), key="output")
    replace_file(output / "suspects.jsonl", listed.encode(), key="output")
    report(f"{output}/report.html, report.json, suspects.jsonl")
