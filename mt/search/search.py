"""The settings of a search, and the search that they choose."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from mt.search.beam import beam_search
from mt.search.candidates import RankExtensions, best_extensions
from mt.search.constraints import Constraint, forced_prefix, no_repeated_ngrams
from mt.search.finished import Hypothesis, LengthPenaltyForm
from mt.search.next_token import NextToken
from mt.search.sampling import Sampling, sample


@dataclass(frozen=True, kw_only=True)
class Search:
    """Beam search, which with a beam of 1 is greedy, or sampling; what is None is off.

    Output tokens are counted without EOS. The longest output is the source and `max_extra_tokens` more, but no longer
    than `max_output_tokens`; the shortest output and a forced prefix, which callers keep below the latter, have
    precedence.
    """

    bos: int
    eos: int
    forbidden: Sequence[int]
    beam_size: int
    length_penalty: float
    length_penalty_form: LengthPenaltyForm
    max_extra_tokens: int
    min_output_tokens: int | None = None
    max_output_tokens: int | None = None
    no_repeat_ngram_size: int | None = None
    early_stopping: bool = False
    sampling: Sampling | None = None
    num_hypotheses: int = 1
    rank: RankExtensions = best_extensions

    @property
    def rows_per_sentence(self) -> int:
        """The number of rows that the next-token function starts with for each sentence."""
        return self.beam_size if self.sampling is None else self.num_hypotheses

    def run(
        self,
        next_token: NextToken,
        *,
        source_tokens: Sequence[int],
        prefixes: Sequence[Sequence[int]],
        seeds: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """Return the outputs of each sentence, best first.

        Each sentence has the length of its source, the tokens that its output must begin with, and a seed of 64 bits
        that decides what is drawn.
        """
        limits = [self.longest(source, len(prefix)) for source, prefix in zip(source_tokens, prefixes, strict=True)]
        arguments: dict[str, Any] = {
            "next_token": next_token,
            "max_lengths": torch.tensor(limits),
            "bos": self.bos,
            "eos": self.eos,
            "forbidden": self.forbidden,
            "min_length": (self.min_output_tokens or 0) + 1,
            "constraints": self._constraints(prefixes),
        }
        if self.sampling is not None:
            return sample(**arguments, sampling=self.sampling, num_samples=self.num_hypotheses, seeds=seeds)
        arguments |= {"length_penalty": self.length_penalty, "length_penalty_form": self.length_penalty_form}
        arguments |= {"beam_size": self.beam_size, "num_hypotheses": self.num_hypotheses}
        return beam_search(**arguments, early_stopping=self.early_stopping, rank=self.rank)

    def longest(self, source_tokens: int, prefix_tokens: int = 0) -> int:
        """The longest |Y|, EOS counted."""
        longest = source_tokens + self.max_extra_tokens + 1
        if self.max_output_tokens is not None:
            longest = min(longest, self.max_output_tokens + 1)
        return max(longest, prefix_tokens + 1, (self.min_output_tokens or 0) + 1)

    def _constraints(self, prefixes: Sequence[Sequence[int]]) -> list[Constraint]:
        lengths = torch.tensor([len(prefix) for prefix in prefixes])
        constraints: list[Constraint] = []
        if any(prefixes):
            forced = [torch.tensor(prefix, dtype=torch.int64) for prefix in prefixes]
            constraints.append(partial(forced_prefix, tokens=pad_sequence(forced, batch_first=True), lengths=lengths))
        if self.no_repeat_ngram_size is not None:
            constraints.append(partial(no_repeated_ngrams, size=self.no_repeat_ngram_size, exempt_tokens=lengths))
        return constraints
