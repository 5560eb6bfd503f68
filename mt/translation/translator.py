"""Text in, text out: one line out for every line in, in order."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mt.data.batch import source_tensor
from mt.data.lines import without_surrogates
from mt.data.tokenizer import UNKNOWN, Tokenizer
from mt.errors import SearchStoppedError, UserError
from mt.search.next_token import Ensemble, NextToken, Stoppable
from mt.search.search import Search
from mt.translation.alignment import word_alignment
from mt.translation.as_typed import AsTyped, Restore
from mt.translation.confidence import word_probabilities
from mt.translation.copied import leave_out, lost_numbers, put_back
from mt.translation.segments import Segment, Translation, join, seed_of, split
from mt.translation.spelling import Spelling

_WINDOW_BATCHES = 16
_WINDOW_SENTENCES = 64  # for each thread, twice as many as make processes pay
_OBSERVED = 1 << 18  # pairs times source tokens times target tokens whose attention is looked at together
_SENTENCES_PER_THREAD = 4  # for fewer, another thread does not pay
_LINE_BREAKS = str.maketrans("\r\n", "  ")

Line = tuple[int, str, str]  # its number, its text, and the text that its translation must begin with
Align = Callable[[list[list[int]], list[list[int]]], Float[Tensor, "pairs target source"]]
Score = Callable[[list[list[int]], list[list[int]]], list[list[float]]]


@dataclass(kw_only=True, eq=False)
class Translator:
    """A trained model, or an ensemble, with its tokenizers and its search."""

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    search: Search
    decoders: Sequence[Callable[..., NextToken]]
    """What gives, for source sentences and `rows_per_sentence`, each model's next-token function; several models decide
    as `Ensemble` says."""
    run: Callable[..., list[Any]]
    """Calls a function with each of some arguments side by side, for `sentences` in all; the results are in order."""
    threads: int
    """The number of calls that run at the same time."""
    batch_tokens: int
    """The padded source tokens, once for each row of the search, that are decoded at the same time."""
    max_source_tokens: int
    """The longest source given to the model at once. A longer line is split, at the end of a sentence or a clause where
    there is one, and its segments are translated one by one and joined by `separator`."""
    separator: str = " "
    align: Align | None = None
    """The attention of outputs over sources, by which words are aligned; None where alignments are not wanted."""
    token_scores: Score | None = None
    """The log-probability of each token of outputs; None where the words' probabilities are not wanted."""
    as_typed: AsTyped | None = None
    """What gives a line in capitals its usual spelling, and words that are copied a way around the model; a line whose
    translation has a prefix stays as it is."""
    placing: Align | None = None
    """The attention by which copied words are put back."""
    spelling: Spelling | None = None
    """What reads typos as the words that were meant."""

    def translate(
        self, lines: Iterable[str], *, target_prefixes: Iterable[str] | str | None = None, first_number: int = 0
    ) -> Iterator[Translation]:
        """Translate lines as they come; a window of lines is read ahead and sorted by length to fill the batches.

        Each translation, except that of an empty line, begins with its line's prefix, or with the one for all. Samples
        are drawn by the line's number, which for the first is `first_number`. Raises UserError for a prefix that the
        vocabulary cannot spell or that is longer than an output may be, ValueError for unequal counts.
        """
        stream = _numbered(lines, target_prefixes, first_number)
        window_lines = 1
        while window := list(itertools.islice(stream, window_lines)):
            yield from self._translate_window(window)
            # Small windows first, so that a reader who types sees an answer at once.
            most = max(_WINDOW_BATCHES * self.batch_tokens // 32, _WINDOW_SENTENCES * self.threads)
            window_lines = min(4 * window_lines, most)

    def translate_all(
        self,
        lines: Sequence[str],
        *,
        target_prefixes: Sequence[str] | str | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> list[Translation]:
        """Do what `translate` does, with all lines at hand, sorted by length over the whole.

        Each search asks `stop` once a step; when that returns True, SearchStoppedError is raised.
        """
        return self._translate_window(list(_numbered(lines, target_prefixes, 0)), stop)

    def _translate_window(self, lines: Sequence[Line], stop: Callable[[], bool] | None = None) -> list[Translation]:
        if self.as_typed is None:
            return self._translated(lines, stop)
        found = self._copying(lines, [()] * len(lines), stop)
        lost = [
            [] if prefix else lost_numbers(text, one.text) for (_, text, prefix), one in zip(lines, found, strict=True)
        ]
        again = [index for index, numbers in enumerate(lost) if numbers]
        better = self._copying([lines[index] for index in again], [lost[index] for index in again], stop)
        for index, one in zip(again, better, strict=True):
            found[index] = one
        return found

    def _copying(
        self, lines: Sequence[Line], numbers: Sequence[Collection[str]], stop: Callable[[], bool] | None
    ) -> list[Translation]:
        """Translate what is left of lines without the words that are copied, some `numbers` included."""
        left = [
            (text, []) if prefix else leave_out(text, some)
            for (_, text, prefix), some in zip(lines, numbers, strict=True)
        ]
        found: dict[int, Translation] = {}
        for translator, leaving_out in ((self, False), (self._aligning, True)):
            indices = [index for index, (_, copied) in enumerate(left) if bool(copied) == leaving_out]
            texts = [(lines[index][0], left[index][0], lines[index][2]) for index in indices]
            found.update(zip(indices, translator._translated(texts, stop), strict=True))
        for index, (text, copied) in enumerate(left):
            aligned, count = self.align is not None, len(text.split())
            found[index] = put_back(found[index], copied, source_words=count, aligned=aligned)
            if copied and not text:
                found[index] = replace(found[index], text=lines[index][1].translate(_LINE_BREAKS))  # with its spaces
        return [found[index] for index in range(len(lines))]

    @cached_property
    def _aligning(self) -> "Translator":
        """The same, with alignments."""
        return self if self.align is not None else replace(self, align=self.placing)

    def _translated(self, lines: Sequence[Line], stop: Callable[[], bool] | None) -> list[Translation]:
        read = [self._as_training_writes(line) for line in lines]
        lines = [line for line, *_ in read]
        encoded = self.source_tokenizer.encode_many([text for _, text, _ in lines])
        segments = [self._segments(line, subwords) for line, subwords in zip(lines, encoded, strict=True)]
        done = iter(self.translate_segments([segment for line in segments for segment in line], stop=stop))
        found = (list(itertools.islice(done, len(line))) for line in segments)
        wanted = {"aligned": self.align is not None, "probable": self.token_scores is not None}
        joined = (join(translated, separator=self.separator, **wanted) for translated in found)
        return [
            replace(_restored(one, restore), read_as=read_as)
            for one, (_, restore, read_as) in zip(joined, read, strict=True)
        ]

    def _as_training_writes(self, line: Line) -> tuple[Line, Restore | None, dict[str, str]]:
        number, text, prefix = line
        restore, read_as = None, dict[str, str]()
        if self.as_typed is not None and not prefix:
            text, restore = self.as_typed(text)
        if self.spelling is not None:
            text, read_as = self.spelling(text)
        return (number, text, prefix), restore, read_as

    def translate_segments(
        self,
        segments: Sequence[Segment],
        *,
        batch_size: int | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> list[list[Translation]]:
        """Return the translations of each segment, best first; `batch_size` segments make a batch, if it is given."""
        shares = list(self._shares(segments, batch_size))
        arguments = [([segments[i] for i in share], stop) for share in shares]
        found = self.run(self._search, arguments, sentences=len(segments))
        translations: list[list[Translation]] = [[]] * len(segments)
        for share, translated in zip(shares, found, strict=True):
            for index, translation in zip(share, translated, strict=True):
                translations[index] = translation
        return translations

    def _shares(self, segments: Sequence[Segment], batch_size: int | None) -> Iterator[list[int]]:
        """What one thread translates in one search, longest first.

        Threads get every second, third, … segment, so that each has as much to do.
        """
        order = sorted(range(len(segments)), key=lambda index: -len(segments[index].subwords))
        while order:
            row_tokens = (len(segments[order[0]].subwords) + 1) * self.search.rows_per_sentence
            batch = batch_size or max(1, self.batch_tokens // row_tokens)
            threads = min(self.threads, -(-len(order) // _SENTENCES_PER_THREAD))
            window, order = order[: batch * threads], order[batch * threads :]
            yield from (window[thread::threads] for thread in range(min(threads, len(window))))

    def _search(self, segments: list[Segment], stop: Callable[[], bool] | None = None) -> list[list[Translation]]:
        source = source_tensor([segment.subwords for segment in segments])
        with torch.inference_mode():
            members = [start(source, rows_per_sentence=self.search.rows_per_sentence) for start in self.decoders]
            next_token = members[0] if len(members) == 1 else Ensemble(members)
            found = self.search.run(
                next_token if stop is None else Stoppable(next_token, stop),
                source_tokens=[len(segment.subwords) for segment in segments],
                prefixes=[segment.target_prefix for segment in segments],
                seeds=[segment.seed for segment in segments],
            )
        decode = self.target_tokenizer.decode
        translations = [[Translation(decode(one.tokens), one.score, one.tokens) for one in best] for best in found]
        pairs = [(segment, one) for segment, best in zip(segments, translations, strict=True) for one in best]
        while pairs and (self.align is not None or self.token_scores is not None):
            if stop is not None and stop():
                raise SearchStoppedError("the search was stopped before it was complete")
            longest = max((len(segment.subwords) + 1) * (len(one.tokens) + 1) for segment, one in pairs)
            count = max(1, _OBSERVED // longest)
            self._observe(pairs[:count])
            pairs = pairs[count:]
        return translations

    def _observe(self, pairs: list[tuple[Segment, Translation]]) -> None:
        """Add what was asked for besides text and score."""
        given = [segment.subwords for segment, _ in pairs], [one.tokens for _, one in pairs]
        words = [self.target_tokenizer.words_of_output(one.tokens) for _, one in pairs]
        if self.align is not None:
            for weights, (segment, one), target in zip(self.align(*given), pairs, words, strict=True):
                one.alignment = word_alignment(weights, source_words=segment.words, target_words=target)
        if self.token_scores is not None:
            for values, (_, one), target in zip(self.token_scores(*given), pairs, words, strict=True):
                one.probabilities = word_probabilities(values, target)

    def _segments(self, line: Line, subwords: list[int]) -> list[Segment]:
        """The line as the model takes it; an empty line has no segments."""
        number, text, prefix = line
        forced = self.target_tokenizer.encode(prefix) if prefix and subwords else []
        if UNKNOWN in forced:
            raise UserError(f"target_prefix: the run's vocabulary cannot spell {prefix!r}; leave out what it lacks")
        longest = self.search.max_output_tokens
        if longest is not None and len(forced) > longest:
            limit = f"decoding.max_output_tokens = {longest}"
            raise UserError(f"target_prefix: {prefix!r} is {len(forced)} subwords long, more than {limit}")
        words = self.source_tokenizer.words_of_text(text) if self.align is not None else []
        seed = 0 if self.search.sampling is None else self.search.sampling.seed
        segments, start = [], 0
        parts = split(subwords, longest=self.max_source_tokens, spell=self.source_tokenizer.subwords)
        for index, part in enumerate(parts):
            end = start + len(part)
            segments.append(Segment(part, words[start:end], forced if index == 0 else (), seed_of(seed, number, index)))
            start = end
        return segments


def _restored(translation: Translation, restore: Restore | None) -> Translation:
    """The translation written as the line is; an end mark that is left out may have been a word."""
    if restore is None:
        return translation
    text, links, probabilities = restore(translation.text), translation.alignment, translation.probabilities
    count = len(text.split())
    return replace(
        translation,
        text=text,
        alignment=links and [(source, target) for source, target in links if target < count],
        probabilities=probabilities and probabilities[:count],
        others=[_restored(other, restore) for other in translation.others],
    )


def _numbered(lines: Iterable[str], target_prefixes: Iterable[str] | str | None, first_number: int) -> Iterator[Line]:
    """Lines with their numbers and prefixes, read one by one."""
    if target_prefixes is None or isinstance(target_prefixes, str):
        prefix = target_prefixes or ""
        return ((number, without_surrogates(line), prefix) for number, line in enumerate(lines, start=first_number))
    pairs = zip(map(without_surrogates, lines), target_prefixes, strict=True)
    return ((number, line, prefix) for number, (line, prefix) in enumerate(pairs, start=first_number))
