"""BLEU with signature and interval: detokenised output against raw references, by sacreBLEU."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sacrebleu
from numpy.typing import NDArray

from mt.errors import UserError

_TOKENIZERS = {
    "zh": "zh",
    "zho": "zh",
    "cmn": "zh",
    "ja": "ja-mecab",
    "jpn": "ja-mecab",
    "ko": "ko-mecab",
    "kor": "ko-mecab",
}
_EXTRAS = {"ja-mecab": "ja", "ko-mecab": "ko"}
_TOKENISED_LINES = 100
_DRAWS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Scores:
    """Scores of a corpus, in points of 0 to 100, each metric with its sacreBLEU signature."""

    sentences: int
    bleu: float
    """Cased BLEU on detokenised text, the number to cite."""
    bleu_low: float
    """Lower end of the 95 % interval of `bleu`, by bootstrap resampling of sentences."""
    bleu_high: float
    """Upper end of the same interval."""
    bleu_signature: str
    chrf: float
    """chrF++ (character 6-grams and word 2-grams)."""
    chrf_signature: str
    bleu_lowercase: float
    """`bleu` without regard to case, as papers on lower-cased corpora report it."""
    bleu_lowercase_signature: str
    bleu_compound_split: float | None
    """The form of the paper's figures: on tokens, hyphenated words split; None unless the tokeniser is 13a."""
    bleu_compound_split_signature: str | None
    warnings: list[str]
    """What makes the scores doubtful, one line each."""


def corpus_scores(
    *,
    hypotheses: Sequence[str],
    references: Sequence[str],
    target_language: str,
    bootstrap_samples: int = 1000,
    seed: int = 12345,
) -> Scores:
    """Score detokenised hypotheses against untouched references, one of each per sentence.

    The tokeniser is sacreBLEU's for the target language: zh, ja-mecab, ko-mecab, else 13a. The defaults of
    `bootstrap_samples` and `seed` are sacreBLEU's, so the interval is the one its `--confidence` prints.

    Raises UserError if the counts differ or are zero, or if the language's tokeniser is not installed.
    """
    _check_counts(hypotheses, references)
    tokenizer = _tokenizer_for(target_language)
    metric = _bleu(tokenizer)
    bleu = metric.corpus_score(hypotheses, [references]).score
    low, high = _interval(metric, hypotheses, references, samples=bootstrap_samples, seed=seed)
    metric.n_bootstrap, metric.seed = bootstrap_samples, seed
    lowercase = _bleu(tokenizer, lowercase=True)
    chrf = sacrebleu.CHRF(word_order=2)
    compound, compound_signature = _compound_split_bleu(metric, hypotheses, references)
    return Scores(
        sentences=len(references),
        bleu=bleu,
        bleu_low=low,
        bleu_high=high,
        bleu_signature=str(metric.get_signature()),
        chrf=chrf.corpus_score(hypotheses, [references]).score,
        chrf_signature=str(chrf.get_signature()),
        bleu_lowercase=lowercase.corpus_score(hypotheses, [references]).score,
        bleu_lowercase_signature=str(lowercase.get_signature()),
        bleu_compound_split=compound,
        bleu_compound_split_signature=compound_signature,
        warnings=_doubts(hypotheses),
    )


def check_scorable(target_language: str) -> None:
    """Raise UserError if the tokeniser of a language is not installed: before hours of work, not after them."""
    _bleu(_tokenizer_for(target_language))


def corpus_bleu(*, hypotheses: Sequence[str], references: Sequence[str], target_language: str) -> float:
    """Return the BLEU of `corpus_scores` alone, which is what a training looks at while it goes."""
    _check_counts(hypotheses, references)
    return float(_bleu(_tokenizer_for(target_language)).corpus_score(hypotheses, [references]).score)


def format_scores(scores: Scores) -> str:
    """Return the scores as lines for people: numbers, interval, signatures, warnings."""
    interval = f"95 % interval {scores.bleu_low:.2f} to {scores.bleu_high:.2f}"
    lines = [
        f"BLEU {scores.bleu:.2f}  ({interval}, {scores.sentences:,} sentences)",
        f"  {scores.bleu_signature}",
        f"chrF++ {scores.chrf:.2f}",
        f"  {scores.chrf_signature}",
        f"BLEU, lower-cased {scores.bleu_lowercase:.2f}",
        f"  {scores.bleu_lowercase_signature}",
    ]
    if scores.bleu_compound_split is not None:
        lines += [
            f"BLEU, paper form {scores.bleu_compound_split:.2f}  (13a tokens, hyphenated words split)",
            f"  {scores.bleu_compound_split_signature}",
        ]
    return "\n".join(lines + [f"WARNING: {warning}" for warning in scores.warnings])


def compare(*, expected_bleu: float, tolerance: float, bleu: float) -> tuple[bool, str]:
    """Return whether BLEU is within `tolerance` points of a recipe's expectation, and one line that says so.

    A score far above does not reproduce it either: something differs from the recipe.
    """
    difference = bleu - expected_bleu
    expectation = f"expected {expected_bleu:.2f} ± {tolerance:.2f}"
    if abs(difference) <= tolerance:
        return True, f"reproduced: BLEU {bleu:.2f}, {expectation}"
    side = "above" if difference > 0 else "below"
    return False, f"NOT reproduced: BLEU {bleu:.2f}, {abs(difference):.2f} {side}; {expectation}"


def _check_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what sacreBLEU's Python interface scores without a word: it stops at the shorter side."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses):,} hypotheses against {len(references):,} references: BLEU needs one of each per"
            " sentence, in the same order"
        )
    if not references:
        raise UserError("nothing to score: there are no sentences")


def _tokenizer_for(target_language: str) -> str:
    return _TOKENIZERS.get(re.split("[-_]", target_language.lower())[0], "13a")


def _bleu(tokenizer: str, *, lowercase: bool = False) -> sacrebleu.BLEU:
    """Return sacreBLEU's metric; `force` only silences its logged warning, which `_doubts` gives instead."""
    try:
        return sacrebleu.BLEU(tokenize=tokenizer, lowercase=lowercase, force=True)
    except RuntimeError as error:
        if tokenizer not in _EXTRAS:
            raise
        extra = _EXTRAS[tokenizer]
        raise UserError(
            f"scoring target language {extra!r} needs sacreBLEU's {tokenizer} tokeniser, which is not installed:"
            f" pip install 'sacrebleu[{extra}]'"
        ) from error


def _interval(
    metric: sacrebleu.BLEU, hypotheses: Sequence[str], references: Sequence[str], *, samples: int, seed: int
) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of BLEU over corpora of sentences drawn with replacement.

    Draws and quantiles are sacreBLEU's own. Counting how often each sentence was drawn, instead of copying its
    statistics at every draw, keeps memory bounded for large corpora.
    """
    statistics = _sentence_statistics(metric, hypotheses, references)
    generator = np.random.default_rng(seed)
    num_sentences = len(statistics)
    at_once = max(1, _DRAWS_AT_ONCE // num_sentences)
    values: list[float] = []
    for start in range(0, samples, at_once):
        count = min(at_once, samples - start)
        draws = generator.choice(num_sentences, size=(count, num_sentences), replace=True)
        cells = draws + np.arange(0, count * num_sentences, num_sentences)[:, None]
        times_drawn = np.bincount(cells.ravel(), minlength=count * num_sentences).reshape(count, num_sentences)
        values += [_bleu_of(total) for total in times_drawn.astype(np.float64) @ statistics]
    values.sort()
    tail = samples // 40
    return values[tail], values[samples - tail - 1]


def _sentence_statistics(
    metric: sacrebleu.BLEU, hypotheses: Sequence[str], references: Sequence[str]
) -> NDArray[np.float64]:
    """Return a row for each sentence: the two lengths, the matches of n-grams 1 to 4, their totals."""
    metric.effective_order = True  # else sacreBLEU logs advice on sentence scores; the counts are the same
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        score = metric.sentence_score(hypothesis, [reference])
        rows.append([score.sys_len, score.ref_len, *score.counts, *score.totals])
    metric.effective_order = False
    return np.array(rows, dtype=np.float64)


def _bleu_of(statistics: NDArray[np.float64]) -> float:
    score = sacrebleu.BLEU.compute_bleu(
        correct=statistics[2:6].tolist(),
        total=statistics[6:10].tolist(),
        sys_len=int(statistics[0]),
        ref_len=int(statistics[1]),
        smooth_method="exp",
    )
    return float(score.score)


def _compound_split_bleu(
    metric: sacrebleu.BLEU, hypotheses: Sequence[str], references: Sequence[str]
) -> tuple[float | None, str | None]:
    """Return BLEU and signature of tokens with `a-b` as `a ##AT##-##AT## b`, as Tensor2Tensor's `get_ende_bleu.sh`.

    That script wants Moses tokens; 13a's differ from them little. It lifts BLEU because the parts of a hyphenated
    word match one by one.
    """
    if metric.tokenizer.signature() != "13a":
        return None, None

    def split(line: str) -> str:
        return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", metric.tokenizer(line.rstrip()))

    form = _bleu("none")
    score = form.corpus_score([split(line) for line in hypotheses], [[split(line) for line in references]]).score
    return score, str(form.get_signature())


def _doubts(hypotheses: Sequence[str]) -> list[str]:
    tokenised = sum(line.endswith(" .") for line in hypotheses)
    if tokenised < _TOKENISED_LINES:
        return []
    return [f"{tokenised:,} hypotheses end in ' .': they look tokenised, but BLEU is defined on detokenised text"]
