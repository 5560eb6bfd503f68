"""Which word of the source a word of the translation comes from, read off the decoder's attention."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

Links = list[tuple[int, int]]  # (source word, target word), counted from 0, in ascending order


def word_alignment(
    attention: Float[Tensor, "target source"], *, source_words: Sequence[int], target_words: Sequence[int]
) -> Links:
    """Link each target word to the source word that its pieces attend to most.

    `source_words` and `target_words` hold the word that each piece belongs to; rows and columns beyond them, such as
    those of EOS, are left out. A word's attention is the sum over its source pieces, the mean over its target pieces.
    """
    if not source_words or not target_words:
        return []
    sources, targets = sorted(set(source_words)), sorted(set(target_words))
    columns = torch.tensor([sources.index(word) for word in source_words])
    rows = torch.tensor([targets.index(word) for word in target_words])
    pieces = attention[: len(target_words), : len(source_words)].to("cpu", torch.float64)
    by_source_word = pieces.new_zeros(len(pieces), len(sources)).index_add(1, columns, pieces)
    by_word = pieces.new_zeros(len(targets), len(sources)).index_add(0, rows, by_source_word)
    return sorted((sources[best], word) for word, best in zip(targets, by_word.argmax(dim=1).tolist(), strict=True))


def pharaoh(links: Links) -> str:
    """Return links in Pharaoh format: "0-0 1-2" links source word 0 to target word 0 and 1 to 2."""
    return " ".join(f"{source}-{target}" for source, target in links)
