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
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.search.candidates import accumulation_dtype, most_probable, permitted_log_probabilities
from mt.search.constraints import Constraint, Prefixes
from mt.search.finished import FinishedHypotheses
from mt.search.hypothesis import Hypothesis
from mt.search.length_penalty import LengthPenaltyForm
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
    constraints: Sequence[Constraint] = (),
) -> list[list[Hypothesis]]:
    """Return the `num_hypotheses` best outputs of each sentence, best first (fewer if fewer exist).

    `max_lengths` holds the longest |Y| of each sentence, at least 1 and counting EOS; its device is where the search
    runs. `next_token` starts with beam_size rows for each sentence. `forbidden` tokens are never produced, nor what
    `constraints` exclude.

    Raises ValueError for impossible arguments and DivergedError if a sentence has no output with a finite score.
    """
    if not 1 <= num_hypotheses <= beam_size:
        raise ValueError(f"num_hypotheses {num_hypotheses}: expected 1 to beam_size {beam_size}")
    limits = checked_limits(max_lengths, eos=eos, forbidden=forbidden)
    if not limits:
        return []
    logits = next_token(torch.full((len(max_lengths) * beam_size,), bos, device=max_lengths.device))
    beam = _Beam.of_empty_prefixes(max_lengths, beam_size=beam_size)
    finished = FinishedHypotheses(
        max_lengths=max_lengths,
        num_kept=num_hypotheses,
        length_penalty=length_penalty,
        length_penalty_form=length_penalty_form,
        dtype=accumulation_dtype(logits),
    )
    for length in range(1, max(limits) + 1):
        log_probabilities = permitted_log_probabilities(
            logits,
            forbidden=forbidden,
            eos=eos,
            end_only=beam.rows_at_limit(length) if length in limits else None,
        )
        for constraint in constraints:
            constraint.exclude(log_probabilities, beam.rows(length - 1))
        candidates = _considered(beam, log_probabilities)
        _finish(candidates, beam, finished, eos=eos, length=length)
        survivors = _survivors(candidates, beam_size=beam_size, eos=eos)
        going_on = finished.improvable(
            sentences=beam.sentences, log_probabilities=survivors.log_probabilities.amax(dim=1), length=length
        )
        if not going_on.any():
            break
        beam, rows = _advanced(beam, survivors, going_on, length=length)
        if not is_identity(rows, num_rows=len(logits)):
            next_token.reorder(rows)
        logits = next_token(beam.prefixes[:, :, length - 1].flatten())
    return finished.to_lists()


@dataclass(frozen=True)
class _Beam:
    """The live prefixes of the unfinished sentences; a free slot has log-probability minus infinity."""

    sentences: Int[Tensor, " sentences"]
    limits: Int[Tensor, " sentences"]
    log_probabilities: Float[Tensor, "sentences slots"]
    prefixes: Int[Tensor, "sentences slots longest"]

    @classmethod
    def of_empty_prefixes(cls, max_lengths: Int[Tensor, " sentences"], *, beam_size: int) -> "_Beam":
        """Return the beam before the first step: the empty prefix in each sentence's first slot."""
        device, num_sentences = max_lengths.device, len(max_lengths)
        log_probabilities = torch.full((num_sentences, beam_size), -torch.inf, device=device)
        log_probabilities[:, 0] = 0.0
        prefixes = torch.zeros((num_sentences, beam_size, int(max_lengths.max())), dtype=torch.int64, device=device)
        return cls(torch.arange(num_sentences, device=device), max_lengths, log_probabilities, prefixes)

    def rows(self, length: int) -> Prefixes:
        """Return the prefixes, `length` tokens long, row by row."""
        sentences = self.sentences.repeat_interleave(self.prefixes.shape[1])
        return Prefixes.of_one_length(self.prefixes.flatten(0, 1), length, sentences)

    def rows_at_limit(self, length: int) -> Bool[Tensor, " rows"]:
        """Tell which rows' token number `length` is the last that their sentence may have."""
        return (self.limits == length).repeat_interleave(self.log_probabilities.shape[1])


@dataclass(frozen=True)
class _Candidates:
    """Live prefixes, named by their slots, each extended by a token."""

    log_probabilities: Float[Tensor, "sentences candidates"]
    slots: Int[Tensor, "sentences candidates"]
    tokens: Int[Tensor, "sentences candidates"]

    def take(self, places: Int[Tensor, "sentences chosen"]) -> "_Candidates":
        """Return the candidates at these places, in this order."""
        columns = (self.log_probabilities, self.slots, self.tokens)
        return _Candidates(*(column.gather(1, places) for column in columns))


def _considered(beam: _Beam, log_probabilities: Float[Tensor, "rows vocabulary"]) -> _Candidates:
    """Rank the extensions of each sentence's live prefixes; return the first 2 * beam_size - 1, best first."""
    num_sentences, beam_size = beam.log_probabilities.shape
    count = 2 * beam_size - 1
    values, tokens = most_probable(log_probabilities, count)
    totals = beam.log_probabilities[:, :, None] + values.view(num_sentences, beam_size, -1)
    ranked = totals.flatten(1).sort(dim=1, descending=True, stable=True)
    places = ranked.indices[:, :count]
    return _Candidates(
        log_probabilities=ranked.values[:, :count],
        slots=places // values.shape[1],
        tokens=tokens.reshape(num_sentences, -1).gather(1, places),
    )


def _finish(candidates: _Candidates, beam: _Beam, finished: FinishedHypotheses, *, eos: int, length: int) -> None:
    """Offer the candidates that end, if they rank among the first beam_size, as hypotheses."""
    beam_size = beam.log_probabilities.shape[1]
    ends = candidates.tokens[:, :beam_size] == eos
    if not ends.any():
        return
    slots = candidates.slots[:, :beam_size, None]
    finished.add(
        sentences=beam.sentences,
        log_probabilities=candidates.log_probabilities[:, :beam_size].masked_fill(~ends, -torch.inf),
        tokens=beam.prefixes.take_along_dim(slots, dim=1),
        length=length,
    )


def _survivors(candidates: _Candidates, *, beam_size: int, eos: int) -> _Candidates:
    """Return the best `beam_size` candidates that do not end, minus infinity where there are fewer.

    They come in the order of the slots that they extend, so that most rows of kept state stay where they are.
    """
    ends = candidates.tokens == eos
    best = ends.to(torch.int8).argsort(dim=1, stable=True)[:, :beam_size]
    places = best.take_along_dim(candidates.slots.gather(1, best).argsort(dim=1, stable=True), dim=1)
    chosen = candidates.take(places)
    return _Candidates(
        log_probabilities=chosen.log_probabilities.masked_fill(chosen.tokens == eos, -torch.inf),
        slots=chosen.slots,
        tokens=chosen.tokens,
    )


def _advanced(
    beam: _Beam, survivors: _Candidates, going_on: Bool[Tensor, " sentences"], *, length: int
) -> tuple[_Beam, Int[Tensor, " rows"]]:
    """Return the survivors of the sentences that go on as a beam, and for each of its rows the old row."""
    num_sentences, beam_size = beam.log_probabilities.shape
    first_rows = torch.arange(0, num_sentences * beam_size, beam_size, device=going_on.device)
    rows = (survivors.slots + first_rows[:, None])[going_on].flatten()
    prefixes = beam.prefixes.flatten(0, 1)[rows].unflatten(0, (-1, beam_size))
    prefixes[:, :, length - 1] = survivors.tokens[going_on]
    advanced = _Beam(
        sentences=beam.sentences[going_on],
        limits=beam.limits[going_on],
        log_probabilities=survivors.log_probabilities[going_on],
        prefixes=prefixes,
    )
    return advanced, rows
