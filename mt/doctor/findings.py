"""The doctor's findings in words, worst first, and the settings it proposes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mt.doctor.damage import DAMAGE, MOJIBAKE
from mt.doctor.examination import BLANK, COPY, DUPLICATE, LEAK, LENGTH_RATIO, OTHER_LANGUAGE, SIDES, Examined
from mt.doctor.languages import NAMES, SideLanguages

# Shares of a corpus' pairs, or lines of a side, from which on a count is a finding. Every real corpus has some.
FINDING_SHARES = {
    **dict.fromkeys(DAMAGE, 0.0005),
    BLANK: 0.001,
    COPY: 0.005,
    DUPLICATE: 0.05,
    LENGTH_RATIO: 0.01,
    OTHER_LANGUAGE: 0.01,
}
UNSEEN_SHARE = 0.001  # of the characters of a held-out split
LEAKED_SHARE = 0.001  # of the pairs of a held-out split; a short sentence or two recurs by chance
LEAST_COUNT = 3
LEAST_CORRELATION, LEAST_CORRELATED_PAIRS = 0.3, 200
MOST_SHIFTS = 10  # of a corpus that are named one by one
RATIO_CHOICES = (2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
KEPT_SHARE = 0.997
LARGE_ALPHABET = 1500  # characters, from which on the rarest should be spelled in bytes

Languages = tuple[SideLanguages, SideLanguages] | None


@dataclass(frozen=True)
class Finding:
    """One thing that is probably wrong: a sentence for the reader, and the numbers in it."""

    kind: str
    split: str
    corpus: str
    message: str
    count: int


def findings(
    examined: Sequence[Examined], *, languages: Languages, declared: tuple[str, str], sizes: dict[str, int]
) -> list[Finding]:
    """Return what is wrong, worst first: sides apart, leaks, languages, encoding, then what the filters remove.

    `declared` are the configured language codes and `sizes` the pairs of each split.
    """
    found = [finding for one in examined for finding in (*_apart(one), *_leaks(one, sizes))]
    found += _named_otherwise(languages, declared)
    found += [finding for one in examined for finding in (*_lines(one, languages), *_pairs(one))]
    return found + _unseen(examined)


def _apart(one: Examined) -> list[Finding]:
    """The sides of a corpus do not belong together, either from some line on or anywhere."""

    def finding(message: str, count: int) -> Finding:
        return Finding("misalignment", one.split, one.name, message, count)

    found = []
    if one.source_lines != one.target_lines:
        counts = f"the source side has {one.source_lines:,} lines and the target side {one.target_lines:,}"
        found.append(finding(f"{counts}: training will refuse it", abs(one.source_lines - one.target_lines)))
    shifts = _shift_sentences(one)
    found += [finding(message, count) for message, count in shifts[:MOST_SHIFTS]]
    if len(shifts) > MOST_SHIFTS:
        found.append(finding(f"and {len(shifts) - MOST_SHIFTS:,} more shifts of the two sides", len(shifts)))
    for first, last in one.alignment.unrelated:
        message = f"lines {first:,} to {last:,}: the lengths of the two sides have nothing in common"
        found.append(finding(message, last - first + 1))
    varied = bool(one.pairs >= LEAST_CORRELATED_PAIRS and (one.lengths.std(axis=1) > 0).all())
    if varied and not found and one.alignment.correlation < LEAST_CORRELATION:
        message = f"the lengths of the two sides hardly correlate ({one.alignment.correlation:.2f}): the right files?"
        found.append(finding(message, one.pairs))
    return found


def _shift_sentences(one: Examined) -> list[tuple[str, int]]:
    """Return a sentence and the number of pairs for each shift; one that ends again has one sentence."""
    shifts, sentences = list(one.alignment.shifts), []
    while shifts:
        shift = shifts.pop(0)
        if shift.before == 0 and shifts and shifts[0].shift == 0:
            end = shifts.pop(0).line
            by = f"source line i seems to belong to target line i {shift.shift:+d}"
            message = f"lines {shift.line:,} to about {end:,}: the two sides are shifted: {by}"
            sentences.append((message, end - shift.line))
            continue
        change = shift.shift - shift.before
        lines = "one line" if abs(change) == 1 else f"{abs(change)} lines"
        missing, extra = ("target", "source") if change < 0 else ("source", "target")
        message = (
            f"line {shift.line:,}: the two sides seem shifted from about here on: {lines} missing on the {missing} "
            f"side, or too many on the {extra} side; fix this first, other counts after it mean little"
        )
        sentences.append((message, max(0, one.pairs - shift.line + 1)))
    return sentences


def _leaks(one: Examined, sizes: dict[str, int]) -> list[Finding]:
    found = []
    for split, numbers in one.leaked_from.items():
        if len(numbers) >= max(LEAST_COUNT, LEAKED_SHARE * sizes[split]):
            lines = sum(split in suspect.note for suspect in one.suspects if suspect.kind == LEAK)
            message = (
                f"{lines:,} pairs are {split} pairs ({len(numbers):,} of its {sizes[split]:,}), "
                "case, spaces and punctuation aside"
            )
            found.append(Finding(LEAK, one.split, one.name, message, lines))
    return found


def _named_otherwise(languages: Languages, declared: tuple[str, str]) -> list[Finding]:
    found = []
    for side, named, code in zip(SIDES, languages or (), declared, strict=False):
        expected = NAMES.get(code.lower()[:2])
        if expected and named.name and expected not in named.name:
            message = f"the {side} side looks like {named.name}, but data.{side}_language is {code}"
            found.append(Finding("language", "train", "all", message, 1))
    return found


def _lines(one: Examined, languages: Languages) -> list[Finding]:
    found = []
    for index, (name, side) in enumerate(zip(SIDES, one.sides(), strict=True)):
        for kind, count in side.counts.items():
            if not _many(count, one.pairs, kind):
                continue
            what = f"hold a {kind}: their encoding was damaged"
            if kind == MOJIBAKE:
                what = 'are mojibake ("Ã¤" for "ä"): UTF-8 that was read in another encoding'
            if kind == OTHER_LANGUAGE:
                other = (languages and languages[index].other_side_name) or "the other side's language"
                what = f"look like {other}: untranslated, or the sides swapped"
            lines = [f"{suspect.line:,}" for suspect in one.suspects if (suspect.kind, suspect.side) == (kind, name)]
            share = f"{count:,} lines ({100 * count / one.pairs:.1f} %) of the {name} side"
            message = f"{share} {what}; lines {', '.join(lines[:5])} ..."
            found.append(Finding(kind, one.split, one.name, message, count))
    return found


def _pairs(one: Examined) -> list[Finding]:
    words = {
        BLANK: "have a blank side",
        COPY: "repeat the source as the target",
        DUPLICATE: "occurred before, word for word",
        LENGTH_RATIO: "differ in length beyond data.filters.max_length_ratio",
    }
    return [
        Finding(kind, one.split, one.name, f"{count:,} pairs ({100 * count / one.pairs:.1f} %) {words[kind]}", count)
        for kind, count in one.counts.items()
        if kind in words and _many(count, one.pairs, kind)
    ]


def _many(count: int, total: int, kind: str) -> bool:
    return count >= max(LEAST_COUNT, FINDING_SHARES[kind] * total)


def unseen_characters(examined: Sequence[Examined], one: Examined, index: int) -> list[tuple[str, int]]:
    """Return the characters of one side of a held-out split that training has not, with their counts, most first."""
    known = sum(other.sides()[index].code_points for other in examined if other.split == "train")
    unseen = np.flatnonzero((one.sides()[index].code_points > 0) & (known == 0))
    counted = [(chr(code), int(one.sides()[index].code_points[code])) for code in unseen.tolist()]
    return sorted(counted, key=lambda entry: -entry[1])


def _unseen(examined: Sequence[Examined]) -> list[Finding]:
    found = []
    for one in examined:
        for index, name in enumerate(SIDES if one.split != "train" else ()):
            unseen = unseen_characters(examined, one, index)
            count = sum(times for _, times in unseen)
            if count >= max(LEAST_COUNT, UNSEEN_SHARE * one.sides()[index].characters):
                listed = " ".join(character for character, _ in unseen[:20])
                message = f"{count:,} characters of the {name} side never occur in training: {listed}"
                found.append(Finding("unseen characters", one.split, one.name, message, count))
    return found


def proposals(examined: Sequence[Examined], *, longest_subwords: int | None) -> list[tuple[str, str]]:
    """Return overrides for training with the reason for each.

    `longest_subwords` is the length that 99.9 percent of the sentences do not exceed, None without a tokenizer.
    """
    train = [one for one in examined if one.split == "train"]
    needed = np.concatenate([one.needed_ratios for one in train])
    ratio = next((choice for choice in RATIO_CHOICES if (needed <= choice).mean() >= KEPT_SHARE), RATIO_CHOICES[-1])
    totals = {kind: sum(one.counts[kind] for one in train) for kind in train[0].counts}
    dropped = int((needed > ratio).sum())
    proposed = [
        ("data.filters.max_length_ratio=" + f"{ratio:g}", f"drops {dropped:,} of {len(needed):,} pairs"),
        ("data.filters.remove_copies=true", f"drops {totals[COPY]:,} pairs"),
        ("data.filters.remove_duplicates=true", f"drops {totals[DUPLICATE]:,} pairs"),
        ("data.filters.remove_held_out=true", f"drops {totals[LEAK]:,} pairs"),
    ]
    if longest_subwords is not None:
        limit = max(64, -(-longest_subwords // 32) * 32)
        proposed.append((f"data.filters.max_tokens={limit}", f"99.9 % of sentences have at most {longest_subwords}"))
    alphabet = sum(side.code_points for one in train for side in one.sides())
    if np.count_nonzero(alphabet) > LARGE_ALPHABET:
        reason = f"{np.count_nonzero(alphabet):,} characters: the rarest are spelled in bytes"
        proposed.append(("tokenizer.character_coverage=0.9995", reason))
    return proposed
