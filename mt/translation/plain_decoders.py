"""Decoding by the model itself, for models that the fast engine does not support."""

import contextlib
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from mt.model.cached_decoder import CachedDecoder
from mt.model.transformer import Transformer
from mt.search.ensemble import Ensemble
from mt.search.next_token import NextToken


class PlainDecoders:
    """Starts decoding with models of the same vocabulary, which decide together as `Ensemble` says."""

    refills = False

    def __init__(self, models: Sequence[Transformer]) -> None:
        self.models = models
        self.device = next(models[0].parameters()).device

    @contextlib.contextmanager
    def __call__(
        self,
        source: Int[Tensor, "sentences source"],
        *,
        rows_per_sentence: int,
        slots: int | None,  # noqa: ARG002  all sentences are decoded at the same time
    ) -> Iterator[NextToken]:
        """Give the next-token function of these sentences."""
        with torch.inference_mode():
            source = source.to(self.device)
            decoders = [CachedDecoder(model, source, rows_per_sentence=rows_per_sentence) for model in self.models]
            yield decoders[0] if len(decoders) == 1 else Ensemble(decoders)
