"""What a model attends to on one sentence: a picture, and a page, one file that loads nothing from elsewhere."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from mt.runs.metrics import png

_TEMPLATE = Path(__file__).with_name("attention.html")


def attention_page(
    weights: Mapping[str, Float[Tensor, "layers heads query memory"]],
    labels: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    *,
    source: str,
    translation: str,
) -> str:
    """Return the page for the `weights` of "encoder", "decoder" and "cross" attention.

    `labels` are the subwords that ask and those that are attended to. A weight is rounded to 1/255. Text reaches the
    page as JSON without "<", so that it cannot end its element, and from there as text only.
    """
    maps = {
        kind: {
            "rows": list(labels[kind][0]),
            "columns": list(labels[kind][1]),
            "layers": len(each),
            "heads": each.shape[1],
            "weights": base64.b64encode((each.float() * 255).round().byte().cpu().numpy().tobytes()).decode(),
        }
        for kind, each in weights.items()
    }
    data = json.dumps({"source": source, "translation": translation, "maps": maps})
    return _TEMPLATE.read_text(encoding="utf-8").replace("{{data}}", data.replace("<", "\\u003c"))


def attention_picture(
    weights: Float[Tensor, "layers rows columns"], columns: Sequence[str], rows: Sequence[str]
) -> bytes:
    """A PNG with one panel for each decoder layer, dark where the attention over the source is."""
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and needed once

    layers = len(weights)
    size = (1.6 + layers * (0.6 + 0.34 * len(columns)), 1.6 + 0.32 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    labels = {"rotation": 70, "ha": "right", "rotation_mode": "anchor", "parse_math": False}
    panels = figure.subplots(1, layers, squeeze=False, sharey=True)[0]
    for layer, panel in enumerate(panels):
        image = panel.imshow(weights[layer].float().numpy(), cmap="Blues", vmin=0, vmax=1)
        panel.set_xticks(range(len(columns)), columns, **labels)
        panel.set_yticks(range(len(rows)), rows, parse_math=False)
        panel.set(title=f"decoder layer {layer + 1}", xlabel="source", ylabel="translation")
    figure.colorbar(image, ax=panels, label="attention, mean over the heads")
    return png(figure, bbox_inches="tight")
