"""Whether another engine, given what was written for it, computes the same: logits, tokens, pieces and text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mt.data.batch import source_tensor
from mt.data.tokenizer import BOS, EOS, Tokenizer
from mt.errors import UserError
from mt.export.vocabulary import translated
from mt.model.cached_decoder import CachedDecoder
from mt.model.transformer import Transformer
from mt.search.beam import beam_search

LARGEST_LOGIT_DIFFERENCE = 1e-4
SMALLEST_EQUAL_SHARE = 0.999
_BATCH = 50
_SENTENCES_WITH_LOGITS = 32


@runtime_checkable
class Engine(Protocol):
    """What reads an exported folder. Its token ids are its own; sources and outputs are without end marks."""

    def pieces(self, texts: Sequence[str]) -> list[list[int]] | None:
        """The ids of texts by the folder's tokenizer; None where the engine has none."""
        ...

    def greedy(self, sources: Sequence[Sequence[int]], *, longest: int) -> list[list[int]]:
        """The most probable token at every position, up to EOS or `longest` tokens."""
        ...

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Float[np.ndarray, "positions vocabulary"]:
        """The logits of each token of a target and of its end, given those before it."""
        ...

    def text(self, tokens: Sequence[int]) -> str | None:
        """The text of an output; None where the engine has no tokenizer."""
        ...


@dataclass(frozen=True)
class Proof:
    """What was compared, and how much of it was equal: shares of the sentences."""

    sentences: int
    largest_logit_difference: float
    sentences_with_logits: int
    same_tokens: float
    same_pieces: float | None
    same_text: float | None

    def failure(self) -> str | None:
        """What is not equal enough, in words; None if all is."""
        if not self.largest_logit_difference <= LARGEST_LOGIT_DIFFERENCE:  # NaN fails too
            return f"its logits differ by up to {self.largest_logit_difference:.2g}"
        shares = {"tokens": self.same_tokens, "pieces": self.same_pieces, "texts": self.same_text}
        for what, share in shares.items():
            if share is not None and share < SMALLEST_EQUAL_SHARE:
                return f"its {what} are the same in only {share:.2%} of {self.sentences} sentences"
        return None


@dataclass(frozen=True)
class Original:
    """Our side: the model with its tokenizers, and tables between our piece ids and the engine's token ids."""

    model: Transformer
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    forbidden: Sequence[int]
    source_ids: Sequence[int]
    target_ids: Sequence[int]
    target_rows: Sequence[int]


def prove(
    original: Original, engine: Engine, texts: Sequence[str], *, longest_source: int, max_extra_tokens: int
) -> Proof:
    """Compare on these texts; longer ones than `longest_source` pieces are left out. Raises UserError without any."""
    encoded = zip(texts, original.source_tokenizer.encode_many(list(texts)), strict=True)
    kept = sorted((len(source), text, source) for text, source in encoded if 0 < len(source) <= longest_source)
    if not kept:
        raise UserError("there is no sentence to prove the equality with; give sentences=FILE")
    chosen, sources = [text for _, text, _ in kept], [source for _, _, source in kept]
    theirs_in = [translated(source, original.source_ids) for source in sources]
    ours, theirs = _both_greedy(original, engine, sources, theirs_in, max_extra_tokens)
    picks = sorted(set(np.linspace(0, len(sources) - 1, _SENTENCES_WITH_LOGITS).astype(int).tolist()))
    differences = [_logit_difference(original, engine, sources[pick], ours[pick]) for pick in picks]
    pieces = engine.pieces(chosen)
    texts_out = [engine.text(tokens) for tokens in theirs]
    return Proof(
        sentences=len(sources),
        largest_logit_difference=float(np.max(differences)),
        sentences_with_logits=len(picks),
        same_tokens=_share([translated(tokens, original.target_ids) for tokens in ours], theirs),
        same_pieces=None if pieces is None else _share(theirs_in, pieces),
        same_text=None if None in texts_out else _share_of_text(original, theirs, texts_out),
    )


def _both_greedy(
    original: Original, engine: Engine, sources: list[list[int]], theirs_in: list[list[int]], max_extra_tokens: int
) -> tuple[list[list[int]], list[list[int]]]:
    ours: list[list[int]] = []
    theirs: list[list[int]] = []
    for start in range(0, len(sources), _BATCH):
        part = slice(start, start + _BATCH)
        longest = len(sources[part][-1]) + max_extra_tokens
        ours += [tokens[: longest - 1] for tokens in _greedy(original, sources[part], longest)]
        theirs += [tokens[: longest - 1] for tokens in engine.greedy(theirs_in[part], longest=longest)]
    return ours, theirs


def _greedy(original: Original, sources: list[list[int]], longest: int) -> list[list[int]]:
    """At the longest length we end every output; the last token before it is compared no more."""
    with torch.inference_mode():
        found = beam_search(
            next_token=CachedDecoder(original.model, source_tensor(sources)),
            beam_size=1,
            length_penalty=0.0,
            length_penalty_form="power",
            max_lengths=torch.full((len(sources),), longest),
            bos=BOS,
            eos=EOS,
            forbidden=original.forbidden,
        )
    return [hypotheses[0].tokens for hypotheses in found]


def _logit_difference(original: Original, engine: Engine, source: list[int], target: list[int]) -> float:
    with torch.inference_mode():
        ours: Tensor = original.model(source_tensor([source]), torch.tensor([[BOS, *target]]))[0]
    theirs = engine.logits(translated(source, original.source_ids), translated(target, original.target_ids))
    return float(np.abs(ours[:, list(original.target_rows)].numpy() - theirs).max())


def _share(ours: Sequence[object], theirs: Sequence[object]) -> float:
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)


def _share_of_text(original: Original, theirs: list[list[int]], texts: Sequence[str | None]) -> float:
    back = {token: piece for piece, token in reversed(list(enumerate(original.target_ids)))}
    ours = [original.target_tokenizer.decode(back[token] for token in tokens) for tokens in theirs]
    return _share([text.strip() for text in ours], texts)
