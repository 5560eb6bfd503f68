"""How much a translation suffers from what people type: a text clean and changed, scored, and copied words counted."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mt.data.augmentation import end_marks, inserted, title_case, typo, upper_case
from mt.data.untranslatable import token
from mt.reporting import report
from mt.runs.folder import ROBUSTNESS_LINES, ROBUSTNESS_PICTURE, ROBUSTNESS_TABLE
from mt.runs.metrics import png
from mt.translation.copied import is_copied, left_out
from mt.translation.evaluation import corpus_scores
from mt.translation.scoring import save_scores

Translate = Callable[[list[str]], list[str]]
Pairs = Sequence[tuple[str, str]]
Copied = Mapping[str, tuple[int, int]]  # of each kind of token the number that came out exactly, and that of all

COUNTED = ("URLs", "numbers", "e-mail addresses", "emoji")
_WITH_TOKENS = 500  # sentences, from the first
_TO_COPY = "a word to copy"


def score_robustness(
    folder: Path, translate: Translate, pairs: Pairs, *, languages: tuple[str, str], about: Mapping[str, object]
) -> str:
    """Translate a text clean and changed; print and return a table of scores, saved with a picture and all sentences.

    Capitals and missing end marks are in the references too. Tokens that were inserted and copied are left out again
    before the rest of the sentence is scored. Raises DiskError.
    """
    tokens = [_token(number, source) for number, (source, _) in enumerate(pairs[:_WITH_TOKENS])]
    rows: list[dict[str, Any]] = []
    lines, clean, outputs = "", list[str](), list[str]()
    for name, changed in _changed(pairs, tokens, languages).items():
        report(f"translating {len(changed):,} sentences: {name}")
        outputs = translate([source for source, _ in changed])
        clean = clean or outputs
        scored = list(map(left_out, tokens, outputs)) if name == _TO_COPY else outputs
        own = _scores(scored, changed, languages[1])
        before = rows[0]["clean"] if rows else own
        if len(changed) < len(pairs):
            before = _scores(clean[: len(changed)], pairs[: len(changed)], languages[1])
        rows.append({"text": name, "sentences": len(changed), **own, "clean": before})
        for (source, reference), output in zip(changed, outputs, strict=True):
            line = {"text": name, "source": source, "reference": reference, "translation": output}
            lines += json.dumps(line, ensure_ascii=False) + "\n"
    right = list(map(is_copied, tokens, outputs))
    kinds = {kind: right[number :: len(COUNTED)] for number, kind in enumerate(COUNTED[: len(tokens)])}
    copied = {kind: (sum(each), len(each)) for kind, each in kinds.items()}
    table, values = format_table(rows, copied), {**about, "texts": rows, "copied": copied}
    files = {ROBUSTNESS_TABLE: f"{table}\n".encode(), ROBUSTNESS_PICTURE: _picture(rows, copied)}
    save_scores(folder, values, table, **files, **{ROBUSTNESS_LINES: lines.encode()})
    return table


def _changed(pairs: Pairs, tokens: Sequence[str], languages: tuple[str, str]) -> dict[str, Pairs]:
    """The text clean and under each change, that with words to copy last."""
    texts: dict[str, Pairs] = {"clean": pairs}
    for name, case in (("upper case", upper_case), ("title case", title_case)):
        texts[name] = [(case(source, languages[0]), case(target, languages[1])) for source, target in pairs]
    texts["no end punctuation"] = [end_marks(*pair, times=0) for pair in pairs]
    drawn = ((random.Random(f"typo {number}"), *pair) for number, pair in enumerate(pairs))
    texts["one typo a sentence"] = [(typo(source, chance, languages[0]), target) for chance, source, target in drawn]
    texts[_TO_COPY] = [
        (inserted(source, word, share=random.Random(word).random()), target)
        for word, (source, target) in zip(tokens, pairs, strict=False)
    ]
    return texts


def _token(number: int, source: str) -> str:
    """A token of the kind whose turn it is, which the sentence does not have."""
    chance, kind = random.Random(f"token {number}"), COUNTED[number % len(COUNTED)]
    word = token([kind], source, chance)
    while is_copied(word, source):
        word = token([kind], source, chance)
    return word


def _scores(hypotheses: Sequence[str], pairs: Pairs, language: str) -> dict[str, Any]:
    """BLEU and chrF++ with signatures."""
    references = [reference for _, reference in pairs]
    scores = corpus_scores(hypotheses=hypotheses, references=references, target_language=language)
    return {name: getattr(scores, name) for name in ("bleu", "chrf", "bleu_signature", "chrf_signature")}


def format_table(rows: Sequence[Mapping[str, Any]], copied: Copied) -> str:
    """The scores in Markdown, with the differences from the same sentences clean, and the copied tokens."""
    lines = ["| text | sentences | BLEU | from clean | chrF++ | from clean |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = (f"{row[name]:.2f} | {row[name] - row['clean'][name]:+.2f}" for name in ("bleu", "chrf"))
        lines.append(f"| {row['text']} | {row['sentences']:,} | {' | '.join(cells)} |")
    right, number = (sum(counts) for counts in zip(*copied.values(), strict=True))
    kinds = ", ".join(f"{kind} {one} of {all_}" for kind, (one, all_) in copied.items())
    lines += ["", "Each difference is from the same sentences clean."]
    lines += ["", f"Copied exactly: {right} of {number} ({right / number:.1%}): {kinds}.", ""]
    return "\n".join([*lines, f"{rows[0]['bleu_signature']}, {rows[0]['chrf_signature']}"])


def _picture(rows: Sequence[Mapping[str, Any]], copied: Copied) -> bytes:
    """Bars of BLEU, and of the share of tokens that were copied."""
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and needed once

    figure = Figure(figsize=(11, 4), layout="constrained")
    names, bleu = [row["text"] for row in rows], [row["bleu"] for row in rows]
    differences = [f"{row['bleu']:.1f} ({row['bleu'] - row['clean']['bleu']:+.1f})" for row in rows]
    shares = [100 * right / number for right, number in copied.values()]
    for axes, bars, values, labels, title in zip(
        figure.subplots(1, 2),
        (names, list(copied)),
        (bleu, shares),
        (differences, [f"{share:.1f}" for share in shares]),
        ("BLEU (difference from the same sentences clean)", "copied exactly (%)"),
        strict=True,
    ):
        axes.bar_label(axes.barh(bars, values), labels, padding=3)
        axes.set_xlabel(title)
        axes.invert_yaxis()
        axes.margins(x=0.3)
    return png(figure)
