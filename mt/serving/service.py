"""What both interfaces ask for: texts in, translations out, for any pair, with or without markup and alternatives."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from mt.api import Translator
from mt.documents.document import Document, Work, passage, sample
from mt.documents.markup import MarkedText
from mt.documents.passages import PlainText
from mt.documents.tags import Markup, plain_text
from mt.errors import MtError, UserError
from mt.serving.batcher import Batcher, BatchReport, OverloadedError
from mt.serving.details import Word, words_of
from mt.serving.languages import Detector, find_code
from mt.translation.known_words import KnownWords
from mt.translation.limits import Limits, check_type
from mt.translation.notices import Notice, notices
from mt.translation.segments import Translation

_DOCUMENTS_AT_ONCE = 2  # the others wait, and need little memory until then
_MOST_FAILED = 10  # batches in a row without one translation
_SMALL_DOCUMENT = 10_000  # characters; up to so many it does not wait for large ones
_CERTAIN = 80.0  # percent, from which a text is taken to be in the target language already

Result = TypeVar("Result")


class FailedError(MtError):
    """The model failed on a text."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A run and what it translates; its translator gives alignments and probabilities."""

    source: str
    target: str
    translator: Translator
    known_words: KnownWords | None = None
    """The source words of its training, where they are listed."""
    searches: dict[tuple[int, bool, bool], Translator] = field(default_factory=dict, init=False, repr=False)
    """Its translator by the settings of the requests so far."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Texts to be translated in one way."""

    texts: Sequence[str]
    source: str | None
    """As the client writes it; None is to be recognised, in each text by itself."""
    target: str
    alternatives: int = 0
    markup: Markup | None = None
    split_lines: bool = True
    split_sentences: bool = True
    details: bool = False
    """Whether the answer has words and notices."""


@dataclass(frozen=True)
class Answer:
    """One translated text."""

    text: str
    alternatives: list[str]
    source: str
    confidence: float
    """That the text is in the language `source`, in percent."""
    words: list[list[Word]] = field(default_factory=list)
    """Of the text and of each alternative."""
    notices: list[Notice] = field(default_factory=list)


@dataclass(frozen=True)
class _Way:
    """The pair and the search: texts of the same way can be translated in one batch."""

    pair: Pair
    n_best: int
    alignments: bool
    probabilities: bool = False


@dataclass(frozen=True)
class _Prepared:
    """A text that is ready for the model."""

    passage: PlainText | MarkedText
    tokens: list[int]
    """Of each sentence, its end counted."""
    pair: Pair
    source: str
    confidence: float


class Service:
    """The pairs that are served, by a queue with threads that translate."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        *,
        limits: Limits,
        batch_tokens: int,
        queue_tokens: int,
        threads: int = 1,
        report: Callable[[BatchReport], None] = lambda _: None,
    ) -> None:
        """Start the threads. Raises UserError for two runs of one pair."""
        self.pairs, self.limits = _distinct(pairs), limits
        self.characters = 0
        self._document_tokens = min(4 * threads * batch_tokens, queue_tokens // 4)  # there is room for others
        self._document_turn = asyncio.Semaphore(_DOCUMENTS_AT_ONCE)
        self._document_threads = ThreadPoolExecutor(2 * _DOCUMENTS_AT_ONCE, "document")  # lines have others
        self._detector = Detector()
        self.batcher = Batcher(
            self._run, batch_tokens=batch_tokens, queue_tokens=queue_tokens, threads=threads, report=report
        )

    def sources(self, target: str | None = None) -> list[str]:
        """The source languages, of all pairs or of those into one target."""
        return list(dict.fromkeys(pair.source for pair in self.pairs if target in (None, pair.target)))

    def targets(self, source: str | None = None) -> list[str]:
        """The target languages, of all pairs or of those from one source."""
        return list(dict.fromkeys(pair.target for pair in self.pairs if source in (None, pair.source)))

    def warm_up(self) -> None:
        """Translate a word with every pair, so that no client waits for what is done once. Raises FailedError."""
        self._warm_up(self.pairs)

    def exchange(self, pairs: Sequence[Pair]) -> None:
        """Serve these instead, once they are warm; those from before translate what was asked before.

        Raises UserError for two runs of one pair, FailedError for one that cannot translate.
        """
        new = _distinct(pairs)
        self._warm_up(new)
        self.pairs = new

    def works(self) -> bool:
        """Whether the models translate, which is tried where many batches in a row had no translation."""
        if self.batcher.failed_in_a_row >= _MOST_FAILED:
            try:
                self.warm_up()
            except Exception:  # noqa: BLE001  any error says that they do not
                return False
            self.batcher.failed_in_a_row = 0
        return True

    def _warm_up(self, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            for alignments, probabilities in ((False, False), (True, False), (True, True)):
                [one] = _translator_of(_Way(pair, 1, alignments, probabilities)).translate_each(["1"])
                if isinstance(one, Exception):
                    raise FailedError(f"the run from {pair.source} to {pair.target} cannot translate: {one}") from one

    def detect(self, text: str) -> list[tuple[str, float]]:
        """All languages that are served with their confidence in percent, best first; of equal ones, sources first."""
        return self._detector.detect(text, list(dict.fromkeys([*self.sources(), *self.targets()])))

    async def translate(self, request: Request) -> list[Answer]:
        """Return the translation of each text. When the task is cancelled, its texts leave the queue.

        Raises TypeError for what is not text, UserError for more than the limits and for languages that are not
        served, OverloadedError, and FailedError naming the text that the model failed on.
        """
        prepared = await asyncio.to_thread(self._prepared, request)
        futures: dict[Pair, asyncio.Future[list[Any]]] = {}
        try:
            for pair in dict.fromkeys(one.pair for one in prepared):
                group = [one for one in prepared if one.pair == pair]
                aligned = request.details or request.markup is not None
                way = _Way(pair, 1 + request.alternatives, aligned, request.details)
                texts = [sentence for one in group for sentence in one.passage.sentences]
                tokens = [count for one in group for count in one.tokens]
                futures[pair] = asyncio.wrap_future(self.batcher.submit(way, texts, tokens))
            results = {pair: iter(await future) for pair, future in futures.items()}
        finally:
            for future in futures.values():
                future.cancel()
        self.characters += sum(map(len, request.texts))
        return await asyncio.to_thread(self._answers, prepared, results, request)

    def _prepared(self, request: Request) -> list[_Prepared]:
        """The texts as sentences of known languages. Raises what `translate` raises before work begins."""
        texts = check_type(request.texts)
        self.limits.check_texts(texts)
        if request.alternatives < 0:
            raise UserError("alternatives: expected a number from 0")
        self.limits.check_search(beam_size=1 + request.alternatives, n_best=1 + request.alternatives)
        target = self._target(request.target)
        prepared = [self._prepared_text(text, request, target) for text in texts]
        self.limits.check_subwords(sum(sum(one.tokens) for one in prepared))
        return prepared

    def _prepared_text(self, text: str, request: Request, target: str) -> _Prepared:
        plain = plain_text(text) if request.markup and request.source is None else text
        source, confidence, pair = self._pair(plain, request.source, target)
        if source != pair.source:
            return _Prepared(PlainText(text, []), [], pair, source, confidence)  # stays as it is
        split = {"split_lines": request.split_lines, "split_sentences": request.split_sentences}
        found = passage(text, request.markup, source, **split)
        return _Prepared(found, self._tokens(pair, found.sentences), pair, source, confidence)

    def _target(self, asked: str) -> str:
        target = find_code(asked, self.targets())
        if target is None:
            raise UserError(f"{asked} is not supported as a target language")
        return target

    def _pair(self, text: str, asked: str | None, target: str) -> tuple[str, float, Pair]:
        """The source language of a text, how certain that is, and its pair; any, where that is the target language."""
        into, sources = [pair for pair in self.pairs if pair.target == target], self.sources(target)
        if asked is None:
            found = self._detector.detect(text, list(dict.fromkeys([*sources, target])))
            source, confidence = found[0]
            if source == target and confidence < _CERTAIN:
                source, confidence = next((one for one in found if one[0] != target), found[0])
        else:
            code = find_code(asked, sources) or find_code(asked, [target])
            if code is None:
                raise UserError(f"{asked} is not supported as a source language for the target {target}")
            source, confidence = code, 100.0
        pairs = [pair for pair in into if pair.source == source] or (into if source == target else [])
        if not pairs:  # others were taken up a moment ago
            raise UserError(f"{source} is not supported as a source language for the target {target}")
        return source, confidence, pairs[0]

    def _tokens(self, pair: Pair, sentences: Sequence[str]) -> list[int]:
        return [count + 1 for count in pair.translator.count_subwords(sentences)]

    # ------------------------------------------------------------------------------------ documents

    async def translate_document(self, document: Document, source: str | None, target: str) -> bytes:
        """Return the translated file, when its turn comes. A few batches at a time are in the queue, if that has room.

        Raises UserError for unknown languages and for what the file's encoding lacks, FailedError.
        """
        small = sum(map(len, document.texts)) <= _SMALL_DOCUMENT
        async with contextlib.nullcontext() if small else self._document_turn:
            work, pair, tokens = await self.in_document_thread(self._prepared_document, document, source, target)
            way, done = _Way(pair, 1, document.markup is not None), list[Any]()
            while (low := len(done)) < len(tokens):
                totals = itertools.accumulate(tokens[low:])
                count = sum(1 for _ in itertools.takewhile(lambda total: total <= self._document_tokens, totals))
                high = low + max(1, count)
                done += await self._translated(way, work.sentences[low:high], tokens[low:high])
            self.characters += sum(map(len, document.texts))
            return await self.in_document_thread(work.written, done, pair.translator.separator)

    async def in_document_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """The function's result, from a thread that documents share. Raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._document_threads, function, *arguments)

    def _prepared_document(self, document: Document, source: str | None, target: str) -> tuple[Work, Pair, list[int]]:
        language, _, pair = self._pair(sample(document), source, self._target(target))
        if language != pair.source:
            seems = "is said to be" if source else "seems to be"
            raise UserError(f"the document {seems} in {language} already; name another source language if it is not")
        work = Work(document, language)
        return work, pair, self._tokens(pair, work.sentences)

    async def _translated(self, way: _Way, sentences: list[str], tokens: list[int]) -> list[Translation]:
        while True:
            try:
                future = asyncio.wrap_future(self.batcher.submit(way, sentences, tokens))
                break
            except OverloadedError as error:
                await asyncio.sleep(error.retry_seconds)
        try:
            found = await future
        finally:
            future.cancel()
        if failed := [result for result in found if isinstance(result, Exception)]:
            raise FailedError("a sentence of the document could not be translated") from failed[0]
        return found

    # --------------------------------------------------------------------------------------- texts

    def _answers(
        self, prepared: Sequence[_Prepared], results: dict[Pair, Iterator[Any]], request: Request
    ) -> list[Answer]:
        answers = []
        for number, one in enumerate(prepared, start=1):
            found = list(itertools.islice(results[one.pair], len(one.passage.sentences)))
            if failed := [result for result in found if isinstance(result, Exception)]:
                raise FailedError(f"text {number} could not be translated") from failed[0]
            separator = one.pair.translator.separator
            versions: dict[str, list[Translation]] = {}
            for rank in range(1 + request.alternatives):
                translations = _ranked(found, rank)
                versions.setdefault(one.passage.rebuilt(translations, separator), translations)
            best, *others = versions
            answer = Answer(best, others, one.source, one.confidence)
            if request.details:
                words = [words_of(one.passage, each, separator) for each in versions.values()]
                answer = replace(answer, words=words, notices=self._notices(one, found))
            answers.append(answer)
        return answers

    def _notices(self, prepared: _Prepared, translations: Sequence[Translation]) -> list[Notice]:
        known = prepared.pair.known_words
        sentences = zip(prepared.passage.sentences, translations, prepared.tokens, strict=True)
        return [
            notice
            for sentence, one, tokens in sentences
            for notice in notices(sentence, one, source_subwords=tokens - 1, known=known)
        ]

    def _run(self, way: _Way, texts: list[str], stop: Callable[[], bool]) -> list[Translation | Exception]:
        return _translator_of(way).translate_each(texts, stop=stop)


def _translator_of(way: _Way) -> Translator:
    """The pair's translator with the settings of a request."""
    settings = (way.n_best, way.alignments, way.probabilities)
    if settings not in way.pair.searches:
        translator = way.pair.translator
        way.pair.searches[settings] = translator.with_settings(
            decoding={"beam_size": max(translator.beam_size, way.n_best)},
            n_best=way.n_best,
            alignments=way.alignments,
            probabilities=way.probabilities,
        )
    return way.pair.searches[settings]


def _distinct(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs. Raises UserError for two runs of one."""
    names = [(pair.source.lower(), pair.target.lower()) for pair in pairs]
    for pair, name in zip(pairs, names, strict=True):
        if names.count(name) > 1:
            raise UserError(f"runs: two runs translate from {pair.source} to {pair.target}; give one of them")
    return list(pairs)


def _ranked(translations: Sequence[Translation], rank: int) -> list[Translation]:
    """The translation of this rank, 0 for the best, of each sentence; the last one where there are fewer."""
    return [[one, *one.others][min(rank, len(one.others))] for one in translations]
