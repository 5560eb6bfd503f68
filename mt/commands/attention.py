"""mt-attention: a picture of what the trained decoder looks at while it translates one sentence."""

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import torch
from jaxtyping import Float
from torch import Tensor

from mt import build
from mt.config.schema import AttentionConfig
from mt.data.batch import make_batch
from mt.errors import UserError
from mt.model.inspection import cross_attention_weights
from mt.reporting import report
from mt.runs.atomic import replace_file

mpl.use("Agg")
from matplotlib import pyplot as plt  # the backend comes first

_MOST_PIECES = 100


def attention(config: AttentionConfig) -> None:
    """Translate the sentence and draw the attention of each layer over the source, as the mean over its heads.

    Raises UserError for a sentence without words, or with more pieces than a picture can hold.
    """
    translator = build.translator_of_run(Path(config.run_dir), config.decoding, "cpu")
    pieces = translator.source_tokenizer.encode(config.source)
    if not pieces:
        raise UserError("source: there is nothing to translate")
    if len(pieces) > _MOST_PIECES:
        raise UserError(f"source: {len(pieces):,} pieces, but a picture holds {_MOST_PIECES}; give a shorter sentence")
    translation = translator.translate_all([config.source])[0]
    batch = make_batch([pieces], [translation.tokens])
    weights = cross_attention_weights(translator.model, batch.source, batch.target_input)[:, 0].mean(dim=1)
    columns = [*translator.source_tokenizer.pieces(pieces), "</s>"]
    rows = [*translator.target_tokenizer.pieces(translation.tokens), "</s>"]
    draw(weights, columns, rows, Path(config.output))
    print(translation.text, flush=True)
    report(f"{config.output}: rows are the pieces of the translation, columns those of the source")


def draw(
    weights: Float[Tensor, "layers target source"], columns: Sequence[str], rows: Sequence[str], output: Path
) -> None:
    """Write one panel per layer, dark where the attention is, and one colour bar for all. Raises DiskError."""
    layers = weights.shape[0]
    size = (2.6 + layers * (0.6 + 0.34 * len(columns)), 2.2 + 0.33 * len(rows))
    figure, panels = plt.subplots(1, layers, figsize=size, squeeze=False, sharey=True, layout="constrained")
    for layer, panel in enumerate(panels[0]):
        image = panel.imshow(weights[layer].to(torch.float32).numpy(), cmap="Blues", vmin=0, vmax=1)
        panel.set_xticks(
            range(len(columns)), columns, rotation=70, ha="right", rotation_mode="anchor", parse_math=False
        )
        panel.set_yticks(range(len(rows)), rows, parse_math=False)
        panel.set_title(f"decoder layer {layer + 1}")
        panel.set_xlabel("source subwords")
    panels[0, 0].set_ylabel("target subwords")
    figure.colorbar(image, ax=panels[0].tolist(), label="attention weight", shrink=0.8)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, bbox_inches="tight")
    plt.close(figure)
    replace_file(output, content.getvalue(), key="output")
