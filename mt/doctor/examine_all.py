"""The whole examination: learn the two languages, read every corpus once, and return the findings."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import compress

import numpy as np

from mt.data.corpus import Corpus
from mt.data.filters import HeldOut, normalise
from mt.data.tokenizer import Tokenizer
from mt.doctor.examination import Examined, Examiner
from mt.doctor.findings import Finding, findings, proposals
from mt.doctor.languages import learn_languages
from mt.doctor.reading import Excerpt, count_sides, read_blocks, sample_pairs
from mt.reporting import Progress

SAMPLE_PAIRS = 30_000  # for what need not see every line: the languages, and the subwords


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found in all corpora of a training; `subwords` are sampled lengths by side, where known."""

    examined: list[Examined]
    findings: list[Finding]
    proposals: list[tuple[str, str]]
    subwords: list[np.ndarray] | None


def diagnose(
    splits: Mapping[str, Sequence[Corpus]],
    *,
    languages: tuple[str, str],
    max_length_ratio: float,
    tokenizers: tuple[Tokenizer, Tokenizer] | None,
) -> Diagnosis:
    """Examine the corpora of each split (`train`, and `validation` and `test` where given).

    `languages` are the codes of the source and the target language. Raises UserError for a corpus that cannot be
    read; sides of unequal length are a finding.
    """
    lines = {split: [count_sides(corpus) for corpus in corpora] for split, corpora in splits.items()}
    sizes = {split: sum(map(min, counts)) for split, counts in lines.items()}
    sample = sample_pairs(splits["train"], total=sizes["train"], most=SAMPLE_PAIRS)
    distinct = [normalise(source) != normalise(target) for source, target in zip(*sample, strict=True)]
    sources, targets = (list(compress(side, distinct)) for side in sample)
    learned = learn_languages(sources, targets)
    held_out = HeldOut()
    for split in splits.keys() - {"train"}:
        _add(held_out, split, splits[split])
    examined = []
    with closing(Progress("examining the corpora", total=sum(sizes.values()), unit="pairs")) as progress:
        for split, corpora in splits.items():
            searched = held_out if split == "train" else HeldOut()
            examiner = Examiner(languages=learned, held_out=searched, max_length_ratio=max_length_ratio)
            for corpus, counts in zip(corpora, lines[split], strict=True):
                found = examiner.examine(corpus, split=split, lines=counts, progress=progress)
                if isinstance(corpus, Excerpt):
                    found.number_lines(corpus.line_number)
                examined.append(found)
    subwords = None
    if tokenizers is not None:
        subwords = [one.encode_lines(side)[0] for one, side in zip(tokenizers, sample, strict=True)]
    longest = None if subwords is None else int(np.quantile(np.concatenate(subwords), 0.999))
    return Diagnosis(
        examined=examined,
        findings=findings(examined, languages=learned, declared=languages, sizes=sizes),
        proposals=proposals(examined, longest_subwords=longest),
        subwords=subwords,
    )


def _add(held_out: HeldOut, split: str, corpora: Sequence[Corpus]) -> None:
    for corpus in corpora:
        first_number = 1
        for block in read_blocks(corpus):
            held_out.add(split, zip(*block, strict=True), first_number=first_number)
            first_number += len(block[0])
