"""One target position at a time, with keys and values kept: the model as a next-token function.

Two facts save nearly all the work of a search. What a position gives as key and value never changes, so each
layer keeps them; and the keys and values of a source sentence are the same for all its partial translations,
so they are computed once per sentence and all its rows ask them together. This is the plain form, to read and to
check with; translations come from `mt/engine`, which computes the same with prepared weights and moves nothing.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.model.attention import MultiHeadAttention
from mt.model.masks import padding_mask
from mt.model.transformer import Transformer

_FIRST_CAPACITY = 32


class KeyValueCache:
    """Keys and values of the target positions so far, of one self-attention."""

    def __init__(self) -> None:
        self.keys_values: Float[Tensor, "2 rows heads capacity d_k"] | None = None

    def append(
        self, key: Float[Tensor, "rows heads 1 d_k"], value: Float[Tensor, "rows heads 1 d_k"], position: int
    ) -> tuple[Float[Tensor, "rows heads length d_k"], Float[Tensor, "rows heads length d_k"]]:
        """Store one position and return all of them."""
        kept = self.keys_values
        if kept is None or position >= kept.shape[3]:
            capacity = _FIRST_CAPACITY if kept is None else 2 * kept.shape[3]
            grown = key.new_empty(2, *key.shape[:2], capacity, key.shape[3])
            if kept is not None:
                grown[:, :, :, :position] = kept
            self.keys_values = kept = grown
        kept[0, :, :, position] = key[:, :, 0]
        kept[1, :, :, position] = value[:, :, 0]
        return kept[0, :, :, : position + 1], kept[1, :, :, : position + 1]

    def reorder(self, rows: Int[Tensor, " new_rows"], length: int) -> None:
        """Keep these rows in this order; only the positions in use are copied."""
        if self.keys_values is not None:
            kept = self.keys_values
            moved = kept.new_empty(2, rows.shape[0], *kept.shape[2:])
            moved[:, :, :, :length] = kept[:, :, :, :length].index_select(1, rows)
            self.keys_values = moved


class CachedDecoder:
    """Logits of the next token for rows of partial translations that grow by one token per call.

    Every source sentence has `rows_per_sentence` rows, side by side, from the first call on.
    """

    def __init__(
        self, model: Transformer, source: Int[Tensor, "sentences source"], *, rows_per_sentence: int = 1
    ) -> None:
        self.model = model
        self.layers = model.decoder_layers()
        self.rows_per_sentence = rows_per_sentence
        self.length = 0
        mask = padding_mask(source, pad=model.pad)
        memory = model.encode(source, mask)
        self.memory_mask: Bool[Tensor, "sentences 1 1 source"] = mask.unsqueeze(1)
        self.memory = [layer.cross_attention.project_memory(memory) for layer in self.layers]
        self.kept = [KeyValueCache() for _ in self.layers]

    def __call__(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocabulary"]:
        """Append each row's newest token and return the logits of the one after it."""
        x = self.model.positions(self.model.target_embedding(tokens.unsqueeze(1)), start=self.length)
        for layer, kept, memory in zip(self.layers, self.kept, self.memory, strict=True):
            x = layer.self_attention_norm(x, self._attend_to_prefix(layer.self_attention, kept, x))
            x = layer.cross_attention_norm(x, self._attend_to_source(layer.cross_attention, memory, x))
            x = layer.feed_forward_norm(x, layer.feed_forward(x))
        self.length += 1
        return self.model.target_embedding.logits(x[:, 0])

    def reorder(self, rows: Int[Tensor, " new_rows"]) -> None:
        """Make row i what row `rows[i]` was; a sentence keeps all its rows or none."""
        for kept in self.kept:
            kept.reorder(rows, self.length)
        sentences = rows[:: self.rows_per_sentence] // self.rows_per_sentence
        if sentences.shape[0] < self.memory_mask.shape[0]:
            self.memory_mask = self.memory_mask[sentences]
            self.memory = [(key[sentences], value[sentences]) for key, value in self.memory]

    def _attend_to_prefix(
        self, attention: MultiHeadAttention, kept: KeyValueCache, x: Float[Tensor, "rows 1 d_model"]
    ) -> Float[Tensor, "rows 1 d_model"]:
        query = attention.project_query(x)
        key, value = kept.append(*attention.project_memory(x), self.length)
        return attention.attend(query, key, value, mask=None)

    def _attend_to_source(
        self,
        attention: MultiHeadAttention,
        memory: tuple[Float[Tensor, "sentences heads source d_k"], Float[Tensor, "sentences heads source d_k"]],
        x: Float[Tensor, "rows 1 d_model"],
    ) -> Float[Tensor, "rows 1 d_model"]:
        grouped = x.view(-1, self.rows_per_sentence, x.shape[2])
        answer = attention.attend(attention.project_query(grouped), *memory, mask=self.memory_mask)
        return answer.reshape(x.shape)
