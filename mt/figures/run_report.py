"""`report.html` of a run: its curves, its model, and how its translations changed while it learned."""

import io
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from mt.config.checks import classifies
from mt.config.schema import TrainConfig
from mt.data.lines import read_lines
from mt.figures.architecture import architecture_svg
from mt.model.positions import positional_encoding
from mt.runs import folder
from mt.runs.atomic import replace_file
from mt.runs.delivery import read_model
from mt.runs.metrics import all_lines, kept_sentences, plot

_VALIDATIONS = 12  # whose translations are shown, at most
_POSITIONS = 100  # of the heat map
_LINKED = (
    folder.CARD, folder.SCORES, folder.HYPOTHESES, folder.CONFUSION, folder.EVALUATIONS, folder.METRICS, folder.CONFIG,
    folder.LOSS_CURVE, folder.BLEU_CURVE, folder.ACCURACY_CURVE, folder.HELD_OUT_TEXT, folder.CHECKPOINTS,
    folder.TENSORBOARD,
)  # fmt: skip
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>:root {{color-scheme: light dark}}
body {{font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem}}
svg {{max-width: 100%; height: auto}} td {{padding: .1rem 1rem .1rem 0; vertical-align: top}}
td:first-child {{white-space: nowrap; opacity: .7}} tr:last-child, h3 {{font-weight: 600}} h3 {{font-size: 1rem}}
@media (prefers-color-scheme: dark) {{svg {{filter: invert(.92) hue-rotate(180deg)}}}}</style>
<h1>{title}</h1>
{content}
</html>
"""


def write_report(run_dir: Path, config: TrainConfig) -> None:
    """Write the report of a finished run. Raises DiskError, and BadFileError for damaged files of the run."""
    lines, _ = all_lines(run_dir / folder.METRICS)
    links = [f'<a href="{name}">{name}</a>' for name in _LINKED if (run_dir / name).exists()]
    parts = [
        *(f"<p>{escape(line)}</p>" for line in _scores(run_dir, config)),
        f"<p>{' · '.join(links)}</p>",
        "<h2>Training</h2>",
        _curves(lines, config, _position_table(run_dir, config)),
        "<h2>Model</h2>",
        architecture_svg(config.model, shared_vocab=config.tokenizer.shared_vocab, classes=classifies(config)),
        *_translations(run_dir, lines),
    ]
    page = _PAGE.format(title=escape(config.name), content="\n".join(parts))
    replace_file(run_dir / folder.REPORT, page.encode(errors="replace"))


def _scores(run_dir: Path, config: TrainConfig) -> Iterator[str]:
    for split in folder.scored_splits(config):
        if scores := folder.read_scores(run_dir, split):
            if "bleu" in scores:
                interval = f"{scores['bleu_low']:.2f} to {scores['bleu_high']:.2f}"
                yield f"{split}: BLEU {scores['bleu']:.2f} (95 % interval {interval}), chrF++ {scores['chrf']:.2f}"
            elif "macro_f1" in scores:
                interval = f"{scores['accuracy_low']:.2f} to {scores['accuracy_high']:.2f}"
                figures = f"accuracy {scores['accuracy']:.2f} % (95 % interval {interval})"
                yield f"{scores['scored']}: {figures}, macro F1 {scores['macro_f1']:.2f} %"
            elif "perplexity" in scores:
                masked = "accuracy" in scores
                own = (
                    f"accuracy {scores['accuracy']:.2f} %" if masked else f"bits per byte {scores['bits_per_byte']:.3f}"
                )
                yield f"perplexity {scores['perplexity']:.2f}, {own}"


def _position_table(run_dir: Path, config: TrainConfig) -> Float[Tensor, "positions d_model"] | None:
    """What is added to the embeddings at each position, if anything is."""
    if config.model.positions == "learned":
        return read_model(run_dir)["positions.weight"][:_POSITIONS].float()
    return positional_encoding(_POSITIONS, config.model.d_model) if config.model.positions == "sinusoidal" else None


def _curves(
    lines: Sequence[Mapping[str, Any]], config: TrainConfig, table: Float[Tensor, "positions d_model"] | None
) -> str:
    """An SVG of the curves and of the position table; the same metrics give the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415  slow to load, and needed once
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.ticker import LogLocator  # noqa: PLC0415

    known = [("bits_per_byte", "bits per byte"), ("accuracy", "accuracy (%)"), ("exact_match", "exact match (%)")]
    score = next((one for one in known if any(one[0] in line for line in lines)), ("bleu", "BLEU, greedy"))
    panels = [
        ("loss", "loss (nats per target token)"), ("perplexity", "perplexity"), score,
        ("gradient_norm", "gradient norm"), ("learning_rate", "learning rate"),
    ]  # fmt: skip
    # Few ticks, and titles at a given height, for which matplotlib does not look, take half the time.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.size": 9, "axes.titley": 1.0}):
        figure = Figure(figsize=(13, 7))
        figure.subplots_adjust(left=0.05, right=0.99, bottom=0.07, top=0.95, hspace=0.3, wspace=0.18)
        *axes, last = figure.subplots(2, 3).flat
        for panel, (key, title) in zip(axes, panels, strict=True):
            panel.locator_params(nbins=5)
            plot(panel, lines, [("train", key, "training"), ("validation", key, "validation")])
            if key == "perplexity":
                panel.set_yscale("log", subs=())
                panel.yaxis.set(major_locator=LogLocator(subs=(1, 2, 5), numticks=16), major_formatter="{x:,g}")
            panel.set(title=title, xlabel="step")
            panel.grid(alpha=0.3)
            if len(panel.lines) > 1:
                panel.legend()
        last.set(title=f"positions: {config.model.positions}", xlabel="dimension", ylabel="position")
        if table is not None:
            last.imshow(table.numpy(), cmap="RdBu", aspect="auto", interpolation="nearest")
        content = io.BytesIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(content, format="svg", transparent=True, metadata=nothing)
    svg = content.getvalue().decode()
    return svg[svg.index("<svg") :]


def _translations(run_dir: Path, lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A table for each sentence that validations keep: its translations by step, and the reference."""
    files = [folder.held_out_text(run_dir, "validation", side) for side in ("source", "target")]
    texts = [list(read_lines(str(file))) for file in files if file.exists()]
    kept = kept_sentences(len(texts[0])) if len(texts) == len(files) else []
    found = [line for line in lines if isinstance(line.get("translations"), list)]
    found = [line for line in found if len(line["translations"]) == len(kept)]
    if not found:
        return
    shown = found[:: -(-len(found) // _VALIDATIONS)]
    shown += found[-1:] if shown[-1] is not found[-1] else []
    yield "<h2>Translations over time</h2><p>Greedy, of sentences of the validation split.</p>"
    for index, number in enumerate(kept):
        source, reference = (text[number] for text in texts)
        rows: list[tuple[str, str]] = []
        for line in shown:
            text = line["translations"][index]
            if not rows or rows[-1][1] != text:
                rows.append((f"step {line['step']:,}", text))
        rows.append(("reference", reference))
        cells = "".join(f"<tr><td>{step}<td>{escape(text)}" for step, text in rows)
        yield f'<h3 dir="auto">{escape(source)}</h3><table dir="auto">{cells}</table>'
