"""Whether another engine, given what was written for it, computes the same: logits, tokens, subwords and text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

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
from mt.reporting import Progress
from mt.runs.folder import held_out_text
from mt.search.beam import beam_search
from mt.translation.translator import Translator

LARGEST_LOGIT_DIFFERENCE = 1e-4
SMALLEST_EQUAL_SHARE = 0.999
_SENTENCES = 1000
_SENTENCES_WITH_LOGITS = 32
_BATCH = 50

Engine = HuggingFaceEngine | CTranslate2Engine


@dataclass(frozen=True)
class Proof:
    """What was compared; `same` has the shares of sentences with equal tokens, subwords and texts."""

    sentences: int
    same: Mapping[str, float]
    largest_logit_difference: float

    def check(self, what: str) -> None:
        """Raises UserError when what was compared is not equal enough."""
        unequal = [f"{name} are the same in only {x:.2%}" for name, x in self.same.items() if x < SMALLEST_EQUAL_SHARE]
        if not self.largest_logit_difference <= LARGEST_LOGIT_DIFFERENCE:  # NaN fails too
            unequal = [f"logits differ by up to {self.largest_logit_difference:.2g}"]
        if unequal:
            raise UserError(f"{what} is not equal to the model: its {unequal[0]}; nothing was written")

    def __str__(self) -> str:
        same = (f"the same {name} in {x:.2%} of {self.sentences:,} sentences" for name, x in self.same.items())
        return f"{', '.join(same)}, logits within {self.largest_logit_difference:.1e}"


def proof_sentences(run_dir: Path, sentences: str | None) -> list[str]:
    """1,000 real sentences: of a file, else of the run's validation and test text, else of the built-in corpus."""
    files = [held_out_text(run_dir, split, "source") for split in ("validation", "test")]
    paths = [sentences] if sentences is not None else [str(path) for path in files if path.is_file()]
    if not paths:
        return [source for source, _ in islice(builtin_corpus("validation").pairs(), _SENTENCES)]
    return list(islice((line for path in paths for line in read_lines(path) if line.strip()), _SENTENCES))


def prove(
    model: Transformer, translator: Translator, engine: Engine, *, vocabularies: Vocabularies, texts: Sequence[str]
) -> Proof:
    """Compare on these texts; those that are too long for the run are left out. Raises UserError without any."""
    tokenizer, target_tokenizer = translator.source_tokenizer, translator.target_tokenizer
    special, size = vocabularies.special, vocabularies.target_size
    source_ids = marian_ids(special, vocabularies.source_size, vocab_size=tokenizer.vocab_size)
    target_ids = marian_ids(special, size, vocab_size=target_tokenizer.vocab_size)
    our_targets = our_ids(special, size)
    encoded = zip(tokenizer.encode_many(list(texts)), texts, strict=True)
    taken = [(source, text) for source, text in encoded if 0 < len(source) <= translator.max_source_tokens]
    if not taken:
        raise UserError("no sentences to prove the equality with; give sentences=FILE")
    taken.sort(key=lambda pair: len(pair[0]))
    sources = [source for source, _ in taken]
    their_sources = [[source_ids[token] for token in source] for source in sources]
    outputs, their_outputs = [], []
    progress = Progress("comparing translations", total=len(sources), unit="sentences")
    for start in range(0, len(sources), _BATCH):
        batch = slice(start, start + _BATCH)
        longest = len(sources[batch][-1]) + translator.search.max_extra_tokens
        # At the longest length we end every output; the token before it is not compared.
        outputs += [tokens[: longest - 1] for tokens in _greedy(model, translator, sources[batch], longest=longest)]
        their_outputs += [tokens[: longest - 1] for tokens in engine.greedy(their_sources[batch], longest=longest)]
        progress.reach(len(outputs))
    progress.close()
    mapped = [[target_ids[token] for token in output] for output in outputs]
    same = {"tokens": share(mapped, their_outputs)}
    if isinstance(engine, HuggingFaceEngine):  # CTranslate2 takes and gives subwords
        same["subwords"] = share(their_sources, engine.encode([text for _, text in taken]))
        decoded = [target_tokenizer.decode(our_targets[token] for token in output) for output in their_outputs]
        same["texts"] = share([text.strip() for text in decoded], [engine.decode(output) for output in their_outputs])
    differences = []
    for i in np.linspace(0, len(sources) - 1, min(len(sources), _SENTENCES_WITH_LOGITS)).astype(int):
        with torch.inference_mode():
            logits = model(source_tensor([sources[i]]), torch.tensor([[BOS, *outputs[i]]]))[0, :, our_targets].numpy()
        differences.append(np.abs(logits - engine.logits(their_sources[i], mapped[i])).max())
    return Proof(len(sources), same, float(np.max(differences)))


def _greedy(model: Transformer, translator: Translator, sources: list[list[int]], *, longest: int) -> list[list[int]]:
    with torch.inference_mode():
        found = beam_search(
            next_token=CachedDecoder(model, source_tensor(sources)),
            beam_size=1,
            length_penalty=0.0,
            length_penalty_form="power",
            max_lengths=torch.full((len(sources),), longest),
            bos=BOS,
            eos=EOS,
            forbidden=translator.search.forbidden,
        )
    return [hypotheses[0].tokens for hypotheses in found]


def share(ours: Sequence[object], theirs: Sequence[object]) -> float:
    """The share of equal entries."""
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)
