"""The prepared model as a next-token function of a search, for sentences that come and go."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.engine.kept_columns import KeptColumns
from mt.engine.layers import attend
from mt.engine.placed_memory import PlacedMemory
from mt.engine.prepared_model import PreparedModel

_PLACES = 4  # the places in use are a multiple, so that few different shapes reach the kernels


class PlacedDecoder:
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
        self.memory = PlacedMemory(model, source, places=self.num_places)
        self.kept = KeptColumns(
            num_layers=len(model.decoder),
            places=self.num_places,
            rows=rows_per_sentence,
            num_heads=model.num_heads,
            d_k=model.d_model // model.num_heads,
            precision=model.precision,
            device=model.device,
        )
        self.lengths = torch.zeros(self.num_places, dtype=torch.int64, device=model.device)
        self.places: list[int] = []  # of the caller's sentences, in the caller's order
        self.in_use = 0  # the first so many places are computed
        self.rows_to_places: Int[Tensor, " rows"] | None = None
        self.places_to_rows: Int[Tensor, " rows"] | None = None
        self.unsettled = False
        self.admit(self.num_places)

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append each row's newest token and return the logits of the one after it."""
        if self.unsettled:
            self._settle()
        model, places = self.model, self.in_use
        if self.places_to_rows is not None:
            tokens = tokens[self.places_to_rows]
        positions = model.positions(self.kept.longest(places) + 1)[self.lengths[:places, None]]
        x = model.embed(model.target_embedding, tokens.view(places, -1), positions)
        columns = self.kept.open_column(places)
        kept, ancestors = self.kept.window(places)
        memory, source_mask = self.memory.attended, self.memory.mask
        for layer, column, keys_values, source_keys_values in zip(model.decoder, columns, kept, memory, strict=True):
            query, newest = layer.project(x)
            column.copy_(newest)
            attended = attend(query, keys_values[0], keys_values[1], ancestors)
            x = layer.norm(layer.output.add_to(x, attended))
            query = layer.project_cross_query(x)
            attended = attend(query, source_keys_values[0], source_keys_values[1], source_mask)
            x = layer.cross_norm(layer.cross_output.add_to(x, attended))
            x = layer.feed_forward(x)
        self.lengths += 1
        x = x.flatten(0, 1)
        return model.logits(x if self.rows_to_places is None else x[self.rows_to_places])

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
        self._empty(gaps[len(behind) :])
        self.in_use = count
        self.memory.narrow(self.places, count)
        self.rows_to_places = self.places_to_rows = None
        if self.places != list(range(count)):
            width, device = self.rows_per_sentence, self.lengths.device
            rows = torch.tensor(self.places, device=device)[:, None] * width + torch.arange(width, device=device)
            self.rows_to_places = rows.flatten()
            self.places_to_rows = torch.zeros(count * width, dtype=torch.int64, device=device)
            self.places_to_rows[self.rows_to_places] = torch.arange(rows.numel(), device=device)
        self.unsettled = False

    def _move(self, to: list[int], origin: list[int]) -> None:
        self.kept.move(to, origin)
        self.memory.move(to, origin)
        self.lengths[to] = self.lengths[origin]
        moved = dict(zip(origin, to, strict=True))
        self.places = [moved.get(place, place) for place in self.places]

    def _empty(self, places: list[int]) -> None:
        """Places without a sentence, or with a new one, have no target yet."""
        self.kept.begin(places)
        self.lengths[places] = 0
