"""The prepared model as a next-token function of a search, for a batch that sentences leave as they end."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.caches import CrossAttentionCache, SelfAttentionCache, on_device, round_up
from mt.fast.engine.prepared_model import PreparedModel

_SLOTS = 4  # the slots in use are a multiple, so that few different shapes reach the kernels


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
        self.cache = SelfAttentionCache(model, slots=len(source), rows=rows_per_sentence)
        self.steps = 0
        self.slots = list(range(len(source)))  # of the caller's sentences, in the caller's order
        self.in_use = len(source)  # this number of slots is computed, from the first
        self.idle: list[int] = []  # those of them without a sentence
        self.rows_to_slots: Int[Tensor, " rows"] | None = None
        self.slots_to_rows: Int[Tensor, " rows"] | None = None
        self.unsettled = True

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append each row's newest token and return the logits of the one after it.

        At first the rows of a sentence are all alike: one of them is computed, and its result is every row's.
        """
        if self.unsettled:
            self._settle()
        model, slots = self.model, self.in_use
        tokens = tokens.to(model.device, non_blocking=True)
        width = self.rows_per_sentence if self.steps else 1
        if self.slots_to_rows is not None:
            tokens = tokens[self.slots_to_rows]
        position = model.positions(self.steps + 1)[self.steps]
        x = model.embed(model.target_embedding, tokens.view(slots, -1)[:, :width], position)
        self.cache.open(slots, idle=self.idle, width=width)
        x = self._through_layers(x)
        self.steps += 1
        if width == self.rows_per_sentence:
            x = x.flatten(0, 1)
            return model.logits(x if self.rows_to_slots is None else x[self.rows_to_slots])
        return model.logits(x[: len(self.slots), 0]).repeat_interleave(self.rows_per_sentence, dim=0)

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
            self.unsettled = True
        if width > 1 and not self.unsettled and self.rows_to_slots is None:
            self.cache.inherit(rows)
        elif width > 1 and self.slots:
            slots = torch.tensor(self.slots)
            parents = torch.arange(self.in_use * width)
            parents.view(-1, width)[slots] = (rows % width).view(-1, width) + slots[:, None] * width
            self.cache.inherit(parents)

    def _settle(self) -> None:
        """Bring the sentences to the first slots, and note which of the caller's rows are where."""
        count = min(round_up(len(self.slots), _SLOTS), self.in_use)
        gaps = sorted(set(range(count)).difference(self.slots))
        beyond = [slot for slot in self.slots if slot >= count]
        if beyond:
            moved = dict(zip(beyond, gaps, strict=False))
            for cache in (self.cache, self.source_cache):
                cache.move(list(moved.values()), beyond)
            self.slots = [moved.get(slot, slot) for slot in self.slots]
        self.idle = gaps[len(beyond) :]
        self.in_use = count
        self.source_cache.narrow(self.slots, count)
        self.rows_to_slots = self.slots_to_rows = None
        if self.slots != list(range(count)):
            width, device = self.rows_per_sentence, self.model.device
            rows = (torch.tensor(self.slots)[:, None] * width + torch.arange(width)).flatten()
            back = torch.zeros(count * width, dtype=torch.int64)
            back[rows] = torch.arange(len(rows))
            self.rows_to_slots, self.slots_to_rows = (on_device(each, device) for each in (rows, back))
        self.unsettled = False
