"""From next-token scores to the few tokens worth considering, with their log-probabilities."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_WIDTHS = (128, 256, 512, 64, 32, 16)
_FEW_ROWS = 8  # so many are ranked sooner as they are


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

    The logits may be overwritten: they are the largest thing in a step, and a CPU waits for its memory. PyTorch's
    fused log-softmax takes half the time of its log-sum-exp (128 rows of 8,000 on one CPU core: 0.42 against 0.79 ms),
    although it writes the whole matrix.
    """
    dtype = accumulation_dtype(logits)
    in_place = logits.dtype == dtype and not logits.requires_grad
    log_probabilities = torch.log_softmax(logits, dim=-1, dtype=dtype, out=logits if in_place else None)
    for token in forbidden:
        log_probabilities[:, token] = -torch.inf
    if end_only is not None:
        end = log_probabilities[:, eos].clone()
        log_probabilities.masked_fill_(end_only[:, None], -torch.inf)
        log_probabilities[:, eos] = end
    return log_probabilities


def best_extensions(
    log_probabilities: Float[Tensor, "rows vocabulary"], totals: Float[Tensor, "sentences slots"], count: int
) -> tuple[Float[np.ndarray, "sentences chosen"], Int[np.ndarray, "sentences chosen"]]:
    """Extend the prefixes in each sentence's slots, which have the log-probabilities `totals`, by every token.

    Return the log-probabilities of the `count` best extensions (all, if there are fewer), best first, and which they
    are: slot times size of the vocabulary plus token. Of equals the lower slot, then the lower token comes first.
    """
    if count >= totals.shape[1] * log_probabilities.shape[1]:
        return _ranked(_all_extensions(log_probabilities, totals), count)
    best: tuple[Tensor, Tensor]
    if totals.numel() <= _FEW_ROWS:
        best = _all_extensions(log_probabilities, totals).topk(count + 1)
    else:
        best = _best_by_columns(log_probabilities, totals, count + 1)
    top, chosen = (each.cpu().numpy() for each in best)
    undecided = ((top[:, count] == top[:, count - 1]) & (top[:, count] > -np.inf)).nonzero()[0]
    order = np.lexsort((chosen[:, :count], -top[:, :count]))
    values, extensions = (np.take_along_axis(each, order, axis=1) for each in (top, chosen))
    if len(undecided):
        tied = _all_extensions(log_probabilities, totals)[torch.from_numpy(undecided).to(totals.device)]
        values[undecided], extensions[undecided] = _ranked(tied, count)
    return values, extensions


def _all_extensions(
    log_probabilities: Float[Tensor, "rows vocabulary"], totals: Float[Tensor, "sentences slots"]
) -> Float[Tensor, "sentences extensions"]:
    return (log_probabilities.view(*totals.shape, -1) + totals[:, :, None]).flatten(1)


def _ranked(
    extensions: Float[Tensor, "sentences extensions"], count: int
) -> tuple[Float[np.ndarray, "sentences chosen"], Int[np.ndarray, "sentences chosen"]]:
    ranked = extensions.sort(dim=1, descending=True, stable=True)
    return ranked.values[:, :count].cpu().numpy(), ranked.indices[:, :count].cpu().numpy()


def _best_by_columns(
    log_probabilities: Float[Tensor, "rows vocabulary"], totals: Float[Tensor, "sentences slots"], count: int
) -> tuple[Float[Tensor, "sentences count"], Int[Tensor, "sentences count"]]:
    """Return the `count` best extensions of each sentence, best first, equals in any order.

    With a row laid out as strips one below the other, the `count` best extensions stand in the `count` columns with
    the best maxima; finding those is cheap, and few extensions are left to be ranked.
    """
    (num_sentences, slots), vocab_size = totals.shape, log_probabilities.shape[1]
    num_strips, width = _strips(vocab_size, at_least=-(-count // slots))
    strips = log_probabilities.view(-1, num_strips, width)
    maxima = strips.amax(dim=1).view(num_sentences, slots, width) + totals[:, :, None]
    best = maxima.flatten(1).topk(count, sorted=False).indices
    slot, column = best // width, best % width
    rows = slot + torch.arange(0, num_sentences * slots, slots, device=slot.device)[:, None]
    in_columns = (strips[rows, :, column] + totals.gather(1, slot)[:, :, None]).flatten(1)
    top, places = in_columns.topk(count)
    first_tokens = (slot * vocab_size + column).gather(1, places // num_strips)
    return top, first_tokens + places % num_strips * width


def most_probable(
    log_probabilities: Float[Tensor, "rows vocabulary"], count: int
) -> tuple[Float[Tensor, "rows chosen"], Int[Tensor, "rows chosen"]]:
    """Return the `count` most probable tokens of each row (all, if there are fewer), ordered by token.

    Of equally probable tokens the lowest are chosen, which `torch.topk` alone does not promise.
    """
    vocab_size = log_probabilities.shape[1]
    if count >= vocab_size:
        all_tokens = torch.arange(vocab_size, device=log_probabilities.device)
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

    With the row laid out as strips one below the other, the `count` largest values stand in the `count`
    columns with the largest maxima; finding those is cheap, and few values are left to be ranked.
    """
    num_rows, vocab_size = values.shape
    num_strips, width = _strips(vocab_size, at_least=count)
    strips = values.view(num_rows, num_strips, width)
    columns = strips.amax(dim=1).topk(count, sorted=False).indices
    in_columns = strips.gather(2, columns[:, None].expand(-1, num_strips, -1)).flatten(1)
    top, places = in_columns.topk(count)
    return top, places // count * width + columns.gather(1, places % count)


def _strips(vocab_size: int, *, at_least: int) -> tuple[int, int]:
    """Into how many strips of which width to lay out a row of scores; a strip holds `at_least` columns.

    Widths of whole vectors of the processor: 64 strips of 126 columns took far longer to reduce than 63 of 128. A
    vocabulary that divides by none is one strip.
    """
    suitable = (width for width in _WIDTHS if vocab_size % width == 0 and width >= at_least)
    width = next(suitable, vocab_size)
    return vocab_size // width, width
