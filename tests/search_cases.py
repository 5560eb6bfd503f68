"""Random models whose scores depend on the whole prefix, and slow searches through them in plain Python."""

import math
import random
from collections.abc import Sequence
from functools import cache, partial
from itertools import product

import pytest
import torch
from torch import Tensor

from mt.search.beam import beam_search
from mt.search.constraints import Constraint, forced_prefix, no_repeated_ngrams
from mt.search.finished import Hypothesis
from mt.search.sampling import Sampling, sample

PAD, BOS, EOS = 0, 1, 2
MINIMUM, PREFIX, NGRAMS = "minimum length", "forced prefix", "no repeated n-grams"
Scored = tuple[float, float, tuple[int, ...]]  # score, log-probability, tokens without EOS


class Case:
    """A random model whose scores depend on the whole prefix, with a random batch, settings and constraints."""

    def __init__(self, seed: int, rules: Sequence[str] = (), *, num_sentences: int | None = None) -> None:
        draw = random.Random(seed)
        self.seed = seed
        self.vocab_size = draw.randint(3, 5)
        self.sharpness = draw.choice((0.5, 2.0, 5.0))
        self.max_lengths = [draw.randint(1, 5) for _ in range(num_sentences or draw.randint(1, 4))]
        self.sentences = list(range(len(self.max_lengths)))
        self.form = draw.choice(("gnmt", "power"))
        self.alpha = draw.choice((0.0, 0.6, 1.0, 2.5, -0.5))
        self.forbidden = draw.choice(((PAD, BOS), (PAD,), ()))
        self.inner = [t for t in range(self.vocab_size) if t not in (EOS, *self.forbidden)]
        self.min_length = draw.randint(1, min(self.max_lengths)) if MINIMUM in rules else 1
        forced = PREFIX in rules and bool(self.inner)
        prefix_lengths = [draw.randrange(longest) if forced else 0 for longest in self.max_lengths]
        self.forced = [tuple(draw.choices(self.inner, k=length)) for length in prefix_lengths]
        self.ngram_size = draw.randint(1, 3) if NGRAMS in rules else None
        self.logits = cache(self._logits)
        self.log_probabilities = cache(self._log_probabilities)

    def _logits(self, sentence: int, prefix: tuple[int, ...]) -> list[float]:
        draw = random.Random(f"{self.seed} {sentence} {prefix}")
        return [draw.gauss(0.0, self.sharpness) for _ in range(self.vocab_size)]

    def _log_probabilities(self, sentence: int, prefix: tuple[int, ...]) -> list[float]:
        logits = self.logits(sentence, prefix)
        total = math.log(math.fsum(map(math.exp, logits)))
        return [logit - total for logit in logits]

    def log_probability(self, sentence: int, tokens: Sequence[int]) -> float:
        """That of a whole output, EOS included."""
        steps = enumerate((*tokens, EOS))
        return math.fsum(self.log_probabilities(sentence, tuple(tokens[:i]))[token] for i, token in steps)

    def may_follow(self, sentence: int, prefix: tuple[int, ...], token: int) -> bool:
        """Whether the constraints permit the token."""
        forced = self.forced[sentence]
        if len(prefix) < len(forced):
            return token == forced[len(prefix)]
        if token == EOS:
            return len(prefix) + 1 >= self.min_length
        if self.ngram_size is None:
            return True
        earlier = {prefix[i : i + self.ngram_size] for i in range(len(prefix) - self.ngram_size + 1)}
        return (*prefix, token)[-self.ngram_size :] not in earlier

    def permits(self, sentence: int, tokens: tuple[int, ...]) -> bool:
        """Whether the constraints permit an output."""
        return all(self.may_follow(sentence, tokens[:i], token) for i, token in enumerate((*tokens, EOS)))

    def scored(self, log_probability: float, tokens: tuple[int, ...]) -> Scored:
        length = len(tokens) + 1
        base = (5 + length) / 6 if self.form == "gnmt" else length
        return log_probability / base**self.alpha, log_probability, tokens

    def exhaustive(self, sentence: int) -> list[Scored]:
        """Every permitted output, best first."""
        results = []
        for inner_length in range(self.max_lengths[sentence]):
            for tokens in product(self.inner, repeat=inner_length):
                if not self.permits(sentence, tokens):
                    continue
                results.append(self.scored(self.log_probability(sentence, tokens), tokens))
        return sorted(results, key=lambda scored: -scored[0])

    def slow_beam(self, sentence: int, beam_size: int, *, early_stopping: bool = False) -> list[Scored]:
        """Beam search as mt/search/beam.py defines it, without early exit: all that finished, best first.

        With `early_stopping` until the step in which the last of beam_size finishes.
        """
        live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        finished: list[Scored] = []
        for length in range(1, self.max_lengths[sentence] + 1):
            permitted = [EOS] if length == self.max_lengths[sentence] else [*self.inner, EOS]
            candidates = [
                (total + self.log_probabilities(sentence, prefix)[token], prefix, token)
                for total, prefix in live
                for token in permitted
                if self.may_follow(sentence, prefix, token)
            ]
            candidates = sorted(candidates, key=lambda candidate: -candidate[0])[: 2 * beam_size - 1]
            finished += [self.scored(total, prefix) for total, prefix, token in candidates[:beam_size] if token == EOS]
            live = [(total, (*prefix, token)) for total, prefix, token in candidates if token != EOS][:beam_size]
            if early_stopping and len(finished) >= beam_size:
                break
        return sorted(finished, key=lambda scored: -scored[0])

    def exhaustive_beam_size(self) -> int:
        """The largest number of candidates of any step."""
        inner, longest = len(self.inner), max(self.max_lengths)
        return max([1, inner ** (longest - 1), *(inner**i * (inner + 1) for i in range(longest - 1))])

    def constraints(self) -> list[Constraint]:
        """The case's rules, for its sentences."""
        lengths = torch.tensor([len(self.forced[sentence]) for sentence in self.sentences])
        padded = [[*self.forced[sentence], *[0] * 5][:5] for sentence in self.sentences]
        constraints: list[Constraint] = []
        if any(self.forced):
            constraints.append(partial(forced_prefix, tokens=torch.tensor(padded), lengths=lengths))
        if self.ngram_size is not None:
            constraints.append(partial(no_repeated_ngrams, size=self.ngram_size, exempt_tokens=lengths))
        return constraints

    def arguments(self) -> dict:
        return {
            "length_penalty": self.alpha,
            "length_penalty_form": self.form,
            "max_lengths": torch.tensor([self.max_lengths[sentence] for sentence in self.sentences]),
            "bos": BOS,
            "eos": EOS,
            "forbidden": self.forbidden,
            "min_length": self.min_length,
            "constraints": self.constraints(),
        }

    def beam(self, beam_size: int, num_hypotheses: int = 1, dtype: torch.dtype = torch.float64, **settings):
        rows = PrefixRows(self, rows_per_sentence=beam_size, dtype=dtype)
        arguments = self.arguments() | settings
        return beam_search(next_token=rows, beam_size=beam_size, num_hypotheses=num_hypotheses, **arguments), rows

    def samples(self, num_samples: int, seeds: Sequence[int], dtype: torch.dtype = torch.float64, **settings):
        arguments = self.arguments() | {"num_samples": num_samples, "seeds": [seeds[i] for i in self.sentences]}
        del arguments["length_penalty"], arguments["length_penalty_form"]
        sampling = Sampling(**{"temperature": 1.0, "top_k": None, "top_p": None, "seed": 0} | settings)
        rows = PrefixRows(self, rows_per_sentence=num_samples, dtype=dtype)
        return sample(next_token=rows, sampling=sampling, **arguments), rows

    def greedy(self, sentence: int, dtype: torch.dtype) -> tuple[int, ...]:
        """The output in which each token is the most probable one permitted, by the logits in this type."""
        tokens: tuple[int, ...] = ()
        while True:
            last = len(tokens) + 1 == self.max_lengths[sentence]
            permitted = [EOS] if last else sorted([*self.inner, EOS])
            logits = torch.tensor(self.logits(sentence, tokens), dtype=dtype).tolist()
            token = max((t for t in permitted if self.may_follow(sentence, tokens, t)), key=lambda t: logits[t])
            if token == EOS:
                return tokens
            tokens = (*tokens, token)


class PrefixRows:
    """The model of a case as a next-token function that keeps each row's sentence and prefix itself.

    It refuses what the protocol forbids: a row that becomes another sentence's, and a reordering that changes nothing.
    """

    def __init__(self, case: Case, *, rows_per_sentence: int, dtype: torch.dtype) -> None:
        self._logits = cache(lambda sentence, prefix: torch.tensor(case.logits(sentence, prefix), dtype=dtype))
        self._rows = [(sentence, ()) for sentence in case.sentences for _ in range(rows_per_sentence)]
        self._rows_per_sentence = rows_per_sentence
        self.rows_per_call: list[int] = []

    def __call__(self, tokens: Tensor) -> Tensor:
        if self.rows_per_call:
            extended = zip(self._rows, tokens.tolist(), strict=True)
            self._rows = [(sentence, (*prefix, token)) for (sentence, prefix), token in extended]
        else:
            assert tokens.tolist() == [BOS] * len(self._rows)
        self.rows_per_call.append(len(tokens))
        return torch.stack([self._logits(*row) for row in self._rows])

    def reorder(self, rows: Tensor) -> None:
        order = rows.tolist()
        assert order != list(range(len(self._rows))), "a reordering that changes nothing"
        self._rows = [self._rows[row] for row in order]
        sentences = [sentence for sentence, _ in self._rows]
        groups = sentences[:: self._rows_per_sentence]
        assert sentences == [sentence for sentence in groups for _ in range(self._rows_per_sentence)]
        assert len(groups) == len(set(groups)), "a row became another sentence's"


def assert_same(found: list[Hypothesis], expected: list[Scored]) -> None:
    assert [tuple(hypothesis.tokens) for hypothesis in found] == [tokens for *_, tokens in expected]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, *_ in expected], abs=1e-12)
