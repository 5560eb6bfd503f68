"""Rules about what may come next, which overrule the model: one protocol and three rules.

A constraint sees the prefixes of a search and excludes tokens. It keeps no state of its own that would have to be
reordered with the rows, and it never makes a token more probable: the early exit of beam search relies on that.
What is excluded keeps its share of the probability, so a hypothesis still has the probability that the model gives it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Prefixes:
    """The rows of a search before a step: what each has produced so far, without BOS."""

    tokens: Int[Tensor, "rows longest"]
    """Beyond a row's own length these may be anything."""
    lengths: Int[Tensor, " rows"]
    sentences: Int[Tensor, " rows"]
    """Each row's sentence, by its index among all that were given to the search."""


@runtime_checkable
class Constraint(Protocol):
    """A rule about what may come next in each row."""

    def exclude(self, scores: Float[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        """Set the scores of tokens that may not follow the prefixes to minus infinity, in place."""
        ...


class MinimumLength:
    """No output of sentence i has fewer than `min_lengths[i]` tokens, EOS counted, as |Y| is.

    It may not exceed the sentence's longest length, or no output is left.
    """

    def __init__(self, min_lengths: Int[Tensor, " sentences"], *, eos: int) -> None:
        self._min_lengths = min_lengths
        self._eos = eos

    def exclude(self, scores: Float[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        """Exclude EOS where the output would end too early."""
        too_short = prefixes.lengths + 1 < self._min_lengths[prefixes.sentences]
        scores[:, self._eos].masked_fill_(too_short, -torch.inf)


class ForcedPrefix:
    """Every output of sentence i begins with `prefixes[i]`, which holds neither EOS nor a forbidden token.

    With its EOS it must fit into the sentence's longest length, or no output is left.
    """

    def __init__(self, prefixes: Sequence[Sequence[int]], *, device: torch.device) -> None:
        longest = max(map(len, prefixes), default=0)
        padded = [[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes]
        self._tokens = torch.tensor(padded, dtype=torch.int64, device=device).view(len(prefixes), longest)
        self.lengths: Int[Tensor, " sentences"] = torch.tensor([len(prefix) for prefix in prefixes], device=device)

    def exclude(self, scores: Float[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        """Exclude all but the next token of the prefix, in rows that are still within it."""
        rows = (prefixes.lengths < self.lengths[prefixes.sentences]).nonzero()[:, 0]
        forced = self._tokens[prefixes.sentences[rows], prefixes.lengths[rows]]
        kept = scores[rows, forced]
        scores[rows] = -torch.inf
        scores[rows, forced] = kept


class NoRepeatedNgrams:
    """No `size` successive tokens occur twice in an output.

    The first `exempt_tokens[i]` tokens of sentence i, a forced prefix, are not judged, but what follows may not
    repeat them either.
    """

    def __init__(self, size: int, *, exempt_tokens: Int[Tensor, " sentences"]) -> None:
        if size < 1:
            raise ValueError(f"n-grams of {size} tokens: expected at least 1")
        self._size = size
        self._exempt_tokens = exempt_tokens

    def exclude(self, scores: Float[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        """Exclude each token that followed an earlier occurrence of the row's last `size` - 1 tokens."""
        size, (num_rows, longest) = self._size, prefixes.tokens.shape
        if longest < size:
            return
        ngrams = prefixes.tokens.unfold(1, size, 1)
        last = prefixes.lengths[:, None] + torch.arange(1 - size, 0, device=scores.device)
        context = prefixes.tokens.gather(1, last.clamp(min=0))
        ends = torch.arange(size, longest + 1, device=scores.device).expand(num_rows, -1)
        repeats = (ngrams[:, :, :-1] == context[:, None]).all(dim=2) & (ends <= prefixes.lengths[:, None])
        repeats &= (prefixes.lengths >= self._exempt_tokens[prefixes.sentences])[:, None]
        rows, starts = repeats.nonzero(as_tuple=True)
        scores[rows, ngrams[rows, starts, -1]] = -torch.inf
