"""From next-token scores to the few tokens worth considering, with their log-probabilities."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_STRIPS = 8


def accumulation_dtype(logits: Tensor) -> torch.dtype:
    """Return the type in which log-probabilities are kept and added up: float32, or float64 for float64 logits."""
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def permitted_log_probabilities(
    logits: Float[Tensor, "rows vocabulary"],
    *,
    forbidden: Sequence[int],
    eos: int,
    end_only: Bool[Tensor, " rows"] | None = None,
) -> Float[Tensor, "rows vocabulary"]:
    """Return each token's log-probability, minus infinity where the token may not come next.

    `forbidden` tokens never come next; in rows where `end_only` holds, only `eos` may. What is excluded keeps its
    share of the probability, so a hypothesis has the probability that the model gives it.

    PyTorch's fused log-softmax takes half the time of its log-sum-exp (128 rows of 8,000 on one CPU core: 0.42
    against 0.79 ms), although it writes the whole matrix.
    """
    log_probabilities = torch.log_softmax(logits, dim=-1, dtype=accumulation_dtype(logits))
    for token in forbidden:
        log_probabilities[:, token] = -torch.inf
    if end_only is not None:
        end = log_probabilities[:, eos].clone()
        log_probabilities.masked_fill_(end_only[:, None], -torch.inf)
        log_probabilities[:, eos] = end
    return log_probabilities


def most_probable(
    log_probabilities: Float[Tensor, "rows vocabulary"], count: int
) -> tuple[Float[Tensor, "rows chosen"], Int[Tensor, "rows chosen"]]:
    """Return the `count` most probable tokens of each row (all, if there are fewer), ordered by token.

    Of equally probable tokens the lowest are chosen, which `torch.topk` alone does not promise.
    """
    vocabulary_size = log_probabilities.shape[1]
    if count >= vocabulary_size:
        all_tokens = torch.arange(vocabulary_size, device=log_probabilities.device)
        return log_probabilities, all_tokens.expand_as(log_probabilities)
    values, tokens = _top(log_probabilities, count + 1)
    undecided = (values[:, count] == values[:, count - 1]) & (values[:, count] > -torch.inf)
    tokens = tokens[:, :count]
    if undecided.any():
        ranked = log_probabilities[undecided].sort(dim=1, descending=True, stable=True)
        tokens = tokens.index_put((undecided,), ranked.indices[:, :count])
    tokens = tokens.sort(dim=1).values
    return log_probabilities.gather(1, tokens), tokens


def _top(
    values: Float[Tensor, "rows vocabulary"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """Do what `torch.topk` does, in less than half its time on a CPU.

    With the row laid out as `_STRIPS` strips one below the other, the `count` largest values stand in the `count`
    columns with the largest maxima; finding those is cheap, and few values are left to be ranked.
    """
    num_rows, vocabulary_size = values.shape
    width = vocabulary_size // _STRIPS
    if vocabulary_size % _STRIPS or width <= count:
        return values.topk(count)
    strips = values.view(num_rows, _STRIPS, width)
    columns = strips.amax(dim=1).topk(count, sorted=False).indices
    in_columns = strips.gather(2, columns[:, None].expand(-1, _STRIPS, -1)).flatten(1)
    top, places = in_columns.topk(count)
    return top, places // count * width + columns.gather(1, places % count)
