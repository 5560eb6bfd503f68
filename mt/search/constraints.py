"""Rules about what may come next, which overrule the model.

A constraint sets the scores of tokens that may not follow the prefixes of a search to minus infinity, in place. It
keeps no state that would have to be reordered with the rows, and it never makes a token more probable: the early exit
of beam search relies on that. What is excluded keeps its share of the probability, so a hypothesis still has the
probability that the model gives it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Prefixes:
    """The rows of a search before a step, on the host: what each has produced so far, without BOS."""

    tokens: Int[Tensor, "rows length"]
    sentences: Int[Tensor, " rows"]
    """Each row's sentence, by its index among all that were given to the search."""


Constraint = Callable[[Float[Tensor, "rows vocabulary"], Prefixes], None]  # one of the rules below and its settings


def forced_prefix(
    scores: Float[Tensor, "rows vocabulary"],
    prefixes: Prefixes,
    *,
    tokens: Int[Tensor, "sentences longest_forced"],
    lengths: Int[Tensor, " sentences"],
) -> None:
    """Every output of sentence i begins with the first `lengths[i]` of `tokens[i]`; EOS is not among them.

    With its EOS it must fit into the sentence's longest length, or no output is left.
    """
    length = prefixes.tokens.shape[1]
    if length >= tokens.shape[1]:
        return
    rows = (length < lengths[prefixes.sentences]).nonzero()[:, 0]
    forced = tokens[prefixes.sentences[rows], length]
    rows, forced = (each.to(scores.device, non_blocking=True) for each in (rows, forced))
    kept = scores[rows, forced]
    scores[rows] = -torch.inf
    scores[rows, forced] = kept


def no_repeated_ngrams(
    scores: Float[Tensor, "rows vocabulary"], prefixes: Prefixes, *, size: int, exempt_tokens: Int[Tensor, " sentences"]
) -> None:
    """No `size` successive tokens occur twice in an output.

    The first `exempt_tokens[i]` tokens of sentence i, a forced prefix, are not judged, but what follows may not
    repeat them either.
    """
    length = prefixes.tokens.shape[1]
    if length < size:
        return
    ngrams = prefixes.tokens.unfold(1, size, 1)
    context = prefixes.tokens[:, None, length - size + 1 :]
    repeats = (ngrams[:, :, :-1] == context).all(dim=2) & (length >= exempt_tokens[prefixes.sentences])[:, None]
    rows, starts = repeats.nonzero(as_tuple=True)
    repeated = (each.to(scores.device, non_blocking=True) for each in (rows, ngrams[rows, starts, -1]))
    scores[*repeated] = -torch.inf
