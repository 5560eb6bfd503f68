"""The KV cache: keys and values that a decoder keeps instead of computing them again at every step."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

Entries = tuple[Float[Tensor, "rows heads all d_k"], Float[Tensor, "rows heads all d_k"], Int[Tensor, "#rows all"]]


class KeyValueCache:
    """The keys, values and position ids of one attention so far. This is the plain form: it grows by copying."""

    def __init__(self) -> None:
        self._entries: Entries | None = None

    def append(
        self,
        key: Float[Tensor, "rows heads new d_k"],
        value: Float[Tensor, "rows heads new d_k"],
        ids: Int[Tensor, "#rows new"],
    ) -> Entries:
        """Add entries and return all of them."""
        if self._entries is not None:
            keys, values, all_ids = self._entries
            key, value, ids = torch.cat([keys, key], 2), torch.cat([values, value], 2), torch.cat([all_ids, ids], 1)
        self._entries = key, value, ids
        return self._entries

    def entries(self) -> Entries:
        """All entries, of which there must be some."""
        assert self._entries is not None
        return self._entries

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i what row `rows[i]` was."""
        if self._entries is not None:
            keys, values, ids = self._entries
            ids = ids if len(ids) == 1 else ids.index_select(0, rows)
            self._entries = keys.index_select(0, rows), values.index_select(0, rows), ids
