"""The prepared model as a next-token function of a search, for a batch that sentences leave as they end."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.caches import CrossAttentionCache, SelfAttentionCache, on_device
from mt.fast.engine.prepared_model import PreparedModel

_LONGER = 8  # than its source is an output expected to be, in subwords; for one that is longer, memory is copied


class BatchedDecoder:
    """Logits of the next token for rows of partial translations that grow by one token per call.

    A sentence occupies a slot, with `rows_per_sentence` rows side by side. The slot holds the keys and values of its
    source, once for all its rows, and those of its target so far. When sentences leave, only the last slots move, into
    the gaps; the caller's rows keep the order of `source`.
    """

    def __init__(
        self, model: PreparedModel, source: Int[Tensor, "sentences source"], *, rows_per_sentence: int
    ) -> None:
        self.model = model
        self.rows_per_sentence = rows_per_sentence
        self.source_cache = CrossAttentionCache(model, source)
        expected = source.shape[1] + _LONGER
        self.cache = SelfAttentionCache(model, slots=len(source), rows=rows_per_sentence, expected_steps=expected)
        self.slots = list(range(len(source)))  # of the caller's sentences, in the caller's order
        self.in_use = len(source)  # the first of the slots; sentences may have left them since
        self.rows_to_slots: Int[Tensor, " rows"] | None = None
        self.slots_to_rows: Int[Tensor, " rows"] | None = None

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append each row's newest token and return the logits of the one after it.

        At first the rows of a sentence are all alike: one of them is computed, and its result is every row's.
        """
        if len(self.slots) < self.in_use:
            self._settle()
        model, slots, steps = self.model, self.in_use, self.cache.steps
        tokens = tokens.to(model.device, non_blocking=True)
        width = self.rows_per_sentence if steps else 1
        if self.slots_to_rows is not None:
            tokens = tokens[self.slots_to_rows]
        position = model.positions.encodings(steps + 1)[steps]
        x = model.embed(model.target_embedding, tokens.view(slots, -1)[:, :width], position)
        self.cache.open(slots, width=width)
        x = self._through_layers(x).flatten(0, 1)
        if width < self.rows_per_sentence:
            return model.logits(x).repeat_interleave(self.rows_per_sentence, dim=0)
        return model.logits(x if self.rows_to_slots is None else x[self.rows_to_slots])

    def _through_layers(self, x: Float[Tensor, "slots rows d_model"]) -> Float[Tensor, "slots rows d_model"]:
        """Figure 1 from the embedding to the last layer, for the newest tokens."""
        cache, source = self.cache, self.source_cache
        if self.model.decoder_in_one_call is not None:
            self.model.decoder_in_one_call(x, cache.structure, cache.indices, source.structure)
            return x
        for number, layer in enumerate(self.model.decoder):
            x = layer.norm(x, layer.output(cache.attend(number, layer.projection(x))))
            x = layer.cross_norm(x, layer.cross_output(source.attend(number, layer.cross_query(x))))
            x = layer.feed_forward(x)
        return x

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Let row i continue the prefix of row `rows[i]`; a sentence keeps all its rows or none."""
        width = self.rows_per_sentence
        if len(rows) < len(self.slots) * width:
            self.slots = [self.slots[sentence] for sentence in (rows[::width] // width).tolist()]
        if width > 1 and len(self.slots) == self.in_use and self.rows_to_slots is None:
            self.cache.inherit(rows)
        elif width > 1 and self.slots:
            slots = torch.tensor(self.slots)
            parents = torch.arange(self.in_use * width)
            parents.view(-1, width)[slots] = (rows % width).view(-1, width) + slots[:, None] * width
            self.cache.inherit(parents)

    def _settle(self) -> None:
        """Bring the sentences to the first slots, and note which of the caller's rows are where."""
        count = self.in_use = len(self.slots)
        gaps = sorted(set(range(count)).difference(self.slots))
        beyond = [slot for slot in self.slots if slot >= count]
        if beyond:
            for cache in (self.cache, self.source_cache):
                cache.move(gaps, beyond)
            moved = dict(zip(beyond, gaps, strict=True))
            self.slots = [moved.get(slot, slot) for slot in self.slots]
        self.source_cache.narrow(count)
        self.rows_to_slots = self.slots_to_rows = None
        if self.slots != list(range(count)):
            width, device = self.rows_per_sentence, self.model.device
            rows = (torch.tensor(self.slots)[:, None] * width + torch.arange(width)).flatten()
            self.rows_to_slots, self.slots_to_rows = (on_device(each, device) for each in (rows, rows.argsort()))
