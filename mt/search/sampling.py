"""Sampling: each next token is drawn by its probability, for any next-token function.

Temperature T divides the log-probabilities; then top-k (Fan et al. 2018) keeps the k most probable tokens; then
top-p (Holtzman et al. 2020) keeps the fewest of those, most probable first, whose share reaches p. One of what is
left is drawn by its renormalised probability. Of equals the lower token id counts as the more probable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.search.candidates import accumulation_dtype, best_sums, permitted_log_probabilities
from mt.search.constraints import Constraint, Prefixes
from mt.search.finished import FinishedHypotheses, Hypothesis
from mt.search.next_token import NextToken

_STEPS_BETWEEN_LOOKS = 8  # at which sentences have ended; a CPU need not wait for it, and looks at every step


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn; a cut that is None is off."""

    temperature: float
    top_k: int | None
    top_p: float | None
    seed: int


def sample(
    *,
    next_token: NextToken,
    sampling: Sampling,
    num_samples: int,
    seeds: Sequence[int],
    max_lengths: Int[Tensor, " sentences"],
    bos: int,
    eos: int,
    forbidden: Sequence[int],
    min_length: int = 1,
    constraints: Sequence[Constraint] = (),
) -> list[list[Hypothesis]]:
    """Return `num_samples` independent outputs of each sentence, most probable first; the same may come twice.

    Each sentence has its own random generator, seeded with its entry of `seeds`: neither its neighbours nor their
    number influence it. A hypothesis scores the log-probability that the model gives it, at any temperature and
    cuts. `next_token` starts with `num_samples` rows for each sentence, which leave together. The other arguments are
    those of `beam_search`. An output without a finite score is left out.

    Raises DivergedError if a sentence has no other one.
    """
    limits = set(max_lengths.tolist())
    longest = max(limits)
    row_limits = max_lengths.repeat_interleave(num_samples)
    logits = next_token(torch.full_like(row_limits, bos))
    row_limits = row_limits.to(logits.device, non_blocking=True)
    uniform = _uniform_numbers(seeds, max_lengths.tolist(), num_samples, device=logits.device)
    tokens = torch.zeros((len(row_limits), longest), dtype=torch.int64, device=logits.device)
    totals = torch.zeros(len(row_limits), dtype=accumulation_dtype(logits), device=logits.device)
    lengths = torch.zeros_like(row_limits)  # 0 is not ended
    rows = torch.arange(len(row_limits), device=logits.device)  # those of unfinished sentences
    for length in range(1, longest + 1):
        end_only = row_limits[rows] == length if length in limits else None
        excluded = [*forbidden, eos] if length < min_length else forbidden
        log_probabilities = permitted_log_probabilities(logits, forbidden=excluded, eos=eos, end_only=end_only)
        for constraint in constraints:
            prefixes = Prefixes(tokens[rows, : length - 1].cpu(), (rows // num_samples).cpu())
            constraint(log_probabilities, prefixes)
        probabilities, candidates = considered(log_probabilities, sampling)
        newest = _drawn(probabilities, candidates, uniform[rows, length - 1])
        going_on = lengths[rows] == 0
        totals[rows] += log_probabilities.gather(1, newest[:, None])[:, 0].masked_fill(~going_on, 0.0)
        tokens[rows, length - 1] = newest
        lengths[rows] += length * (going_on & ((newest == eos) | (row_limits[rows] == length)))
        if logits.is_cpu or length % _STEPS_BETWEEN_LOOKS == 0 or length == longest:
            unfinished = (lengths[rows].view(-1, num_samples) == 0).any(dim=1).repeat_interleave(num_samples)
            staying = unfinished.cpu().nonzero()[:, 0]
            if len(staying) == 0:
                break
            if len(staying) < len(logits):
                next_token.reorder(staying)
                rows = rows[staying.to(rows.device, non_blocking=True)]
        logits = next_token(tokens[rows, length - 1])
    return _hypotheses(tokens, totals, lengths, max_lengths=max_lengths, num_samples=num_samples)


def _hypotheses(
    tokens: Int[Tensor, "rows longest"],
    totals: Float[Tensor, " rows"],
    lengths: Int[Tensor, " rows"],
    *,
    max_lengths: Int[Tensor, " sentences"],
    num_samples: int,
) -> list[list[Hypothesis]]:
    """Return the outputs of each sentence, most probable first; `lengths` count EOS. Raises DivergedError."""
    finished = FinishedHypotheses(
        max_lengths=max_lengths.numpy(), num_kept=num_samples, length_penalty=0.0, length_penalty_form="power"
    )
    drawn = zip(tokens.tolist(), totals.cpu().numpy(), lengths.tolist(), strict=True)
    for row, (output, total, length) in enumerate(drawn):
        finished.add(sentence=row // num_samples, log_probability=total, tokens=output[: length - 1])
    return finished.to_lists()


def considered(
    log_probabilities: Float[Tensor, "rows vocabulary"], sampling: Sampling
) -> tuple[Float[Tensor, "rows considered"], Int[Tensor, "rows considered"]]:
    """Return the tokens that temperature and cuts leave, with the probabilities by which they are drawn."""
    vocab_size, device = log_probabilities.shape[1], log_probabilities.device
    if sampling.top_k is None or sampling.top_k >= vocab_size:
        scores, tokens = log_probabilities, torch.arange(vocab_size, device=device).expand_as(log_probabilities)
    else:
        tokens = most_probable(log_probabilities, sampling.top_k, waiting=log_probabilities.is_cpu)
        scores = log_probabilities.gather(1, tokens)
    scores = scores.to(_drawing_dtype(scores.device)) / sampling.temperature
    if sampling.top_p is not None:
        ranked = scores.sort(dim=1, descending=True, stable=True)
        shares = ranked.values.softmax(dim=1)
        scores = ranked.values.masked_fill(shares.cumsum(dim=1) - shares >= sampling.top_p, -torch.inf)
        tokens = tokens.gather(1, ranked.indices)
    return scores.softmax(dim=1), tokens


def most_probable(
    log_probabilities: Float[Tensor, "rows vocabulary"], count: int, *, waiting: bool
) -> Int[Tensor, "rows count"]:
    """Return the `count` most probable tokens of each row, lowest first; where nobody waits it is slower on a CPU."""
    if waiting:
        _, best = best_sums(log_probabilities, np.zeros((len(log_probabilities), 1), dtype=np.float32), count)
        return torch.from_numpy(np.sort(best, axis=1))
    least = log_probabilities.topk(count, dim=1).values[:, -1:]
    above, equal = log_probabilities > least, log_probabilities == least
    kept = above | (equal & (equal.cumsum(dim=1) <= count - above.sum(dim=1, keepdim=True)))
    vocab_size = log_probabilities.shape[1]
    tokens = torch.arange(vocab_size, device=kept.device).where(kept, vocab_size - 1)  # not a number is never kept
    return tokens.topk(count, dim=1, largest=False, sorted=True).values


def _drawn(
    probabilities: Float[Tensor, "rows considered"],
    tokens: Int[Tensor, "rows considered"],
    uniform: Float[Tensor, " rows"],
) -> Int[Tensor, " rows"]:
    """Return for each row the token at which the sum of the probabilities exceeds its number in [0, 1)."""
    sums = probabilities.cumsum(dim=1)
    below = sums[:, -1:].nextafter(torch.zeros_like(sums[:, -1:]))  # a product just under the sum may round up to it
    wanted = torch.minimum(uniform[:, None] * sums[:, -1:], below)
    drawn = torch.searchsorted(sums, wanted, right=True).clamp(max=tokens.shape[1] - 1)
    return tokens.gather(1, drawn)[:, 0]


def _uniform_numbers(
    seeds: Sequence[int], limits: Sequence[int], num_samples: int, *, device: torch.device
) -> Float[Tensor, "rows longest"]:
    """Return a number in [0, 1) for every token that may be drawn, the same on every device."""
    numbers = torch.zeros(len(limits), num_samples, max(limits), dtype=torch.float64)
    for sentence, (seed, limit) in enumerate(zip(seeds, limits, strict=True)):
        generator = torch.Generator().manual_seed(seed)
        numbers[sentence, :, :limit] = torch.rand(num_samples, limit, generator=generator, dtype=torch.float64)
    return numbers.flatten(0, 1).to(device=device, dtype=_drawing_dtype(device), non_blocking=True)


def _drawing_dtype(device: torch.device) -> torch.dtype:
    """Return the type in which probabilities are added up: many small ones lose nothing in float64."""
    return torch.float32 if device.type == "mps" else torch.float64  # MPS has no float64
