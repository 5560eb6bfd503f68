"""Decoding by prepared models, as a translator starts it for the sentences of each search."""

import contextlib
import threading
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.search.ensemble import Ensemble
from mt.search.next_token import NextToken

_SWITCHING = threading.Lock()
_settings_before: list[str] = []  # one for each thread inside `bf16_factors`; the first is to be restored


class PreparedDecoders:
    """Starts decoding with prepared models of the same vocabulary, which decide together as `Ensemble` says."""

    def __init__(self, models: Sequence[PreparedModel]) -> None:
        self.models = models
        self.device = models[0].device
        self.refills = self.device.type != "cpu"
        self._rounded = self.device.type == "cpu" and models[0].precision == torch.bfloat16

    @contextlib.contextmanager
    def __call__(
        self, source: Int[Tensor, "sentences source"], *, rows_per_sentence: int, slots: int | None
    ) -> Iterator[NextToken]:
        """Give the next-token function of these sentences, of which `slots` are decoded at the same time."""
        with torch.inference_mode(), bf16_factors() if self._rounded else contextlib.nullcontext():
            source = source.to(self.device)
            decoders = [
                BatchedDecoder(model, source, rows_per_sentence=rows_per_sentence, slots=slots) for model in self.models
            ]
            yield decoders[0] if len(decoders) == 1 else Ensemble(decoders)


@contextlib.contextmanager
def bf16_factors() -> Iterator[None]:
    """Let oneDNN round the factors of fp32 products to bf16; sums and results stay fp32.

    This holds for the whole process, until the last thread has left.
    """
    matmul = getattr(torch.backends.mkldnn, "matmul")  # noqa: B009  made at run time, unknown to type checkers
    with _SWITCHING:
        _settings_before.append(matmul.fp32_precision)
        matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        with _SWITCHING:
            before = _settings_before.pop()
            if not _settings_before:
                matmul.fp32_precision = before
