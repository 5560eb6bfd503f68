"""Section 6.1 of the paper: beam search with a length penalty, for any next-token function.

The search is exact to this definition. A prefix has the log-probability of its tokens. In each
step every live prefix of a sentence is extended by every permitted token, and the candidates are
ranked by log-probability (of equals: lower slot, then lower token id, first).

- Considered are the first 2 * beam_size - 1 candidates, so that beam_size - 1 prefixes live on even
  if every live prefix could end here. With beam_size 1 that is greedy search.
- A candidate that ends with EOS is finished if it ranks among the first beam_size, as in fairseq
  and Hugging Face: without this limit the improbable empty output, whose log-probability has only
  one term, would too often win.
- The best beam_size of the considered candidates without EOS live on.
- A sentence's last permitted position takes EOS only, so that nothing is cut off.
- A sentence stops when its best live prefix cannot beat the worst hypothesis to be returned, at the
  most favourable penalty that it can still reach. This never changes the result.

If beam_size is at least the number of candidates of any step, that is exhaustive search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.search.candidates import (
    accumulation_dtype,
    most_probable,
    permitted_log_probabilities,
)
from mt.search.finished import FinishedHypotheses
from mt.search.hypothesis import Hypothesis
from mt.search.length_penalty import LengthPenaltyForm, length_penalties
from mt.search.next_token import NextToken, checked_limits, is_identity


def beam_search(
    *,
    next_token: NextToken,
    beam_size: int,
    length_penalty: float,
    length_penalty_form: LengthPenaltyForm,
    max_lengths: Int[Tensor, " sentences"],
    bos: int,
    eos: int,
    forbidden: Sequence[int],
    num_hypotheses: int = 1,
) -> list[list[Hypothesis]]:
    """Return the `num_hypotheses` best outputs of each sentence, best first (fewer if fewer exist).

    `max_lengths` holds the longest |Y| of each sentence, at least 1 and counting EOS; its device is
    where the search runs. `next_token` starts with beam_size rows for each sentence. `forbidden`
    tokens are never produced; the probabilities of the others are not scaled up for it.

    Raises ValueError for impossible arguments and DivergedError if a sentence has no output with a
    finite score.
    """
    if not 1 <= num_hypotheses <= beam_size:
        raise ValueError(f"num_hypotheses {num_hypotheses}: expected 1 to beam_size {beam_size}")
    limits = checked_limits(max_lengths, eos=eos, forbidden=forbidden)
    if not limits:
        return []
    longest, device = max(limits), max_lengths.device
    first = torch.full((len(max_lengths) * beam_size,), bos, device=device)
    logits = next_token(first)
    dtype = accumulation_dtype(logits)
    penalties = length_penalties(
        form=length_penalty_form, alpha=length_penalty, longest=longest, dtype=dtype, device=device
    )
    finished = FinishedHypotheses(
        num_sentences=len(max_lengths),
        num_kept=num_hypotheses,
        longest=longest,
        dtype=dtype,
        device=device,
    )
    beam = _first_beam(max_lengths, beam_size=beam_size, longest=longest, dtype=dtype)
    for length in range(1, longest + 1):
        end_only = beam.limits.repeat_interleave(beam_size) == length if length in limits else None
        log_probabilities = permitted_log_probabilities(logits, forbidden=forbidden, end_only=end_only, eos=eos)
        candidates = _considered(beam, log_probabilities)
        _finish(candidates, beam, finished, penalties, eos=eos, length=length)
        survivors = _survivors(candidates, beam_size=beam_size, eos=eos)
        hopeful = _hopeful(survivors, beam, finished, penalties, length=length)
        if not hopeful.any():
            break
        beam, rows = _advance(beam, survivors, hopeful, length=length)
        if not is_identity(rows, num_rows=hopeful.numel() * beam_size):
            next_token.reorder(rows)
        logits = next_token(beam.prefixes[:, :, length - 1].flatten())
    return finished.to_lists()


@dataclass(frozen=True)
class _Beam:
    """The live prefixes of the unfinished sentences; a free slot scores minus infinity."""

    sentences: Int[Tensor, " sentences"]
    limits: Int[Tensor, " sentences"]
    log_probabilities: Float[Tensor, "sentences slots"]
    prefixes: Int[Tensor, "sentences slots longest"]


@dataclass(frozen=True)
class _Candidates:
    """Live prefixes, given by their slots, each extended by a token; best first."""

    log_probabilities: Float[Tensor, "sentences candidates"]
    slots: Int[Tensor, "sentences candidates"]
    tokens: Int[Tensor, "sentences candidates"]

    def take(self, ranks: Int[Tensor, "sentences chosen"]) -> "_Candidates":
        """Return the candidates of these ranks, in this order."""
        return _Candidates(
            self.log_probabilities.gather(1, ranks),
            self.slots.gather(1, ranks),
            self.tokens.gather(1, ranks),
        )


def _first_beam(max_lengths: Int[Tensor, " sentences"], *, beam_size: int, longest: int, dtype: torch.dtype) -> _Beam:
    """Return a beam whose first slots hold the empty prefix and whose other slots are free."""
    device, num_sentences = max_lengths.device, len(max_lengths)
    log_probabilities = torch.full((num_sentences, beam_size), -torch.inf, dtype=dtype, device=device)
    log_probabilities[:, 0] = 0.0
    shape = (num_sentences, beam_size, longest)
    return _Beam(
        sentences=torch.arange(num_sentences, device=device),
        limits=max_lengths,
        log_probabilities=log_probabilities,
        prefixes=torch.zeros(shape, dtype=torch.int64, device=device),
    )


def _considered(beam: _Beam, log_probabilities: Float[Tensor, "rows vocabulary"]) -> _Candidates:
    """Rank the extensions of each sentence's live prefixes; return the first 2 * beam_size - 1."""
    num_sentences, beam_size = beam.log_probabilities.shape
    count = 2 * beam_size - 1
    values, tokens = most_probable(log_probabilities, count)
    totals = beam.log_probabilities[:, :, None] + values.view(num_sentences, beam_size, -1)
    ranked = totals.flatten(1).sort(dim=1, descending=True, stable=True)
    chosen = ranked.indices[:, :count]
    return _Candidates(
        log_probabilities=ranked.values[:, :count],
        slots=chosen // values.shape[1],
        tokens=tokens.reshape(num_sentences, -1).gather(1, chosen),
    )


def _finish(
    candidates: _Candidates,
    beam: _Beam,
    finished: FinishedHypotheses,
    penalties: Float[Tensor, " lengths"],
    *,
    eos: int,
    length: int,
) -> None:
    """Offer the candidates that end and rank among the first beam_size as hypotheses."""
    beam_size = beam.log_probabilities.shape[1]
    ends = candidates.tokens[:, :beam_size] == eos
    if not ends.any():
        return
    log_probabilities = candidates.log_probabilities[:, :beam_size].masked_fill(~ends, -torch.inf)
    slots = candidates.slots[:, :beam_size, None].expand(-1, -1, beam.prefixes.shape[2])
    finished.add(
        sentences=beam.sentences,
        scores=log_probabilities / penalties[length],
        log_probabilities=log_probabilities,
        tokens=beam.prefixes.gather(1, slots),
        length=length,
    )


def _survivors(candidates: _Candidates, *, beam_size: int, eos: int) -> _Candidates:
    """Return the best `beam_size` candidates that do not end; missing ones score minus infinity."""
    ends = candidates.tokens == eos
    ranks = ends.to(torch.int8).argsort(dim=1, stable=True)[:, :beam_size]
    survivors = candidates.take(ranks)
    log_probabilities = survivors.log_probabilities.masked_fill(ends.gather(1, ranks), -torch.inf)
    return replace(survivors, log_probabilities=log_probabilities)


def _hopeful(
    survivors: _Candidates,
    beam: _Beam,
    finished: FinishedHypotheses,
    penalties: Float[Tensor, " lengths"],
    *,
    length: int,
) -> Bool[Tensor, " sentences"]:
    """Tell which sentences may still finish a hypothesis better than their worst kept one.

    Log-probabilities only fall and the penalty is monotone in |Y|, so no descendant of a live
    prefix scores above the better of its log-probability at the next |Y| and at the last.
    """
    best = survivors.log_probabilities.amax(dim=1)
    next_length = min(length + 1, len(penalties) - 1)
    bound = torch.maximum(best / penalties[next_length], best / penalties[beam.limits])
    return bound > finished.worst_scores(beam.sentences)


def _advance(
    beam: _Beam, survivors: _Candidates, hopeful: Bool[Tensor, " sentences"], *, length: int
) -> tuple[_Beam, Int[Tensor, " rows"]]:
    """Return the beam of the hopeful sentences' survivors, and for each of its rows the old row."""
    num_sentences, beam_size = beam.log_probabilities.shape
    offsets = torch.arange(0, num_sentences * beam_size, beam_size, device=hopeful.device)
    rows = (survivors.slots + offsets[:, None])[hopeful].flatten()
    prefixes = beam.prefixes.flatten(0, 1)[rows].unflatten(0, (-1, beam_size))
    prefixes[:, :, length - 1] = survivors.tokens[hopeful]
    advanced = _Beam(
        sentences=beam.sentences[hopeful],
        limits=beam.limits[hopeful],
        log_probabilities=survivors.log_probabilities[hopeful],
        prefixes=prefixes,
    )
    return advanced, rows
