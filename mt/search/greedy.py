"""Greedy search: always the most probable next token, for any next-token function."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from mt.search.candidates import accumulation_dtype, permitted_log_probabilities
from mt.search.finished import FinishedHypotheses
from mt.search.hypothesis import Hypothesis
from mt.search.length_penalty import LengthPenaltyForm, length_penalties
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
) -> list[list[Hypothesis]]:
    """Return one output for each sentence: tokens and scores are those of beam search of size 1.

    The arguments and errors are those of `beam_search`; `next_token` starts with one row for each
    sentence. The length penalty has no influence on the tokens, only on the score.
    """
    limits = checked_limits(max_lengths, eos=eos, forbidden=forbidden)
    if not limits:
        return []
    num_sentences, longest, device = len(max_lengths), max(limits), max_lengths.device
    logits = next_token(torch.full((num_sentences,), bos, device=device))
    dtype = accumulation_dtype(logits)
    penalties = length_penalties(
        form=length_penalty_form, alpha=length_penalty, longest=longest, dtype=dtype, device=device
    )
    finished = FinishedHypotheses(num_sentences=num_sentences, num_kept=1, longest=longest, dtype=dtype, device=device)
    sentences = torch.arange(num_sentences, device=device)
    totals = torch.zeros(num_sentences, dtype=dtype, device=device)
    prefixes = torch.zeros((num_sentences, longest), dtype=torch.int64, device=device)
    for length in range(1, longest + 1):
        end_only = max_lengths[sentences] == length if length in limits else None
        log_probabilities = permitted_log_probabilities(logits, forbidden=forbidden, end_only=end_only, eos=eos)
        tokens = log_probabilities.argmax(dim=1)
        totals = totals + log_probabilities.gather(1, tokens[:, None])[:, 0]
        prefixes[:, length - 1] = tokens
        ends = tokens == eos
        if ends.any():
            finished.add(
                sentences=sentences[ends],
                scores=(totals[ends] / penalties[length])[:, None],
                log_probabilities=totals[ends][:, None],
                tokens=prefixes[ends][:, None],
                length=length,
            )
        rows = (~ends).nonzero()[:, 0]
        if len(rows) == 0:
            break
        if not is_identity(rows, num_rows=len(ends)):
            sentences, totals, prefixes = sentences[rows], totals[rows], prefixes[rows]
            next_token.reorder(rows)
        logits = next_token(prefixes[:, length - 1])
    return finished.to_lists()
