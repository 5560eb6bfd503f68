"""Greedy search: always the most probable next token, for any next-token function."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.fast.native.ranking import can_rank, ranked_extensions
from mt.search.candidates import most_probable, permitted_log_probabilities
from mt.search.constraints import Constraint, Prefixes
from mt.search.finished import FinishedHypotheses, Hypothesis
from mt.search.length_penalty import LengthPenaltyForm
from mt.search.next_token import NextToken, checked_limits, is_identity


def greedy_search(
    *,
    next_token: NextToken,
    length_penalty: float,
    length_penalty_form: LengthPenaltyForm,
    max_lengths: Int[Tensor, " sentences"],
    bos: int,
    eos: int,
    forbidden: Sequence[int],
    constraints: Sequence[Constraint] = (),
) -> list[list[Hypothesis]]:
    """Return one output for each sentence: tokens and scores are those of beam search of size 1.

    The arguments and errors are those of `beam_search`; `next_token` starts with one row for each
    sentence. The length penalty has no influence on the tokens, only on the score.
    """
    limits = checked_limits(max_lengths, eos=eos, forbidden=forbidden)
    if not limits:
        return []
    logits = next_token(torch.full((len(max_lengths),), bos, device=max_lengths.device))
    finished = FinishedHypotheses(
        max_lengths=max_lengths.cpu().numpy(),
        num_kept=1,
        length_penalty=length_penalty,
        length_penalty_form=length_penalty_form,
    )
    sentences = torch.arange(len(max_lengths), device=max_lengths.device)
    totals = torch.zeros(len(max_lengths), device=max_lengths.device)
    prefixes = torch.zeros((len(max_lengths), max(limits)), dtype=torch.int64, device=max_lengths.device)
    for length in range(1, max(limits) + 1):
        end_only = max_lengths[sentences] == length if length in limits else None
        so_far = Prefixes.of_one_length(prefixes, length - 1, sentences)
        permitted: dict[str, Any] = {"forbidden": forbidden, "eos": eos, "end_only": end_only}
        totals, tokens = _extended(totals, logits, constraints, so_far, **permitted)
        prefixes[:, length - 1] = tokens
        ends = tokens == eos
        ended = (each[ends].cpu().numpy() for each in (sentences, totals, prefixes[:, : length - 1]))
        for sentence, log_probability, prefix in zip(*ended, strict=True):
            finished.add(sentence=int(sentence), log_probability=log_probability, tokens=prefix.tolist())
        rows = (~ends).nonzero()[:, 0]
        if len(rows) == 0:
            break
        if not is_identity(rows, num_rows=len(logits)):
            sentences, totals, prefixes = sentences[rows], totals[rows], prefixes[rows]
            next_token.reorder(rows)
        logits = next_token(prefixes[:, length - 1])
    return finished.to_lists()


def _extended(
    totals: Float[Tensor, " rows"],
    logits: Float[Tensor, "rows vocabulary"],
    constraints: Sequence[Constraint],
    prefixes: Prefixes,
    *,
    forbidden: Sequence[int],
    eos: int,
    end_only: Bool[Tensor, " rows"] | None,
) -> tuple[Float[Tensor, " rows"], Int[Tensor, " rows"]]:
    """Each row's most probable next token, and the log-probability of the prefix with it."""
    if not constraints and can_rank(logits):
        best, extensions = ranked_extensions(
            logits, totals[:, None].numpy(), 1, forbidden=forbidden, eos=eos, end_only=end_only
        )
        return torch.from_numpy(best)[:, 0], torch.from_numpy(extensions)[:, 0]
    log_probabilities = permitted_log_probabilities(logits, forbidden=forbidden, eos=eos, end_only=end_only)
    for constraint in constraints:
        constraint.exclude(log_probabilities, prefixes)
    values, tokens = (best[:, 0] for best in most_probable(log_probabilities, 1))
    return totals + values, tokens
