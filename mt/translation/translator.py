"""Text in, text out: one line out for every line in, in order, whatever the lines hold."""

import contextlib
import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence

import torch

from mt.data.batch import make_batch, source_tensor
from mt.data.tokenizer import BOS, EOS, UNKNOWN, Tokenizer
from mt.errors import UserError
from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.native.tiled_linear import ComputeType
from mt.fast.workers import WorkerProcesses, can_fork
from mt.model.inspection import alignment_attention
from mt.model.transformer import Transformer
from mt.runtime import bf16_factors, in_threads
from mt.search.ensemble import Ensemble
from mt.search.length_penalty import LengthPenaltyForm
from mt.search.search import Sampling, Search
from mt.translation.alignment import word_alignment
from mt.translation.segments import Part, Translation, join, seed_of, split

_WINDOW_BATCHES = 16
# So many batches, one after the other, make a search. On a CPU one does: there an empty place costs little, and
# sentences that began together do not pass over each other's keys.
_REFILLS = 16
_SENTENCES_PER_THREAD = 4  # for fewer, another thread is not worth while
_SENTENCES_PER_COPY = 32  # for fewer, a copy of the process is not

_ALIGNING = threading.Lock()  # attention is read off by hooks on the models, which all threads share

Line = tuple[int, str, str]  # its number, its text, and the text with which its translation has to begin


class Translator:
    """A trained model with its tokenizers and search settings.

    `max_source_tokens` is the longest source the model is given at once; a longer line is split, at the end of a
    sentence or a clause where there is one, translated part by part and joined by `separator`.

    The models of `ensemble` decide together with `model`, as `Ensemble` does. Of each line `num_hypotheses`
    translations are kept, and with `alignments` the words that belong together. The other settings are those of
    `Search`. The weights are taken as they are now, in `precision`, and multiplied as `PreparedModel` says; `threads`
    searches run at the same time, those of many lines with `copied` in copies of the process, which a program without
    threads of its own may have: nothing that is changed here afterwards reaches them.
    """

    def __init__(
        self,
        *,
        model: Transformer,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        precision: torch.dtype,
        compute_type: ComputeType | None = None,
        threads: int,
        copied: bool = False,
        forbidden: Sequence[int],
        beam_size: int,
        length_penalty: float,
        length_penalty_form: LengthPenaltyForm,
        max_extra_tokens: int,
        batch_tokens: int,
        max_source_tokens: int,
        min_output_tokens: int | None = None,
        max_output_tokens: int | None = None,
        no_repeat_ngram_size: int | None = None,
        early_stopping: bool | None = None,
        sampling: Sampling | None = None,
        separator: str = " ",
        ensemble: Sequence[Transformer] = (),
        num_hypotheses: int = 1,
        alignments: bool = False,
    ) -> None:
        self.model, self.models = model, [each.eval() for each in (model, *ensemble)]
        self.prepared = [PreparedModel(each, precision=precision, compute_type=compute_type) for each in self.models]
        self.threads, self.copied = threads, copied and can_fork()
        self.copies: WorkerProcesses[list[list[Translation]]] | None = None
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.batch_tokens, self.max_source_tokens = batch_tokens, max_source_tokens
        self.batch_sentences: int | None = None  # in place of the tokens, where batches are to be compared
        self.separator, self.alignments = separator, alignments
        self.search = Search(
            bos=BOS,
            eos=EOS,
            forbidden=forbidden,
            beam_size=beam_size,
            length_penalty=length_penalty,
            length_penalty_form=length_penalty_form,
            max_extra_tokens=max_extra_tokens,
            min_output_tokens=min_output_tokens,
            max_output_tokens=max_output_tokens,
            no_repeat_ngram_size=no_repeat_ngram_size,
            early_stopping=bool(early_stopping),
            sampling=sampling,
            num_hypotheses=num_hypotheses,
        )

    def translate(
        self, lines: Iterable[str], *, prefixes: Iterable[str] | str | None = None, first_number: int = 0
    ) -> Iterator[Translation]:
        """Translate lines as they come; a window of lines is read ahead and sorted by length to fill the batches.

        Each translation, but that of an empty line, begins with its line's prefix, or with the one for all. Samples
        are drawn by the line's number, which for the first is `first_number`. Raises UserError for a prefix that the
        vocabulary cannot spell or that is longer than an output may be, ValueError for unequal counts.
        """
        stream = _numbered(lines, prefixes, first_number)
        window_lines = 1
        while window := list(itertools.islice(stream, window_lines)):
            yield from self._translate_window(window)
            # Small windows first, so that a reader who types sees an answer at once.
            window_lines = min(4 * window_lines, max(1, _WINDOW_BATCHES * self.batch_tokens // 32))

    def translate_all(self, lines: Sequence[str], *, prefixes: Sequence[str] | str | None = None) -> list[Translation]:
        """Do what `translate` does, with lines that are all there already, sorted by length over the whole."""
        return self._translate_window(list(_numbered(lines, prefixes, 0)))

    def _translate_window(self, lines: Sequence[Line]) -> list[Translation]:
        encoded = self.source_tokenizer.encode_many([text for _, text, _ in lines])
        parts = [self._parts(line, pieces) for line, pieces in zip(lines, encoded, strict=True)]
        flat = [part for line in parts for part in line]
        done = iter(self.translate_parts(flat))
        found = (list(itertools.islice(done, len(line))) for line in parts)
        return [join(translated, separator=self.separator, aligned=self.alignments) for translated in found]

    def translate_parts(self, parts: Sequence[Part]) -> list[list[Translation]]:
        """The translations of each part, best first."""
        shares = list(self._shares(parts))
        searches = [([parts[index] for index in share], places) for share, places in shares]
        prepared = self.prepared[0]
        with bf16_factors(enabled=prepared.device.type == "cpu" and prepared.precision == torch.bfloat16):
            found = self._found(searches)
        translations: list[list[Translation]] = [[]] * len(parts)
        for (share, _), translated in zip(shares, found, strict=True):
            for index, translation in zip(share, translated, strict=True):
                translations[index] = translation
        return translations

    def _found(self, searches: list[tuple[list[Part], int]]) -> list[list[list[Translation]]]:
        sentences = sum(len(parts) for parts, _ in searches)
        if self.copied and self.threads > 1 and sentences >= _SENTENCES_PER_COPY * self.threads:
            with contextlib.suppress(OSError):  # a system that makes no further process
                self.copies = self.copies or WorkerProcesses(self._search, count=self.threads)
                return self.copies.map(searches)
        return in_threads(self._search, searches, threads=self.threads)

    def _shares(self, parts: Sequence[Part]) -> Iterator[tuple[list[int], int]]:
        """What one thread translates in one search, longest first, and how many sentences at the same time.

        As many as `batch_sentences` says, or as fit into `batch_tokens` with their padded source, once for each row; a
        beam search takes the next sentence where one has ended. Threads get every second, third, … sentence, so that
        each has as much to do.
        """
        order = sorted(range(len(parts)), key=lambda index: -len(parts[index].pieces))
        while order:
            row_tokens = (len(parts[order[0]].pieces) + 1) * self.search.rows_per_sentence
            places = self.batch_sentences or max(1, self.batch_tokens // row_tokens)
            threads = min(self.threads, -(-len(order) // _SENTENCES_PER_THREAD))
            refilled = self.search.sampling is None and self.prepared[0].device.type != "cpu"
            count = places * threads * (_REFILLS if refilled else 1)
            window, order = order[:count], order[count:]
            yield from ((window[thread::threads], places) for thread in range(min(threads, len(window))))

    def _search(self, parts: list[Part], places: int) -> list[list[Translation]]:
        device = self.prepared[0].device
        rows_per_sentence = self.search.rows_per_sentence
        with torch.inference_mode():
            source = source_tensor([part.pieces for part in parts]).to(device)
            decoders = [
                BatchedDecoder(model, source, rows_per_sentence=rows_per_sentence, slots=places)
                for model in self.prepared
            ]
            found = self.search.run(
                decoders[0] if len(decoders) == 1 else Ensemble(decoders),
                source_tokens=[len(part.pieces) for part in parts],
                prefixes=[part.prefix for part in parts],
                seeds=[part.seed for part in parts],
                device=device,
                places=places if self.search.sampling is None else None,
            )
        decode = self.target_tokenizer.decode
        translations = [[Translation(decode(one.tokens), one.score, one.tokens) for one in best] for best in found]
        if self.alignments:
            self._align(parts, translations, device)
        return translations

    def _align(self, parts: list[Part], translations: list[list[Translation]], device: torch.device) -> None:
        """Note in each translation the words that belong together, by the mean attention of the models."""
        pairs = [(part, one) for part, several in zip(parts, translations, strict=True) for one in several]
        batch = make_batch([part.pieces for part, _ in pairs], [one.tokens for _, one in pairs]).to(device)
        with _ALIGNING, torch.inference_mode():
            attention = [alignment_attention(model, batch.source, batch.target_input) for model in self.models]
        for weights, (part, one) in zip(torch.stack(attention).mean(dim=0).cpu(), pairs, strict=True):
            words = self.target_tokenizer.words_of_output(one.tokens)
            one.alignment = word_alignment(weights, source_words=part.words, target_words=words)

    def _parts(self, line: Line, pieces: list[int]) -> list[Part]:
        """The line as the model takes it; an empty line has no parts."""
        number, text, prefix = line
        forced = self.target_tokenizer.encode(prefix) if prefix and pieces else []
        if UNKNOWN in forced:
            raise UserError(f"prefix: the run's vocabulary cannot spell {prefix!r}; leave out what is foreign to it")
        if self.search.max_output_tokens is not None and len(forced) > self.search.max_output_tokens:
            longest = f"decoding.max_output_tokens = {self.search.max_output_tokens}"
            raise UserError(f"prefix: {prefix!r} is {len(forced)} pieces long, more than {longest}")
        words = self.source_tokenizer.words_of_text(text) if self.alignments else []
        seed = 0 if self.search.sampling is None else self.search.sampling.seed
        parts, start = [], 0
        for index, part in enumerate(
            split(pieces, longest=self.max_source_tokens, spell=self.source_tokenizer.subwords)
        ):
            end = start + len(part)
            parts.append(Part(part, words[start:end], forced if index == 0 else (), seed_of(seed, number, index)))
            start = end
        return parts


def _numbered(lines: Iterable[str], prefixes: Iterable[str] | str | None, first_number: int) -> Iterator[Line]:
    """Lines with their numbers and prefixes, read one by one."""
    if prefixes is None or isinstance(prefixes, str):
        return ((number, line, prefixes or "") for number, line in enumerate(lines, start=first_number))
    pairs = zip(lines, prefixes, strict=True)
    return ((number, line, prefix) for number, (line, prefix) in enumerate(pairs, start=first_number))
