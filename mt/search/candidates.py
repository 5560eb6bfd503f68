"""From next-token scores to the few extensions worth considering, with their log-probabilities."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_WIDTHS = (128, 256, 512, 64, 32, 16)  # whole vectors of the processor: 63 strips of 128 are far faster than 64 of 126

Ranked = tuple[Float[np.ndarray, "sentences chosen"], Int[np.ndarray, "sentences chosen"]]
RankExtensions = Callable[..., Ranked]  # `best_extensions`, or what gives the same for the same arguments sooner


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

    `forbidden` tokens never come next; in rows where `end_only` holds (on the host, or where the logits are), only
    `eos` may. What is excluded keeps its share of the probability, so a hypothesis has the probability that the model
    gives it.

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
        log_probabilities.masked_fill_(end_only.to(logits.device, non_blocking=True)[:, None], -torch.inf)
        log_probabilities[:, eos] = end
    return log_probabilities


def best_extensions(
    logits: Float[Tensor, "rows vocabulary"],
    totals: Float[np.ndarray, "sentences beam"],
    count: int,
    *,
    forbidden: Sequence[int],
    eos: int,
    end_only: Bool[Tensor, " rows"] | None,
) -> Ranked:
    """Extend the prefixes in each sentence's beam, which have the log-probabilities `totals`, by every token.

    Return the log-probabilities of the `count` best extensions, best first, and their indices: index in the beam
    times size of the vocabulary plus token. Of equals the lower index comes first. Where fewer are permitted, the
    rest have minus infinity, or are missing if fewer exist. The other arguments, and what becomes of the logits, are
    those of `permitted_log_probabilities`.
    """
    log_probabilities = permitted_log_probabilities(logits, forbidden=forbidden, eos=eos, end_only=end_only)
    return best_sums(log_probabilities, totals, count)


def best_sums(
    log_probabilities: Float[Tensor, "rows vocabulary"], totals: Float[np.ndarray, "sentences beam"], count: int
) -> Ranked:
    """Return the `count` largest sums of a row's total and one of its log-probabilities (all, if there are fewer).

    They come largest first, with where they are in the sentence's rows laid end to end; of equals the lower first.
    The host waits for a GPU here and nowhere else in a step of a search.
    """
    starts = torch.from_numpy(totals).to(log_probabilities, non_blocking=True)
    if count >= totals.shape[1] * log_probabilities.shape[1]:
        return _ranked(_all_sums(log_probabilities, starts), count)
    top, chosen = _on_host(*_best_by_columns(log_probabilities, starts, count + 1))
    undecided = ((top[:, count] == top[:, count - 1]) & (top[:, count] > -np.inf)).nonzero()[0]
    order = np.lexsort((chosen[:, :count], -top[:, :count]))
    values, indices = (np.take_along_axis(each, order, axis=1) for each in (top, chosen))
    if len(undecided):
        tied = _all_sums(log_probabilities, starts)[torch.from_numpy(undecided).to(starts.device)]
        values[undecided], indices[undecided] = _ranked(tied, count)
    return values, indices


def _all_sums(
    log_probabilities: Float[Tensor, "rows vocabulary"], totals: Float[Tensor, "sentences beam"]
) -> Float[Tensor, "sentences sums"]:
    return (log_probabilities.view(*totals.shape, -1) + totals[:, :, None]).flatten(1)


def _ranked(sums: Float[Tensor, "sentences sums"], count: int) -> Ranked:
    ranked = sums.sort(dim=1, descending=True, stable=True)
    return _on_host(ranked.values[:, :count], ranked.indices[:, :count])


def _on_host(
    values: Float[Tensor, "sentences count"], indices: Int[Tensor, "sentences count"]
) -> tuple[Float[np.ndarray, "sentences count"], Int[np.ndarray, "sentences count"]]:
    """Both, after one wait: a device works in order, so the indices have come when the values have."""
    copied = indices.to("cpu", non_blocking=True)
    return values.cpu().numpy(), copied.numpy()


def _best_by_columns(
    log_probabilities: Float[Tensor, "rows vocabulary"], totals: Float[Tensor, "sentences beam"], count: int
) -> tuple[Float[Tensor, "sentences count"], Int[Tensor, "sentences count"]]:
    """Return the `count` largest sums of each sentence, largest first, equals in any order.

    With a row laid out as strips one below the other, the `count` largest sums are in the `count` columns with the
    largest maxima. Finding those is cheap, and few sums are left to be ranked. A vocabulary that is a multiple of no
    suitable width is one strip.
    """
    (num_sentences, beam_size), vocab_size = totals.shape, log_probabilities.shape[1]
    suitable = (width for width in _WIDTHS if vocab_size % width == 0 and width * beam_size >= count)
    width = next(suitable, vocab_size)
    num_strips = vocab_size // width
    strips = log_probabilities.view(-1, num_strips, width)
    maxima = strips.amax(dim=1).view(num_sentences, beam_size, width) + totals[:, :, None]
    best = maxima.flatten(1).topk(count, sorted=False).indices
    prefix, column = best // width, best % width
    rows = prefix + torch.arange(0, num_sentences * beam_size, beam_size, device=prefix.device)[:, None]
    in_columns = (strips[rows, :, column] + totals.gather(1, prefix)[:, :, None]).flatten(1)
    top, chosen = in_columns.topk(count)
    first_tokens = (prefix * vocab_size + column).gather(1, chosen // num_strips)
    return top, first_tokens + chosen % num_strips * width
