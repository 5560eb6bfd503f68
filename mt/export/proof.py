"""Whether another engine, given what was written for it, computes the same: logits, tokens, subwords and text.

The proof runs in a process of its own, which knows only what is on the disk.
"""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mt.data.batch import source_tensor
from mt.data.corpus import builtin_corpus
from mt.data.lines import read_lines
from mt.data.tokenizer import BOS, EOS
from mt.errors import UserError
from mt.export.ctranslate2 import CTranslate2Engine
from mt.export.huggingface import HuggingFaceEngine
from mt.export.vocabulary import Vocabularies, marian_ids, our_ids
from mt.model.cached_decoder import CachedDecoder
from mt.model.transformer import Transformer
from mt.runs.folder import held_out_text
from mt.search.beam import beam_search
from mt.translation.translator import Translator

LARGEST_LOGIT_DIFFERENCE = 1e-4
SMALLEST_EQUAL_SHARE = 0.999
_SENTENCES = 1000
_SENTENCES_WITH_LOGITS = 32
_BATCH = 50

LoadRun = Callable[[Path], tuple[Transformer, Translator]]  # picklable


@runtime_checkable
class Engine(Protocol):
    """What reads an exported folder. Its token ids are its own; sources and outputs are without end marks."""

    def encode(self, texts: Sequence[str]) -> list[list[int]] | None:
        """The ids of texts by the folder's tokenizer; None where the engine does not have one."""
        ...

    def greedy(self, sources: Sequence[Sequence[int]], *, longest: int) -> list[list[int]]:
        """The most probable token at every position, up to EOS or `longest` tokens."""
        ...

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Float[np.ndarray, "positions vocabulary"]:
        """The logits of each token of a target and of its end, given those before it."""
        ...

    def decode(self, tokens: Sequence[int]) -> str | None:
        """The text of an output; None where the engine does not have a tokenizer."""
        ...


@dataclass(frozen=True)
class Proof:
    """What was compared, and how much of it was equal: shares of the sentences."""

    sentences: int
    largest_logit_difference: float
    sentences_with_logits: int
    same_tokens: float
    same_subwords: float | None
    same_text: float | None

    def failure(self) -> str | None:
        """What is not equal enough, in words; None if all is."""
        if not self.largest_logit_difference <= LARGEST_LOGIT_DIFFERENCE:  # NaN fails too
            return f"its logits differ by up to {self.largest_logit_difference:.2g}"
        shares = {"tokens": self.same_tokens, "subwords": self.same_subwords, "texts": self.same_text}
        for what, share in shares.items():
            if share is not None and share < SMALLEST_EQUAL_SHARE:
                return f"its {what} are the same in only {share:.2%} of {self.sentences} sentences"
        return None

    def refuse_failure(self, what: str) -> None:
        """Raises UserError when what was compared is not equal."""
        if failure := self.failure():
            raise UserError(f"{what} is not equal to the model: {failure}; nothing was written")

    def __str__(self) -> str:
        return (
            f"the same tokens in {self.same_tokens:.2%} of {self.sentences:,} sentences, "
            f"logits within {self.largest_logit_difference:.1e}"
        )


def proof_sentences(run_dir: Path, sentences: str | None) -> list[str]:
    """1,000 real sentences: of a file, else of the run's validation and test text, else of the built-in corpus."""
    files = [held_out_text(run_dir, split, "source") for split in ("validation", "test")]
    paths = [sentences] if sentences is not None else [str(path) for path in files if path.is_file()]
    if not paths:
        return [source for source, _ in islice(builtin_corpus("validation").pairs(), _SENTENCES)]
    return list(islice((line for path in paths for line in read_lines(path) if line.strip()), _SENTENCES))


def prove_apart(
    run_dir: Path, folder: Path, *, load: LoadRun, engine: str, vocabularies: Vocabularies, texts: Sequence[str]
) -> Proof:
    """Load run and folder in a new process and compare them; `load` is pickled. Raises what the process raised."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(
                prove_here, run_dir, folder, load=load, engine=engine, vocabularies=vocabularies, texts=texts
            ).result()
        except BrokenProcessPool as error:
            raise UserError(f"the process that loaded {folder} with {engine} died; nothing was written") from error


def prove_here(
    run_dir: Path, folder: Path, *, load: LoadRun, engine: str, vocabularies: Vocabularies, texts: Sequence[str]
) -> Proof:
    """Load run and folder and compare them."""
    model, translator = load(run_dir)
    tokenizers = {"source_tokenizer": translator.source_tokenizer, "target_tokenizer": translator.target_tokenizer}
    torch.manual_seed(0)
    loaded = HuggingFaceEngine(folder) if engine == "huggingface" else CTranslate2Engine(folder, **tokenizers)
    return _Comparison(model, translator, loaded, vocabularies).run(texts)


class _Comparison:
    """Our translator and another engine, with tables between our subword ids and the engine's token ids."""

    def __init__(self, model: Transformer, ours: Translator, engine: Engine, vocabularies: Vocabularies) -> None:
        self.model, self.ours, self.engine = model, ours, engine
        special, sizes = vocabularies.special, (vocabularies.source_size, vocabularies.target_size)
        self.source_ids, self.target_ids = (
            marian_ids(special, size, vocab_size=tokenizer.vocab_size)
            for size, tokenizer in zip(sizes, (ours.source_tokenizer, ours.target_tokenizer), strict=True)
        )
        self.target_rows = our_ids(special, sizes[1])

    def run(self, texts: Sequence[str]) -> Proof:
        """Compare on these texts; those that are too long for the run are left out. Raises UserError without any."""
        encoded = zip(texts, self.ours.source_tokenizer.encode_many(list(texts)), strict=True)
        most = self.ours.max_source_tokens
        taken = sorted((len(source), text, source) for text, source in encoded if 0 < len(source) <= most)
        if not taken:
            raise UserError("no sentences to prove the equality with; give sentences=FILE")
        chosen, sources = [text for _, text, _ in taken], [source for _, _, source in taken]
        theirs_in = [[self.source_ids[token] for token in source] for source in sources]
        ours, theirs = self._both_greedy(sources, theirs_in)
        picks = sorted(set(np.linspace(0, len(sources) - 1, _SENTENCES_WITH_LOGITS).astype(int).tolist()))
        subwords = self.engine.encode(chosen)
        texts_out = [self.engine.decode(tokens) for tokens in theirs]
        return Proof(
            sentences=len(sources),
            largest_logit_difference=float(np.max([self._logit_difference(sources[i], ours[i]) for i in picks])),
            sentences_with_logits=len(picks),
            same_tokens=_share([[self.target_ids[token] for token in tokens] for tokens in ours], theirs),
            same_subwords=None if subwords is None else _share(theirs_in, subwords),
            same_text=None if None in texts_out else _share(self._texts(theirs), texts_out),
        )

    def _both_greedy(
        self, sources: list[list[int]], theirs_in: list[list[int]]
    ) -> tuple[list[list[int]], list[list[int]]]:
        """At the longest length we end every output; the token before it is not compared."""
        ours: list[list[int]] = []
        theirs: list[list[int]] = []
        for start in range(0, len(sources), _BATCH):
            batch = slice(start, start + _BATCH)
            longest = len(sources[batch][-1]) + self.ours.search.max_extra_tokens
            ours += [tokens[: longest - 1] for tokens in self._greedy(sources[batch], longest)]
            theirs += [tokens[: longest - 1] for tokens in self.engine.greedy(theirs_in[batch], longest=longest)]
        return ours, theirs

    def _greedy(self, sources: list[list[int]], longest: int) -> list[list[int]]:
        with torch.inference_mode():
            found = beam_search(
                next_token=CachedDecoder(self.model, source_tensor(sources)),
                beam_size=1,
                length_penalty=0.0,
                length_penalty_form="power",
                max_lengths=torch.full((len(sources),), longest),
                bos=BOS,
                eos=EOS,
                forbidden=self.ours.search.forbidden,
            )
        return [hypotheses[0].tokens for hypotheses in found]

    def _logit_difference(self, source: list[int], target: list[int]) -> float:
        with torch.inference_mode():
            ours: Tensor = self.model(source_tensor([source]), torch.tensor([[BOS, *target]]))[0]
        theirs = self.engine.logits(
            [self.source_ids[token] for token in source], [self.target_ids[token] for token in target]
        )
        return float(np.abs(ours[:, self.target_rows].numpy() - theirs).max())

    def _texts(self, theirs: list[list[int]]) -> list[str]:
        """Our tokenizer's text of the engine's outputs."""
        back = {token: ours for ours, token in reversed(list(enumerate(self.target_ids)))}
        return [self.ours.target_tokenizer.decode(back[token] for token in tokens).strip() for tokens in theirs]


def _share(ours: Sequence[object], theirs: Sequence[object]) -> float:
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)
