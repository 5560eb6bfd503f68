"""Keys and values of the target positions so far, kept where they were written however the search moves its rows.

Each step of a search writes a cell for every row: the row's key and value in every layer. A row that continues
another row's prefix needs that row's keys, so decoders usually copy the whole cache at each step. Here nothing
moves. The rows of a place attend together to all cells of all its rows, and a table says which of them are a row's
ancestors; continuing another row is copying its line of the table, a few hundred bytes. Rows of a beam soon have most
of their ancestors in common, so now and then the cells that are nobody's ancestors are left out.
"""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from mt.fast.engine.prepared_layers import attend

_STEPS = 4  # so many are written before cells are left out
_WIDTH = 16  # attended cells are a multiple: kernels take as long for 24 as for 32, and few different shapes reach them


class AncestryCache:
    """The cache of all layers for `places` sentences of `rows` rows each."""

    def __init__(
        self,
        *,
        num_layers: int,
        places: int,
        rows: int,
        num_heads: int,
        d_model: int,
        precision: torch.dtype,
        device: torch.device,
    ) -> None:
        self.rows, self.num_heads = rows, num_heads
        self.end = 0
        self.next_tidying = _STEPS * rows
        cells = _multiple(self.next_tidying)
        options: dict[str, Any] = {"dtype": precision, "device": device}
        self.keys_values: Float[Tensor, "layers 2 places cells d_model"] = torch.zeros(
            (num_layers, 2, places, cells, d_model), **options
        )
        self.ancestors: Float[Tensor, "places rows cells"] = torch.full((places, rows, cells), -math.inf, **options)
        self.own = torch.full((rows, rows), -math.inf, **options).fill_diagonal_(0.0)

    def open(self, places: int, *, idle: list[int], width: int) -> None:
        """Begin a cell for each row of the first places; the same for all rows where only `width` = 1 is computed.

        Every row is its own ancestor there. What places behind these or `idle` ones among these hold may be lost.
        """
        self._hold(places)
        if self.end >= self.next_tidying:
            self.empty(idle)
            self._tidy(places)
        cells = slice(self.end, self.end + self.rows)
        self.ancestors[:places, :, cells] = self.own
        self.end += self.rows
        self.newest = self.keys_values[:, :, :places, cells].unbind()
        attended = self.keys_values[:, :, :places, : _multiple(self.end)]
        self.attended = attended.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2).unbind()
        self.mask = self.ancestors[:places, None, :width, : _multiple(self.end)]

    def attend(
        self, layer: int, projected: Float[Tensor, "places rows features"]
    ) -> Float[Tensor, "places rows d_model"]:
        """Keep each row's newest key and value, and attend to all of its prefix."""
        query, *key_value = projected.chunk(3, dim=-1)
        for kept, made in zip(self.newest[layer], key_value, strict=True):
            kept.copy_(made)
        query = query.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)
        keys, values = self.attended[layer]
        return attend(query, keys, values, self.mask)

    def inherit(self, rows: Int[Tensor, " all_rows"]) -> None:
        """Let row i continue what row `rows[i]` was; both count through the places and stay in the same one."""
        lines = self.ancestors.flatten(0, 1)[: len(rows), : self.end]
        lines.copy_(lines.index_select(0, rows))

    def empty(self, places: list[int]) -> None:
        """Leave the rows of these places no ancestors."""
        self._hold(max(places, default=0) + 1)
        self.ancestors[places] = -math.inf

    def move(self, to: list[int], origin: list[int]) -> None:
        """Bring sentences to other places."""
        self._hold(max(to) + 1)
        self.keys_values[:, :, to, : self.end] = self.keys_values[:, :, origin, : self.end]
        self.ancestors[to] = self.ancestors[origin]

    def _hold(self, places: int) -> None:
        """Have memory for at least so many places."""
        missing = places - len(self.ancestors)
        if missing > 0:
            self.keys_values = functional.pad(self.keys_values, (0, 0, 0, 0, 0, missing))
            self.ancestors = functional.pad(self.ancestors, (0, 0, 0, 0, 0, missing), value=-math.inf)

    def _tidy(self, places: int) -> None:
        """Bring the cells that are somebody's ancestors to the front, in their order, and make room for new ones.

        What lies in that room is finite, which is enough for what is masked, and the places behind are given up.
        """
        lines = self.ancestors[:places, :, : self.end]
        living = (lines == 0).any(dim=1)
        order = living.to(torch.uint8).argsort(dim=1, descending=True, stable=True)
        self.end = int(living.sum(dim=1).max())
        self.next_tidying = self.end + _STEPS * self.rows
        room = _multiple(self.next_tidying)
        order = functional.pad(order[:, :room], (0, max(0, room - order.shape[1])))
        cells = order + torch.arange(places, device=order.device)[:, None] * self.ancestors.shape[2]
        kept = self.keys_values.flatten(2, 3).flatten(0, 1).index_select(1, cells.flatten())
        self.keys_values = kept.view(*self.keys_values.shape[:2], places, room, kept.shape[-1])
        self.ancestors = lines.gather(2, order[:, None].expand(-1, self.rows, -1))
        self.ancestors[:, :, self.end :] = -math.inf


def _multiple(cells: int) -> int:
    return -(-cells // _WIDTH) * _WIDTH
