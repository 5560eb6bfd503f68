"""mt-attention: what a trained model attends to while it translates one sentence, as a picture and as a page."""

from pathlib import Path

from torch import Tensor

from mt.api import model_and_translator
from mt.config.schema import AttentionConfig
from mt.data.batch import make_batch
from mt.errors import UserError
from mt.figures.attention_page import attention_page, attention_picture
from mt.model.inspection import all_attention_weights
from mt.reporting import report
from mt.runs.atomic import replace_file

_MOST_SUBWORDS = 100


def attention(config: AttentionConfig) -> None:
    """Translate the sentence and draw the attention of each decoder layer over the source, as the mean over its heads.

    The page next to the picture has every head of every attention. Raises UserError for a sentence without words, or
    with more subwords than a picture can hold.
    """
    model, translator = model_and_translator(Path(config.run_dir), config.decoding)
    subwords = translator.source_tokenizer.encode(config.source)
    if not subwords:
        raise UserError("source: there is nothing to translate")
    if len(subwords) > _MOST_SUBWORDS:
        raise UserError(
            f"source: {len(subwords):,} subwords, but a picture holds {_MOST_SUBWORDS}; give a shorter sentence"
        )
    translation = translator.translate_all([config.source])[0]
    batch = make_batch([subwords], [translation.tokens])
    found = all_attention_weights(model, batch.source, batch.target_input)
    weights: dict[str, Tensor] = {kind: each[:, 0] for kind, each in found.items()}
    columns = [*translator.source_tokenizer.subwords(subwords), "</s>"]
    written = translator.target_tokenizer.subwords(translation.tokens)
    rows = [*written, "</s>"]
    labels = {"encoder": (columns, columns), "decoder": (rows, ["<s>", *written]), "cross": (rows, columns)}
    page = attention_page(weights, labels, source=config.source, translation=translation.text)
    picture = attention_picture(weights["cross"].mean(dim=1), columns, rows)
    replace_file(Path(config.output), picture, key="output")
    path = Path(config.output).with_suffix(".html")
    replace_file(path, page.encode(), key="output")
    print(translation.text, flush=True)
    report(f"{config.output}: rows are the subwords of the translation, columns those of the source")
    report(f"{path}: every head of every layer, for a browser")
