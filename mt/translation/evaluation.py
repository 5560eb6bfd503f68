"""BLEU with signature and interval: detokenised output against raw references, by sacreBLEU."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sacrebleu
from sacrebleu.significance import PairedTest

from mt.data.spaces import CHINESE, has_spaces, main_language
from mt.errors import UserError

_TOKENIZERS = {  # where it is neither 13a nor, without spaces between words, char
    **dict.fromkeys(CHINESE, "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
}
_SAMPLES = 1000  # of the bootstrap, as many as sacreBLEU's --confidence draws
_MOST_COUNTS = 80_000_000  # in all samples, which are in memory at once: 320 MB
_BLEU_COUNTS, _CHRF_COUNTS = 10, 24  # that a sentence has


@dataclass(frozen=True)
class Scores:
    """Scores of a corpus, in points of 0 to 100, each metric with its sacreBLEU signature."""

    sentences: int
    exact_match: float
    """The share of hypotheses that equal their reference, in percent: what counts where one answer alone is right."""
    bleu: float
    """Cased BLEU on detokenised text, the number to cite."""
    bleu_low: float
    """Lower end of the 95 % interval of `bleu`, by bootstrap resampling of sentences."""
    bleu_high: float
    """Upper end of the same interval."""
    bleu_signature: str
    chrf: float
    """chrF++ (character 6-grams and word 2-grams)."""
    chrf_low: float
    """Lower end of the 95 % interval of `chrf`."""
    chrf_high: float
    """Upper end of the same interval."""
    chrf_signature: str
    bleu_lowercase: float
    """`bleu` without regard to case, as papers on lower-cased corpora report it."""
    bleu_lowercase_signature: str
    bleu_compound_split: float | None
    """The form of the paper's figures: on tokens, hyphenated words split; None unless the tokeniser is 13a."""
    bleu_compound_split_signature: str | None


def corpus_scores(*, hypotheses: Sequence[str], references: Sequence[str], target_language: str) -> Scores:
    """Score detokenised hypotheses against untouched references, one of each per sentence.

    The tokeniser is sacreBLEU's for the target language: zh, ja-mecab, ko-mecab, char for others that are written
    without spaces, else 13a. The interval is the one that `sacrebleu --confidence` prints, of fewer samples for more
    than 8,000 sentences (for chrF++ 3,333).

    Raises UserError if the counts differ or are zero, or if the language's tokeniser is not installed.
    """
    _check_counts(hypotheses, references)
    tokenizer = _tokenizer_for(target_language)
    metric = _bleu(tokenizer, force=False)  # sacreBLEU warns once of hypotheses that look tokenised
    samples = _samples(len(references), counts=_BLEU_COUNTS)
    bleu = metric.corpus_score(hypotheses, [references], n_bootstrap=samples)
    chrf, chrf_signature = _chrf_with_interval(hypotheses, references)
    lowercase = _bleu(tokenizer, lowercase=True)
    compound, compound_signature = _compound_split_bleu(metric, hypotheses, references)
    return Scores(
        sentences=len(references),
        exact_match=exact_match(hypotheses, references),
        bleu=bleu.score,
        bleu_low=bleu._mean - bleu._ci,
        bleu_high=bleu._mean + bleu._ci,
        bleu_signature=str(metric.get_signature()),
        chrf=chrf.score,
        chrf_low=float(chrf.mean - chrf.ci),
        chrf_high=float(chrf.mean + chrf.ci),
        chrf_signature=chrf_signature,
        bleu_lowercase=lowercase.corpus_score(hypotheses, [references]).score,
        bleu_lowercase_signature=str(lowercase.get_signature()),
        bleu_compound_split=compound,
        bleu_compound_split_signature=compound_signature,
    )


def paired_bootstrap(
    hypotheses: Mapping[str, Sequence[str]], references: Sequence[str], *, target_language: str, samples: int
) -> dict[str, list[Any]]:
    """BLEU and chrF++ of several systems; of all but the first, how often chance would make their difference from it.

    Returns sacreBLEU's `Result` (score, p_value, mean, ci) for each system under each metric's name (Koehn 2004,
    "Statistical Significance Tests for Machine Translation Evaluation"). Raises UserError where counts differ.
    """
    for lines in hypotheses.values():
        _check_counts(lines, references)
    metrics = {"BLEU": _bleu(_tokenizer_for(target_language)), "chrF++": sacrebleu.CHRF(word_order=2)}
    _, results = _paired_test(hypotheses, metrics, references, samples)
    bleu, chrf = (list(of_all) for name, of_all in results.items() if name != "System")
    for baseline, *others in (bleu, chrf):
        for other in others:
            if other.score == baseline.score:  # sacreBLEU counts larger differences alone
                other.p_value = 1.0
    return {"BLEU": bleu, "chrF++": chrf}


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF++ of each sentence."""
    metric = sacrebleu.CHRF(word_order=2)
    return [metric.sentence_score(*pair).score for pair in zip(hypotheses, ([one] for one in references), strict=True)]


def check_scorable(target_language: str) -> None:
    """Raise UserError if the tokeniser of a language is not installed: before hours of work, not after them."""
    _bleu(_tokenizer_for(target_language))


def corpus_bleu(*, hypotheses: Sequence[str], references: Sequence[str], target_language: str) -> float:
    """Return the BLEU of `corpus_scores` alone, which a training uses for validation."""
    _check_counts(hypotheses, references)
    return float(_bleu(_tokenizer_for(target_language)).corpus_score(hypotheses, [references]).score)


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The percentage of hypotheses that equal their reference. Raises UserError if the counts differ or are zero."""
    _check_counts(hypotheses, references)
    return 100 * sum(map(str.__eq__, hypotheses, references)) / len(references)


def format_exact_match(scores: Scores) -> str:
    """Return the exact match as a line for people."""
    right = round(scores.sentences * scores.exact_match / 100)
    return f"exact match {scores.exact_match:.2f} %  ({right:,} of {scores.sentences:,})"


def format_scores(scores: Scores) -> str:
    """Return the scores as lines for people: numbers, interval, signatures."""
    interval = f"95 % interval {scores.bleu_low:.2f} to {scores.bleu_high:.2f}"
    lines = [
        f"BLEU {scores.bleu:.2f}  ({interval}, {scores.sentences:,} sentences)",
        f"  {scores.bleu_signature}",
        f"chrF++ {scores.chrf:.2f}  (95 % interval {scores.chrf_low:.2f} to {scores.chrf_high:.2f})",
        f"  {scores.chrf_signature}",
        f"BLEU, lower-cased {scores.bleu_lowercase:.2f}",
        f"  {scores.bleu_lowercase_signature}",
    ]
    if scores.bleu_compound_split is not None:
        lines += [
            f"BLEU, paper form {scores.bleu_compound_split:.2f}  (13a tokens, hyphenated words split)",
            f"  {scores.bleu_compound_split_signature}",
        ]
    lines.append(format_exact_match(scores))
    return "\n".join(lines)


def _samples(sentences: int, *, counts: int) -> int:
    """How many samples the bootstrap draws of sentences of which a metric keeps so many counts."""
    return max(2, min(_SAMPLES, _MOST_COUNTS // (counts * sentences)))


def _chrf_with_interval(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[Any, str]:
    """Return chrF++ as sacreBLEU's `Result`, and its signature.

    By its test of several systems, because its `corpus_score` fails where some samples score nothing and others do not.
    """
    metrics = {"chrF++": sacrebleu.CHRF(word_order=2)}
    samples = _samples(len(references), counts=_CHRF_COUNTS)
    signatures, results = _paired_test({"own": hypotheses}, metrics, references, samples)
    [result], [signature] = results["chrF2++"], signatures.values()
    return result, str(signature)


def _paired_test(
    systems: Mapping[str, Sequence[str]], metrics: Mapping[str, Any], references: Sequence[str], samples: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    named = [(name, list(lines)) for name, lines in systems.items()]
    logging.getLogger("sacrebleu").setLevel(logging.WARNING)
    return PairedTest(named, metrics, [references], test_type="bs", n_samples=samples)()


def _check_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what sacreBLEU's Python interface scores silently: it stops at the shorter side."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses):,} hypotheses against {len(references):,} references: BLEU needs one of each per"
            " sentence, in the same order"
        )
    if not references:
        raise UserError("nothing to score: there are no sentences")


def _tokenizer_for(target_language: str) -> str:
    usual = "13a" if has_spaces(target_language) else "char"
    return _TOKENIZERS.get(main_language(target_language), usual)


def _bleu(tokenizer: str, *, lowercase: bool = False, force: bool = True) -> sacrebleu.BLEU:
    """Return sacreBLEU's metric; `force` silences its warning of tokenised text, which is the paper form's input."""
    try:
        return sacrebleu.BLEU(tokenize=tokenizer, lowercase=lowercase, force=force)
    except RuntimeError as error:
        if not tokenizer.endswith("-mecab"):
            raise
        extra = tokenizer.removesuffix("-mecab")
        raise UserError(
            f"scoring target language {extra!r} needs sacreBLEU's {tokenizer} tokeniser, which is not installed:"
            f" pip install 'sacrebleu[{extra}]'"
        ) from error


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
