"""Text in, text out: one line out for every line in, in order, whatever the lines hold."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch

from mt.data.batch import source_tensor
from mt.data.tokenizer import BOS, EOS, Tokenizer
from mt.model.decoding import KeptDecoder
from mt.model.transformer import Transformer
from mt.search.beam import beam_search
from mt.search.greedy import greedy_search
from mt.search.hypothesis import Hypothesis
from mt.search.length_penalty import LengthPenaltyForm

_WINDOW_BATCHES = 16
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "…", ";", "；", ":", "：", ",", "、", "，")


@dataclass
class Translation:
    """One translated line. `parts` counts the pieces a line beyond the model's length was split into."""

    text: str
    score: float
    tokens: list[int]
    parts: int = 1


class Translator:
    """A trained model with its tokenizers and search settings.

    `max_source_tokens` is the longest source the model is given at once; a longer line is split, at the end of a
    sentence or a clause where there is one, translated part by part and joined by `joiner`.
    """

    def __init__(
        self,
        *,
        model: Transformer,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        autocast: Callable[[], AbstractContextManager[None]],
        forbidden: Sequence[int],
        beam_size: int,
        length_penalty: float,
        length_penalty_form: LengthPenaltyForm,
        max_extra_tokens: int,
        batch_tokens: int,
        max_source_tokens: int,
        joiner: str = " ",
    ) -> None:
        self.model = model.eval()
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.autocast = autocast
        self.forbidden = forbidden
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.length_penalty_form = length_penalty_form
        self.max_extra_tokens = max_extra_tokens
        self.batch_tokens = batch_tokens
        self.max_source_tokens = max_source_tokens
        self.joiner = joiner

    def translate(self, lines: Iterable[str]) -> Iterator[Translation]:
        """Translate lines as they come; a window of lines is read ahead and sorted by length to fill the batches."""
        stream = iter(lines)
        window_lines = 1
        while window := list(itertools.islice(stream, window_lines)):
            yield from self._translate_window(window)
            # Small windows first, so that a reader who types sees an answer at once.
            window_lines = min(4 * window_lines, max(1, _WINDOW_BATCHES * self.batch_tokens // 32))

    def translate_all(self, lines: Sequence[str]) -> list[Translation]:
        """Translate lines that are all there already, sorted by length over the whole."""
        return self._translate_window(lines)

    def _translate_window(self, lines: Sequence[str]) -> list[Translation]:
        parts = [self._split(pieces) for pieces in self.source_tokenizer.encode_many(list(lines))]
        flat = [part for line in parts for part in line]
        done = iter(self._translate_pieces(flat))
        return [self._join(list(itertools.islice(done, len(line)))) for line in parts]

    def _translate_pieces(self, sentences: Sequence[list[int]]) -> list[Translation]:
        order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
        translations: list[Translation] = [Translation("", 0.0, [])] * len(sentences)
        for batch in self._batches(order, sentences):
            hypotheses = self._search([sentences[index] for index in batch])
            for index, translation in zip(batch, hypotheses, strict=True):
                translations[index] = translation
        return translations

    def _batches(self, order: list[int], sentences: Sequence[list[int]]) -> Iterator[list[int]]:
        """Groups of ascending length whose padded source, once for each place in the beam, stays in `batch_tokens`."""
        batch: list[int] = []
        for index in order:
            if batch and (len(batch) + 1) * (len(sentences[index]) + 1) * self.beam_size > self.batch_tokens:
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _search(self, sentences: list[list[int]]) -> list[Translation]:
        device = next(self.model.parameters()).device
        with torch.inference_mode(), self.autocast():
            kept = KeptDecoder(self.model, source_tensor(sentences).to(device), rows_per_sentence=self.beam_size)
            found = self._hypotheses(kept, [len(source) + self.max_extra_tokens for source in sentences], device)
        best = [hypotheses[0] for hypotheses in found]
        return [Translation(self.target_tokenizer.decode(one.tokens), one.score, one.tokens) for one in best]

    def _hypotheses(self, kept: KeptDecoder, limits: list[int], device: torch.device) -> list[list[Hypothesis]]:
        search = greedy_search if self.beam_size == 1 else functools.partial(beam_search, beam_size=self.beam_size)
        return search(
            next_token=kept,
            length_penalty=self.length_penalty,
            length_penalty_form=self.length_penalty_form,
            max_lengths=torch.tensor(limits, device=device),
            bos=BOS,
            eos=EOS,
            forbidden=self.forbidden,
        )

    def _split(self, pieces: list[int]) -> list[list[int]]:
        """Cut what is too long for the model; an empty line has no parts."""
        parts = []
        while len(pieces) > self.max_source_tokens:
            head = self.source_tokenizer.pieces(pieces[: self.max_source_tokens])
            earliest = max(1, len(head) // 2)  # a part holds at least one piece
            ends = [i + 1 for i in range(earliest, len(head)) if head[i].endswith(_SENTENCE_ENDS)]
            words = [i for i in range(earliest, len(head)) if head[i].startswith("▁")]
            cut = (ends or words or [len(head)])[-1]
            parts.append(pieces[:cut])
            pieces = pieces[cut:]
        return [*parts, pieces] if pieces else parts

    def _join(self, parts: list[Translation]) -> Translation:
        if len(parts) == 1:
            return parts[0]
        tokens = [token for part in parts for token in part.tokens]
        text = self.joiner.join(part.text for part in parts)
        return Translation(text, sum(part.score for part in parts), tokens, len(parts))
