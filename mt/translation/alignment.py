"""Which word of the source a word of the translation comes from, read from the decoder's attention."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mt.data.batch import make_batch
from mt.model.decoder_only import AnyTransformer
from mt.model.inspection import all_attention_weights

Links = list[tuple[int, int]]  # (source word, target word), counted from 0, in ascending order


def mean_attention(
    models: Sequence[AnyTransformer], sources: list[list[int]], outputs: list[list[int]]
) -> Float[Tensor, "pairs target source"]:
    """Return the mean of the models' attention over each source while they read its output; padded.

    Of each model that is the mean over all heads of all decoder layers but the first, which looks elsewhere; of the
    only layer where there is one. docs/failed_experiments.md compares single layers.
    """
    batch = make_batch(sources, outputs).to(next(models[0].parameters()).device)
    read = batch.source, batch.target_input
    weights = [all_attention_weights(model, *read, kinds=("cross",))["cross"] for model in models]
    attention = [(each[1:] if len(each) > 1 else each).mean(dim=(0, 2)) for each in weights]
    return torch.stack(attention).mean(dim=0).cpu()


def word_alignment(
    attention: Float[Tensor, "target source"], *, source_words: Sequence[int], target_words: Sequence[int]
) -> Links:
    """Link each target word to the source word that its subwords attend to most.

    `source_words` and `target_words` hold the word that each subword belongs to; rows and columns beyond them, such as
    those of EOS, are left out. A word's attention is the sum over its source subwords and the mean over its target
    subwords.
    """
    if not source_words or not target_words:
        return []
    sources, targets = sorted(set(source_words)), sorted(set(target_words))
    columns = torch.tensor([sources.index(word) for word in source_words])
    rows = torch.tensor([targets.index(word) for word in target_words])
    subwords = attention[: len(target_words), : len(source_words)].to("cpu", torch.float64)
    by_source_word = subwords.new_zeros(len(subwords), len(sources)).index_add(1, columns, subwords)
    by_word = subwords.new_zeros(len(targets), len(sources)).index_add(0, rows, by_source_word)
    return sorted((sources[best], word) for word, best in zip(targets, by_word.argmax(dim=1).tolist(), strict=True))


def pharaoh(links: Links) -> str:
    """Return links in Pharaoh format: "0-0 1-2" links source word 0 to target word 0 and 1 to 2."""
    return " ".join(f"{source}-{target}" for source, target in links)
