"""Section 6.1 of the paper: beam search with a length penalty, for any next-token function.

The search is exact to this definition. A prefix has the log-probability of its tokens. In each
step every live prefix of a sentence is extended by every permitted token, and the candidates are
ranked by log-probability (of equals: lower index in the beam, then lower token id, first).

- Considered are the first 2 * beam_size - 1 candidates, so that beam_size - 1 prefixes live on even
  if every live prefix could end here. With beam_size 1 that is greedy search.
- A candidate that ends with EOS is finished if it ranks among the first beam_size, as in fairseq
  and Hugging Face: without this limit improbable short outputs, whose log-probabilities have few
  terms, would too often win.
- The best beam_size of the considered candidates without EOS live on.
- A sentence's last permitted position takes EOS only, so that nothing is cut off.
- A sentence stops when its best live prefix cannot beat the worst hypothesis to be returned, at the
  most favourable penalty that it can still reach. This never changes the result.

If beam_size is at least the number of candidates of any step, that is exhaustive search.

The model and the choice among its scores run on the device. The few numbers left for each sentence are ordered on
the host, which waits for them once in a step; what it sends back goes without waiting.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.search.candidates import RankExtensions, best_extensions, best_sums, permitted_log_probabilities
from mt.search.constraints import Constraint, Prefixes
from mt.search.finished import FinishedHypotheses, Hypothesis, LengthPenaltyForm
from mt.search.next_token import NextToken


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
    min_length: int = 1,
    num_hypotheses: int = 1,
    constraints: Sequence[Constraint] = (),
    early_stopping: bool = False,
    rank: RankExtensions = best_extensions,
) -> list[list[Hypothesis]]:
    """Return the `num_hypotheses` best outputs of each sentence, best first (fewer if fewer exist).

    `max_lengths` holds the longest |Y| of each sentence, counting EOS, on the host. None is below `min_length`, the
    shortest, which is at least 1. `next_token` starts with beam_size rows for each sentence. `forbidden` tokens are
    never produced, nor what `constraints` exclude.

    With `early_stopping` a sentence also stops once beam_size hypotheses have ended, as in CTranslate2, fairseq and
    Hugging Face's search of that name. A better one may then be missed, so the search is not exact.

    `rank` ranks the extensions where there are no constraints.

    Raises DivergedError if a sentence has no output with a finite score.
    """
    limits = max_lengths.numpy()
    log_probabilities = np.full((len(limits), beam_size), -np.inf, dtype=np.float32)
    log_probabilities[:, 0] = 0.0  # of the empty prefix, the only one of each sentence
    beam = _Beam(
        sentences=np.arange(len(limits)),
        limits=limits,
        length=0,
        log_probabilities=log_probabilities,
        prefixes=np.zeros((len(limits), beam_size, limits.max()), dtype=np.int64),
        newest=np.full(log_probabilities.size, bos),
    )
    finished = FinishedHypotheses(
        max_lengths=limits,
        num_kept=num_hypotheses,
        length_penalty=length_penalty,
        length_penalty_form=length_penalty_form,
        most_ended=beam_size if early_stopping else None,
    )
    while len(beam.sentences):
        count, logits = len(beam.newest), next_token(torch.from_numpy(beam.newest))
        excluded = [*forbidden, eos] if beam.length + 1 < min_length else forbidden
        candidates = _considered(beam, logits, rank, forbidden=excluded, eos=eos, constraints=constraints)
        beam, rows = _step(beam, candidates, finished, eos=eos)
        if len(rows) and (len(rows) < count or np.count_nonzero(rows != np.arange(count))):
            next_token.reorder(torch.from_numpy(rows))
    return finished.to_lists()


class _Beam(NamedTuple):
    """The live prefixes of the unfinished sentences, all as long; one that is missing has the log-probability -inf."""

    sentences: Int[np.ndarray, " sentences"]
    limits: Int[np.ndarray, " sentences"]
    length: int
    log_probabilities: Float[np.ndarray, "sentences beam"]
    prefixes: Int[np.ndarray, "sentences beam longest"]
    newest: Int[np.ndarray, " rows"]

    def rows(self) -> Prefixes:
        """Return the prefixes row by row."""
        beam_size = self.prefixes.shape[1]
        tokens = self.prefixes[:, :, : self.length].reshape(len(self.newest), self.length)
        return Prefixes(torch.from_numpy(tokens), torch.from_numpy(self.sentences.repeat(beam_size)))


class _Candidates(NamedTuple):
    """Live prefixes, each extended by a token."""

    log_probabilities: Float[np.ndarray, "sentences candidates"]
    parents: Int[np.ndarray, "sentences candidates"]
    """Backpointers: the index in the beam of the prefix that was extended."""
    tokens: Int[np.ndarray, "sentences candidates"]


def _considered(
    beam: _Beam,
    logits: Float[Tensor, "rows vocabulary"],
    rank: RankExtensions,
    *,
    forbidden: Sequence[int],
    eos: int,
    constraints: Sequence[Constraint],
) -> _Candidates:
    """Rank the permitted extensions of each sentence's live prefixes; return the first 2 * beam_size - 1."""
    totals = beam.log_probabilities
    beam_size = totals.shape[1]
    count = 2 * beam_size - 1
    at_limit = beam.limits == beam.length + 1
    end_only = torch.from_numpy(at_limit.repeat(beam_size)) if np.count_nonzero(at_limit) else None
    if constraints:
        log_probabilities = permitted_log_probabilities(logits, forbidden=forbidden, eos=eos, end_only=end_only)
        for constraint in constraints:
            constraint(log_probabilities, beam.rows())
        best, extensions = best_sums(log_probabilities, totals, count)
    else:
        best, extensions = rank(logits, totals, count, forbidden=forbidden, eos=eos, end_only=end_only)
    parents, tokens = np.divmod(extensions, logits.shape[1])
    return _Candidates(best, parents, tokens)


def _step(
    beam: _Beam, candidates: _Candidates, finished: FinishedHypotheses, *, eos: int
) -> tuple[_Beam, Int[np.ndarray, " new_rows"]]:
    """Finish or keep the candidates; return the beam of the sentences that continue, and each row's old row.

    Those that end are finished if they rank among the first beam_size.
    """
    beam_size = beam.log_probabilities.shape[1]
    ends = candidates.tokens == eos
    for row, rank in zip(*ends[:, :beam_size].nonzero(), strict=True):
        finished.add(
            sentence=int(beam.sentences[row]),
            log_probability=candidates.log_probabilities[row, rank],
            tokens=beam.prefixes[row, candidates.parents[row, rank], : beam.length].tolist(),
        )
    survivors = _survivors(candidates, ends, beam_size=beam_size)
    best = survivors.log_probabilities.max(axis=1)
    improvable = finished.improvable(sentences=beam.sentences, log_probabilities=best, length=beam.length + 1)
    rows = survivors.parents + np.arange(0, beam.newest.size, beam_size)[:, None]
    kept = (beam.sentences, beam.limits, survivors.log_probabilities, survivors.tokens, rows)
    if np.count_nonzero(improvable) < len(improvable):
        kept = tuple(each[improvable] for each in kept)
    sentences, limits, log_probabilities, tokens, rows = kept
    prefixes = beam.prefixes.reshape(beam.newest.size, -1)[rows]
    prefixes[:, :, beam.length] = tokens
    return _Beam(sentences, limits, beam.length + 1, log_probabilities, prefixes, tokens.ravel()), rows.ravel()


def _survivors(
    candidates: _Candidates, ends: Bool[np.ndarray, "sentences candidates"], *, beam_size: int
) -> _Candidates:
    """Return the best `beam_size` candidates that do not end, minus infinity where there are fewer.

    They come in the order of their parents, so that most rows of the decoder's cache stay where they are.
    """
    sentences = np.arange(len(ends))[:, None]
    if not np.count_nonzero(ends):  # as in most steps of few sentences
        best = candidates.parents[:, :beam_size].argsort(axis=1, kind="stable")
        log_probabilities = candidates.log_probabilities[sentences, best]
    else:
        best = ends.argsort(axis=1, kind="stable")[:, :beam_size]
        best = best[sentences, candidates.parents[sentences, best].argsort(axis=1, kind="stable")]
        log_probabilities = candidates.log_probabilities[sentences, best]
        log_probabilities[ends[sentences, best]] = -np.inf
    return _Candidates(log_probabilities, candidates.parents[sentences, best], candidates.tokens[sentences, best])
