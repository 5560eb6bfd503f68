"""Step-by-step decoding with a KV cache: the model as a next-token function of a search.

What a position gives as key and value never changes, so each layer keeps them, those of the source included. This is
the plain form, to read and to check with; translations come from `mt/fast/engine`, which computes the same with
prepared weights, or from here where the engine does not support a model.
"""

from dataclasses import replace
from itertools import chain

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.model.attention import KeyValueCache
from mt.model.decoder_only import DecoderOnly
from mt.model.masks import joined, padded
from mt.model.transformer import Transformer


class CachedDecoder:
    """Logits of the next token for rows of partial translations that grow by one token per call.

    Every source sentence has `rows_per_sentence` adjacent rows from the first call on. Tokens and rows may be on the
    host: so few are copied without waiting for a GPU.
    """

    def __init__(
        self, model: Transformer, source: Int[Tensor, "sentences source"], *, rows_per_sentence: int = 1
    ) -> None:
        self.model = model
        self.length = 0
        source = source.to(model.target_embedding.weight.device, non_blocking=True)
        self.layout = padded(source, source[:, :1], pad=model.pad)
        memory = model.encode(source, self.layout)
        self.memory: Float[Tensor, "rows source d_model"] = memory.repeat_interleave(rows_per_sentence, dim=0)
        self.memory_mask = self.layout.memory_mask.repeat_interleave(rows_per_sentence, dim=0)
        self.caches = [(KeyValueCache(), KeyValueCache()) for _ in model.decoder.layers]

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append each row's newest token and return the logits of the one after it."""
        self.model.positions.reserve(self.length + 1)
        mask = self.memory_mask
        tokens = tokens.to(mask.device, non_blocking=True)
        ids = torch.full((1, 1), self.length, device=mask.device)
        layout = replace(self.layout, source_mask=mask, memory_mask=mask, target_ids=ids, target_mask=None)
        x = self.model.decode(tokens[:, None], None if self.length else self.memory, layout, self.caches)
        self.length += 1
        return self.model.output_embedding.logits(x[:, 0])

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i what row `rows[i]` was."""
        rows = rows.to(self.memory_mask.device, non_blocking=True)
        self.memory_mask = self.memory_mask[rows]
        for cache in chain(*self.caches):
            cache.reorder(rows)


class CachedContinuation:
    """The same for a model without an encoder: the source fills the cache before the first token of the target."""

    def __init__(
        self, model: DecoderOnly, source: Int[Tensor, "sentences source"], *, rows_per_sentence: int = 1
    ) -> None:
        self.model = model
        self.length = 0
        source = source.to(model.target_embedding.weight.device, non_blocking=True)
        self.mask: Bool[Tensor, "rows all"] = source != model.pad
        self.ends = self.mask.sum(dim=1, keepdim=True)  # the position of the first target token
        self.longest = source.shape[1]
        self.caches = [KeyValueCache() for _ in model.decoder.layers]
        model.read(model.source_embedding(source), *joined(padded(source, source[:, :0], pad=model.pad)), self.caches)
        self.reorder(torch.arange(len(source)).repeat_interleave(rows_per_sentence))

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append each row's newest token and return the logits of the one after it."""
        self.model.positions.reserve(self.longest + self.length + 1)
        tokens = tokens.to(self.mask.device, non_blocking=True)[:, None]
        self.mask = torch.cat([self.mask, torch.ones_like(tokens, dtype=torch.bool)], dim=1)
        ids = self.ends + self.length
        x = self.model.read(self.model.target_embedding(tokens), ids, self.mask.unsqueeze(1), self.caches)
        self.length += 1
        return self.model.output_embedding.logits(x[:, 0])

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i what row `rows[i]` was."""
        rows = rows.to(self.mask.device, non_blocking=True)
        self.mask, self.ends = self.mask[rows], self.ends[rows]
        for cache in self.caches:
            cache.reorder(rows)
