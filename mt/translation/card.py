"""The model card of a run: README.md in its folder, with the metadata that the Hugging Face Hub reads."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from mt.config.schema import TrainConfig
from mt.data.filters import FilterReport
from mt.data.lines import read_lines
from mt.errors import BadFileError
from mt.runs.atomic import LARGEST_SCORES_BYTES, read_file, replace_file
from mt.runs.checkpoint import TrainingState
from mt.runs.folder import CARD, CONFIG, HYPOTHESES, held_out_text, read_scores, scored_splits, scores_path
from mt.runtime import processor
from mt.translation.evaluation import sentence_scores

_EXAMPLES = 5  # of the best and of the worst translations
_LONGEST_SHOWN = 300  # characters of a sentence
_ROBUSTNESS = "## Robustness"
_LIMITS = (
    "It knows the kind of text that it was trained on, and no other. Names, numbers and words that training never saw "
    "may come out wrong, fluently. The licences of the corpora bind whoever publishes the model."
)


def write_card(
    run_dir: Path,
    config: TrainConfig,
    state: TrainingState,
    *,
    filters: FilterReport,
    corpora: Mapping[str, int],
    parameters: int,
    command: str,
) -> None:
    """Write what a reader needs to judge a finished run. Raises DiskError, and BadFileError for damaged scores.

    `filters` counts the training pairs, `corpora` those of each corpus that are left; `command` makes the run. The
    robustness that an older card of the same model has stays.
    """
    source, target = config.data.source_language, config.data.target_language
    scores = {split: read_scores(run_dir, split) for split in scored_splits(config)}
    scores = {split: values for split, values in scores.items() if values}
    too_long = f"; of the pairs kept, those of more than {config.data.filters.max_tokens} subwords are left out too"
    hours = f"{state.training_seconds / 3600:.2f} hours of training with its validations on {_machine(config)}"
    training = (
        f"{state.step:,} steps, {state.target_tokens:,} target tokens, {hours}, torch {torch.__version__}; "
        f"{_energy(state.joules)}.\n\n"
        f"{_recipe(config)}. Every option is in `{CONFIG}`. The command that makes it:"
    )
    counts = "".join(f"- {name}: {count:,} pairs\n" for name, count in corpora.items())
    sections = [
        _metadata(config, scores),
        f"# {_title(config)}: {source} to {target}",
        f"A Transformer of {parameters:,} parameters, trained on {filters.kept:,} pairs.",
        *_score_table(scores),
        f"## Data\n\nCorpus `{config.data.name}`{too_long}.\n\n{counts}\n```\n{filters.table()}\n```",
        f"## Training\n\n{training}\n\n```\n{command}\n```",
        *_examples(run_dir, scores),
        *(part.strip() for part in _parts(run_dir) if part.startswith(_ROBUSTNESS)),
        f"## Limits\n\n{_LIMITS}",
    ]
    replace_file(run_dir / CARD, ("\n\n".join(sections) + "\n").encode(errors="replace"))


def add_robustness(run_dir: Path, name: str, table: str) -> None:
    """Put the table of a text into the card of a run, instead of an older one; nothing where a run has no card."""
    if not (run_dir / CARD).exists():
        return
    title = f"{_ROBUSTNESS}, {name}\n"
    *before, limits = [part for part in _parts(run_dir) if not part.startswith(title)]
    replace_file(run_dir / CARD, "\n".join([*before, f"{title}\n{table}\n", limits]).encode(errors="replace"))


def _parts(run_dir: Path) -> list[str]:
    """The card that a run has, cut before each heading of the second level. Raises BadFileError."""
    path = run_dir / CARD
    try:
        text = read_file(path, LARGEST_SCORES_BYTES).decode() if path.exists() else ""
    except UnicodeDecodeError as error:
        where = f"{error.reason} at byte {error.start}"
        raise BadFileError(f"{path}: not UTF-8 ({where}); save it as UTF-8 or remove it") from None
    return re.split(r"\n(?=## )", text)


def _title(config: TrainConfig) -> str:
    """The run's name; where it only says which data choice it was, its folder's."""
    return config.name if config.name != config.data.name else Path(config.run_dir).absolute().name


def _energy(joules: float | None) -> str:
    if joules is None:
        return "energy could not be read"
    return f"{joules / 3.6e6:.3g} kWh (CPU packages of the first machine with all that ran on it; GPUs are not counted)"


def _recipe(config: TrainConfig) -> str:
    """The options that say most about a model."""
    model, training = config.model, config.training
    depths = model.num_encoder_layers or model.num_layers, model.num_decoder_layers or model.num_layers
    return (
        f"{depths[0]} + {depths[1]} layers, d_model {model.d_model}, d_ff {model.d_ff}, {model.num_heads} heads, "
        f"dropout {model.dropout:g}, {config.tokenizer.vocab_size:,} subwords, batches of {training.batch_tokens:,} "
        f"tokens, label smoothing {training.label_smoothing:g}, {training.optimizer}"
    )


def _metadata(config: TrainConfig, scores: dict[str, dict[str, Any]]) -> str:
    lines = ["---", f"language: {json.dumps([config.data.source_language, config.data.target_language])}"]
    lines += ["pipeline_tag: translation", "metrics: [bleu, chrf]"]
    if scores:
        lines += ["model-index:", f"- name: {json.dumps(_title(config))}", "  results:"]
    for split, values in scores.items():
        lines += ["  - task: {type: translation}", f"    dataset: {{name: {json.dumps(split)}, type: text}}"]
        lines.append(
            f"    metrics: [{{type: bleu, value: {values['bleu']:.2f}}}, {{type: chrf, value: {values['chrf']:.2f}}}]"
        )
    return "\n".join([*lines, "---"])


def _score_table(scores: dict[str, dict[str, Any]]) -> list[str]:
    if not scores:
        return []
    rows = [
        "| test set | sentences | BLEU | 95 % interval | chrF++ | 95 % interval | exact match | sentences/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for split, values in scores.items():
        speed = values["sentences"] / max(values["seconds"], 1e-9)
        rows.append(
            f"| {split} | {values['sentences']:,} | {values['bleu']:.2f} | {_interval(values, 'bleu')} | "
            f"{values['chrf']:.2f} | {_interval(values, 'chrf')} | {values['exact_match']:.2f} % | {speed:.1f} |"
        )
    beam = next(iter(scores.values()))["decoding"]["beam_size"]
    names = ("bleu_signature", "chrf_signature")
    signatures = dict.fromkeys(f"`{values[name]}`" for name in names for values in scores.values())
    return ["## Scores", "\n".join(rows), f"Beam {beam}; {', '.join(signatures)}."]


def _interval(values: dict[str, Any], metric: str) -> str:
    """The interval of a score; older evaluations have none of chrF++."""
    ends = [values.get(f"{metric}_{end}") for end in ("low", "high")]
    return "" if None in ends else f"{ends[0]:.2f} to {ends[1]:.2f}"


def _machine(config: TrainConfig) -> str:
    if config.device != "cpu" and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{processor()}, {torch.get_num_threads()} thread(s)"


def _examples(run_dir: Path, scores: dict[str, dict[str, Any]]) -> list[str]:
    """The best and the worst sentences of the first test set by chrF++, the longer of equals."""
    if not scores:
        return []
    split = next(iter(scores))
    files = [held_out_text(run_dir, split, "source"), scores_path(run_dir, split).with_name(HYPOTHESES)]
    files.append(held_out_text(run_dir, split, "target"))
    triples = list(zip(*(read_lines(str(file)) for file in files), strict=True))
    _, hypotheses, references = zip(*triples, strict=True)
    scores_of = dict(zip(triples, sentence_scores(hypotheses, references), strict=True))
    best = sorted(scores_of, key=lambda one: (-scores_of[one], -len(one[0])))[:_EXAMPLES]
    worst = sorted(set(scores_of) - set(best), key=lambda one: (scores_of[one], -len(one[0]), one))[:_EXAMPLES]
    return [f"## Examples, from {split}", "The best by chrF++:", _listed(best), "The worst:", _listed(worst)]


def _listed(triples: Sequence[tuple[str, ...]]) -> str:
    labels = ("source", "translation", "reference")
    blocks = [
        "\n".join(f"{label}: {text[:_LONGEST_SHOWN]}" for label, text in zip(labels, one, strict=True))
        for one in triples
    ]
    return "```\n" + "\n\n".join(blocks).replace("```", "'''") + "\n```"
