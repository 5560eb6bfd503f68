"""Filters on training pairs: each reason on both of its sides, counts that add up, duplicates found in any order."""

import random

import pytest

from mt.data.filters import (
    REASONS,
    FilterReport,
    FilterSettings,
    HeldOut,
    LearnedScore,
    PairFilter,
    is_copy,
    is_length_outlier,
    normalise,
)

Pair = tuple[str, str]


def filter_pairs(
    pairs: list[Pair], held_out: HeldOut | None = None, learned: LearnedScore | None = None, **changed: bool
) -> tuple[list[Pair], PairFilter]:
    on = {"remove_copies": True, "remove_duplicates": True, "remove_held_out": True, **changed}
    settings = FilterSettings(max_length_ratio=3.0, **on)
    pair_filter = PairFilter(settings=settings, held_out=held_out or HeldOut(), learned=learned)
    kept: list[Pair] = []
    for first in range(0, len(pairs), 7):
        kept += pair_filter.keep(pairs[first : first + 7], corpus="c", first_number=first + 1)
    return kept, pair_filter


def test_each_pair_is_counted_once_under_its_reason() -> None:
    pairs = {
        "kept": ("Ein Hund bellt laut.", "A dog barks loudly."),
        "blank side": ("Ein Hund", " \u3000\t"),
        "copy of the source": ("See www.debian.org for help!", "see www.debian.org for help"),
        "length ratio": ("Ein Hund bellt.", "A dog barks, " * 8),
        "in validation or test": ("Wer ist da?", "Who is there?"),
        "pair score": ("Eine Katze schläft.", "A dog barks."),
    }
    held_out = HeldOut()
    held_out.add("test", [("WER ist da", "Who is there ...")], first_number=1)
    scored: list[Pair] = []
    learned = LearnedScore(score=lambda block: scored.extend(block) or [0.5, 0.49], minimum=0.5, fingerprint="")
    kept, pair_filter = filter_pairs([*pairs.values(), pairs["kept"]], held_out, learned)
    assert scored == [pairs["kept"], pairs["pair score"]]
    assert kept == [pairs["kept"]]
    report = pair_filter.report(held_out={"test": 1})
    assert report.dropped == dict.fromkeys(REASONS, 1)
    assert (report.read, report.kept) == (7, 1)


def test_vowel_signs_tell_words_apart_and_marks_of_punctuation_do_not() -> None:
    assert normalise("दान") != normalise("दिन")
    assert normalise("กา") != normalise("กี")
    assert normalise("“Ça va”, dit-il\u0301.") == normalise("ça va dit_il\u0301")


@pytest.mark.parametrize(
    ("source", "target", "copied"),
    [
        ("The man is here.", "the man, is here", True),
        ("Ｆｕｌｌ width letters", "full width LETTERS", True),
        ("Straße nach München", "STRASSE NACH MÜNCHEN", True),
        ("従古人之言来流老人之變若云水曽名尓負瀧之瀬", "従古人之言来流老人之變若云水曽名尓負瀧之瀬", True),
        ("Microsoft Windows", "Microsoft Windows", False),
        ("Angela Merkel", "Angela Merkel", False),
        ("京都", "京都", False),
        ("12.03.2024 – 14.05.2024 (3 + 4 = 7)", "12.03.2024 – 14.05.2024 (3 + 4 = 7)", False),
        ("... --- ...", "?!", False),
        ("The man is here.", "The man was here.", False),
    ],
)
def test_copies(source: str, target: str, copied: bool) -> None:
    assert is_copy(source, normalise(source), normalise(target)) == copied


@pytest.mark.parametrize(
    ("source", "target", "outlier"),
    [
        ("Oh!", "Ach du meine Güte!", False),  # short sides differ for good reasons
        ("Tom jumped bail.", "Tom erschien nach der Freilassung auf Kaution nicht mehr zur Verhandlung.", True),
        ("金閣寺は京都にある。", "Kinkaku-ji Temple is in the city of Kyoto.", False),  # 10 characters for 42
        ("京" * 50, "Kyoto " * 30, False),  # 50 characters for 180, which count as 150
        ("Born free and equal. " * 8, "பிறப்பால் சமமானவர்கள். " * 11, False),  # 3.9 times as many bytes
        ("人人生而自由。" * 6, "လူတိုင်းသည် တူညီ လွတ်လပ်သော " * 9, False),  # 5.8 times as many characters
        ("京" * 50, "Kyoto " * 90, True),
        ("x" * 100, "y" * 33, False),
        ("x" * 120, "y" * 33, True),
        ("y" * 33, "x" * 120, True),
    ],
)
def test_length_ratio(source: str, target: str, outlier: bool) -> None:
    assert is_length_outlier(source, target, max_length_ratio=3.0) == outlier


def test_a_filter_that_is_off_neither_drops_nor_shows() -> None:
    pairs = [("the very same text", "the very same text")] * 3
    kept, pair_filter = filter_pairs(pairs, remove_copies=False, remove_duplicates=False, remove_held_out=False)
    assert kept == pairs
    assert list(pair_filter.report(held_out={}).dropped) == ["blank side", "length ratio"]


def test_duplicates_are_exact_pairs_and_the_first_stays() -> None:
    random_numbers = random.Random(3)
    pairs = [(f"Satz {random_numbers.randrange(40)}", f"sentence {random_numbers.randrange(40)}") for _ in range(3000)]
    pairs += [("Satz 1 ", "sentence 1"), ("Satz 1", " sentence 1"), ("a\tb", "c"), ("a", "b\tc")]
    kept, pair_filter = filter_pairs(pairs)
    assert kept == list(dict.fromkeys(pairs))
    assert pair_filter.dropped["duplicate pair"] == len(pairs) - len(kept)


def test_the_table_adds_up() -> None:
    report = FilterReport(
        read=2_000_000,
        dropped={"blank side": 5, "duplicate pair": 199_995},
        held_out={"validation": 1000},
    )
    table = report.with_dropped("over 100 subwords", 300_000).table()
    assert [line.split() for line in table.splitlines()[:6]] == [
        ["training", "pairs", "count", "percent"],
        ["read", "2,000,000", "100.00"],
        ["dropped:", "blank", "side", "5", "0.00"],
        ["dropped:", "duplicate", "pair", "199,995", "10.00"],
        ["dropped:", "over", "100", "subwords", "300,000", "15.00"],
        ["kept", "1,500,000", "75.00"],
    ]
    assert "validation pairs" in table
    assert "test pairs" not in table
    assert len({len(line) for line in table.splitlines()[:6]}) == 1
