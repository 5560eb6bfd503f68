"""The doctor's findings in words, worst first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mt.data.spaces import main_language
from mt.data.text_cache import SIDES
from mt.doctor.checks import CHECKS, LEAK, OTHER_LANGUAGE
from mt.doctor.examination import Examination, Examined
from mt.doctor.languages import LITTLE_WORDS, looks_like_other
from mt.doctor.shifts import Shift

LEAST_COUNT = 3  # of suspects; a short sentence or two recurs by chance
LEAST_CORRELATION, LEAST_CORRELATED_PAIRS, LEAST_SPREAD = 0.3, 200, 0.1  # the spread is a share of the mean
MOST_SHIFTS = 10  # of a corpus that are named: the first must be fixed first
LISTED_LINES = 5
LEAST_LENGTH_FACTOR, LEAST_LENGTHS = 1.25, 50  # between the mean lengths of two splits


@dataclass(frozen=True)
class Finding:
    """One thing that is probably wrong, as a sentence for the reader."""

    kind: str
    split: str
    corpus: str
    message: str


def findings(examination: Examination, *, declared: tuple[str, str]) -> list[Finding]:
    """Return what is wrong, worst first: sides apart, languages, lengths, then the suspects in the order of `CHECKS`.

    `declared` are the configured codes of the source and the target language. Where the sides of the training data are
    swapped, the held-out splits, which differ from it, are right.
    """
    corpora = examination.corpora
    found = [Finding("misalignment", one.split, one.name, message) for one in corpora for message in _apart(one)]
    swapped = False
    sides = list(zip(SIDES, examination.languages, declared, strict=True))
    for (side, codes, code), (_, codes_there, there) in zip(sides, reversed(sides), strict=True):
        expected, other = main_language(code), main_language(there)
        is_other = looks_like_other(codes, codes_there, own=expected, other=other)
        if is_other or (codes and expected not in codes and expected in LITTLE_WORDS):
            swapped = swapped or is_other
            message = f"the {side} side looks like {' or '.join(codes)}, but data.{side}_language is {code}"
            found.append(Finding("language", "train", "all", message))
    found += [Finding("length", one.split, one.name, message) for one, message in _other_lengths(corpora)]
    for kind in CHECKS:
        for one in corpora:
            if kind == OTHER_LANGUAGE and swapped and one.split != "train":
                continue
            found += [Finding(kind, one.split, one.name, message) for message in _suspects(one, kind, examination)]
    return found


def _apart(one: Examined) -> list[str]:
    """The sides of a corpus do not belong together, either from some line on or anywhere."""
    messages = []
    if one.source_lines != one.target_lines:
        counts = f"the source side has {one.source_lines:,} lines and the target side {one.target_lines:,}"
        messages.append(f"{counts}: training will refuse it")
    messages += [_shift_sentence(shift) for shift in one.shifts[:MOST_SHIFTS]]
    spread = one.lengths.std(axis=1) - LEAST_SPREAD * one.lengths.mean(axis=1)
    varied = one.lengths.shape[1] >= LEAST_CORRELATED_PAIRS and spread.min() > 0
    if varied and not messages and one.correlation < LEAST_CORRELATION:
        messages.append(f"the lengths of the two sides hardly correlate ({one.correlation:.2f}): the right files?")
    return messages


def _other_lengths(corpora: Sequence[Examined]) -> Iterator[tuple[Examined, str]]:
    """Yield the held-out corpora whose pairs are much longer or shorter than those of the training data."""
    training = np.concatenate([one.lengths for one in corpora if one.split == "train"], axis=1)
    for one in corpora:
        if min(one.lengths.shape[1], training.shape[1]) < LEAST_LENGTHS:
            continue
        here, there = one.lengths.sum(axis=0).mean(), training.sum(axis=0).mean()
        if max(here, there) > LEAST_LENGTH_FACTOR * min(here, there):
            lengths = f"a pair has {here:.0f} characters on average and {there:.0f} in the training data"
            yield one, f"{lengths}: hold out pairs of the shuffled corpus, or train on text of this kind too"


def _shift_sentence(shift: Shift) -> str:
    change = shift.shift - shift.before
    lines = "one line" if abs(change) == 1 else f"{abs(change)} lines"
    missing, extra = ("target", "source") if change < 0 else ("source", "target")
    return (
        f"line {shift.line:,}: the two sides seem shifted from about here on: {lines} missing on the {missing} "
        f"side, or too many on the {extra} side; fix this first, other counts after it mean little"
    )


def _suspects(one: Examined, kind: str, examination: Examination) -> Iterator[str]:
    """Yield a sentence for each side on which there are many suspects of a kind."""
    pairs, check = one.lengths.shape[1], CHECKS[kind]
    for (_, side), lines in ((key, lines) for key, lines in one.suspects.items() if key[0] == kind):
        count, total = len(lines), pairs
        if kind == LEAK:
            count, total = len(one.leaked[side]), examination.sizes[side]
        if count >= max(LEAST_COUNT, check.share * total):
            of = f"lines ({100 * len(lines) / pairs:.1f} %) of the {side} side"
            if side not in SIDES:
                of = f"pairs ({100 * len(lines) / pairs:.1f} %)"
            listed = ", ".join(f"{line:,}" for line in lines[:LISTED_LINES])
            more = " ..." if len(lines) > LISTED_LINES else ""
            advice = f"; training drops them ({check.option})" if check.option and one.split == "train" else ""
            yield f"{len(lines):,} {of} {check.what.format(split=side)}: {listed}{more}{advice}"
