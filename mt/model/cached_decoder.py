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
from mt.model.masks import causal_mask, joined, padded
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
        position_ids = torch.full((1, 1), self.length, device=mask.device)
        layout = replace(
            self.layout, source_mask=mask, memory_mask=mask, target_position_ids=position_ids, target_mask=None
        )
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
        return self.model.output_embedding.logits(self.append(tokens[:, None])[:, -1])

    def append(self, tokens: Int[Tensor, "rows new"]) -> Float[Tensor, "rows new d_model"]:
        """Append tokens of the target to each row and return the last layer's output at them."""
        new = tokens.shape[1]
        self.model.positions.reserve(self.longest + self.length + new)
        tokens = tokens.to(self.mask.device, non_blocking=True)
        causal = causal_mask(new, device=tokens.device).expand(len(tokens), new, new)
        mask = torch.cat([self.mask.unsqueeze(1).expand(-1, new, -1), causal], dim=2)
        position_ids = self.ends + self.length + torch.arange(new, device=tokens.device)
        self.mask, self.length = mask[:, -1], self.length + new
        return self.model.read(self.model.target_embedding(tokens), position_ids, mask, self.caches)

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i what row `rows[i]` was."""
        rows = rows.to(self.mask.device, non_blocking=True)
        self.mask, self.ends = self.mask[rows], self.ends[rows]
        for cache in self.caches:
            cache.reorder(rows)


class SlidingContext:
    """A language model as a next-token function of a text that may grow beyond the rows that it was trained on.

    After `window` tokens it begins again with the first one, BOS, and the newer half. Until then it is exact.
    """

    def __init__(self, model: DecoderOnly, *, rows: int, window: int) -> None:
        self.model = model
        self.window = window
        self.tokens = torch.empty(rows, 0, dtype=torch.int64, device=model.target_embedding.weight.device)
        self.decoder = CachedContinuation(model, self.tokens)

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append each row's newest token and return the logits of the one after it."""
        if self.decoder.length == self.window:
            newer = self.tokens[:, self.tokens.shape[1] - min(self.window // 2, self.window - 2) :]
            self.tokens = torch.cat([self.tokens[:, :1], newer], dim=1)
            self.decoder = CachedContinuation(self.model, self.tokens[:, :0])
            self.decoder.append(self.tokens)
        self.tokens = torch.cat([self.tokens, tokens.to(self.tokens.device)[:, None]], dim=1)
        return self.decoder(tokens)

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i what row `rows[i]` was."""
        self.tokens = self.tokens[rows.to(self.tokens.device)]
        self.decoder.reorder(rows)
