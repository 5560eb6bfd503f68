"""The prepared model as a next-token function of a search, for sentences that come and go."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.ancestry_cache import AncestryCache
from mt.fast.engine.cross_attention_cache import CrossAttentionCache
from mt.fast.engine.indexed_cache import IndexedCache
from mt.fast.engine.prepared_model import PreparedModel

_PLACES = 4  # the places in use are a multiple, so that few different shapes reach the kernels


class BatchedDecoder:
    """Logits of the next token for rows of partial translations that grow by one token per call.

    A sentence lives at a place, with `rows_per_sentence` rows side by side. The place holds the keys and values of
    its source, once for all its rows, and those of its target so far. When sentences leave, only the last places
    move, into the gaps; the caller's rows keep the order in which its sentences came.

    `source` holds all sentences of a search, of which the first `places` are there from the beginning and the rest
    come by `admit`; without `places` all are there.
    """

    def __init__(
        self,
        model: PreparedModel,
        source: Int[Tensor, "sentences source"],
        *,
        rows_per_sentence: int,
        places: int | None = None,
    ) -> None:
        self.model = model
        self.rows_per_sentence = rows_per_sentence
        self.num_places = min(len(source), places or len(source))
        self.memory = CrossAttentionCache(model, source, places=self.num_places)
        self.kept = self._kept_cells(together=self.num_places == len(source))
        self.steps = 0
        self.begins = [0] * self.num_places  # steps that were over when the sentence came
        self.places: list[int] = []  # of the caller's sentences, in the caller's order
        self.in_use = 0  # the first so many places are computed
        self.idle: list[int] = []  # those of them without a sentence
        self.rows_to_places: Int[Tensor, " rows"] | None = None
        self.places_to_rows: Int[Tensor, " rows"] | None = None
        self.unsettled = False
        self.admit(self.num_places)

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append each row's newest token and return the logits of the one after it.

        At first the rows of a sentence are all alike: one of them is computed, and what comes of it is every row's.
        """
        if self.unsettled:
            self._settle()
        model, places = self.model, self.in_use
        width = self.rows_per_sentence if self.steps else 1
        if self.places_to_rows is not None:
            tokens = tokens[self.places_to_rows]
        begins = self.begins[:places]
        table = model.positions(self.steps - min(begins) + 1)
        if min(begins) == max(begins):
            positions = table[self.steps - begins[0]]
        else:
            positions = table[self.steps - torch.tensor(begins, device=table.device)[:, None]]
        x = model.embed(model.target_embedding, tokens.view(places, -1)[:, :width], positions)
        self.kept.open(places, idle=self.idle, width=width)
        x = self._through_layers(x)
        self.steps += 1
        if width == self.rows_per_sentence:
            x = x.flatten(0, 1)
            return model.logits(x if self.rows_to_places is None else x[self.rows_to_places])
        return model.logits(x[self.places, 0]).repeat_interleave(self.rows_per_sentence, dim=0)

    def _through_layers(self, x: Float[Tensor, "places rows d_model"]) -> Float[Tensor, "places rows d_model"]:
        """Figure 1 from the embedding to the last layer, for the newest tokens."""
        kept, memory = self.kept, self.memory
        if isinstance(kept, IndexedCache) and self.model.decoder_in_one_call is not None:
            self.model.decoder_in_one_call(x, kept.structure, kept.cells, memory.structure)
            return x
        for number, layer in enumerate(self.model.decoder):
            attended = kept.attend(number, layer.projection(x))
            x = layer.norm(x, layer.output, attended)
            attended = memory.attend(number, layer.cross_query(x))
            x = layer.cross_norm(x, layer.cross_output, attended)
            x = layer.feed_forward(x)
        return x

    def _kept_cells(self, *, together: bool) -> AncestryCache | IndexedCache:
        """The cache: by lists where all sentences begin together and a kernel is there to read them."""
        model, places, rows = self.model, self.num_places, self.rows_per_sentence
        shape: dict[str, Any] = {"num_layers": len(model.decoder), "places": places, "rows": rows}
        if together and model.cell_attention is not None:
            return IndexedCache(model.cell_attention, **shape, precision=model.precision)
        options: dict[str, Any] = {"precision": model.precision, "device": model.device}
        return AncestryCache(**shape, num_heads=model.num_heads, d_model=model.d_model, **options)

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i what row `rows[i]` was; a sentence keeps all its rows or none."""
        width = self.rows_per_sentence
        if len(rows) < len(self.places) * width:
            self.places = [self.places[sentence] for sentence in (rows[::width] // width).tolist()]
            self.unsettled = True
        if width > 1 and not self.unsettled and self.rows_to_places is None:
            self.kept.inherit(rows)
        elif width > 1 and self.places:
            places = torch.tensor(self.places, device=rows.device)
            parents = torch.arange(self.in_use * width, device=rows.device)
            parents.view(-1, width)[places] = (rows % width).view(-1, width) + places[:, None] * width
            self.kept.inherit(parents)

    def admit(self, count: int) -> None:
        """Append the rows of the next `count` sentences, with empty prefixes. There must be room for them."""
        taken = set(self.places)
        free = [place for place in range(self.num_places) if place not in taken][:count]
        self.memory.admit(free)
        self._empty(free)
        self.places += free
        self.unsettled = True

    def _settle(self) -> None:
        """Bring the sentences to the first places, and note which rows of the caller's lie where."""
        count = min(-(-len(self.places) // _PLACES) * _PLACES, self.num_places)
        gaps = sorted(set(range(count)).difference(self.places))
        behind = [place for place in self.places if place >= count]
        if behind:
            self._move(gaps[: len(behind)], behind)
        self.idle = gaps[len(behind) :]
        self._empty(self.idle)
        self.in_use = count
        self.memory.narrow(self.places, count)
        self.rows_to_places = self.places_to_rows = None
        if self.places != list(range(count)):
            width, device = self.rows_per_sentence, self.model.device
            rows = torch.tensor(self.places, device=device)[:, None] * width + torch.arange(width, device=device)
            self.rows_to_places = rows.flatten()
            self.places_to_rows = torch.zeros(count * width, dtype=torch.int64, device=device)
            self.places_to_rows[self.rows_to_places] = torch.arange(rows.numel(), device=device)
        self.unsettled = False

    def _move(self, to: list[int], origin: list[int]) -> None:
        self.kept.move(to, origin)
        self.memory.move(to, origin)
        for new, old in zip(to, origin, strict=True):
            self.begins[new] = self.begins[old]
        moved = dict(zip(origin, to, strict=True))
        self.places = [moved.get(place, place) for place in self.places]

    def _empty(self, places: list[int]) -> None:
        """Places without a sentence, or with a new one, have no target yet."""
        self.kept.empty(places)
        for place in places:
            self.begins[place] = self.steps
