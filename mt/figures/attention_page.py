"""A page that shows every attention of a model on one sentence: one file, which loads nothing from elsewhere."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

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
