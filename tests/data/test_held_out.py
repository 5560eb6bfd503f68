"""Validation and test pairs inside training are found however they are dressed (RELIABILITY row 14)."""

import random
import time
import unicodedata

import pytest
from reliability import Trials

from mt.data.filters import FilterSettings, HeldOut, PairFilter, normalise

Pair = tuple[str, str]
ALL_ON = FilterSettings(max_length_ratio=3.0, remove_copies=True, remove_duplicates=True, remove_held_out=True)
HELD_OUT_ONLY = FilterSettings(max_length_ratio=100, remove_copies=False, remove_duplicates=False, remove_held_out=True)
LETTERS = "abcdefghijklmnopqrstuvwxyzäöüßéñ東京語日本кирилл0123456789"


def sentence(random_numbers: random.Random) -> str:
    words = ["".join(random_numbers.choices(LETTERS, k=random_numbers.randint(1, 8))) for _ in range(8)]
    return " ".join(words).capitalize() + random_numbers.choice(".!?…。")


def disguise(text: str, random_numbers: random.Random) -> str:
    """Change what does not make another sentence of it: case, spaces, punctuation, Unicode form."""
    changes = [
        str.upper,
        str.lower,
        str.title,
        lambda text: text.replace(" ", random_numbers.choice(["", "  ", "\u00a0", "\u3000", "\t", "\u2009"])),
        lambda text: "".join(letter + random_numbers.choice(["", "", "", ",", "-", "’", "“", "_"]) for letter in text),
        lambda text: f"„{text[:-1]}“ ",
        lambda text: "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text),
    ]
    for change in random_numbers.sample(changes, random_numbers.randint(0, 3)):
        text = change(text)
    return unicodedata.normalize(random_numbers.choice(["NFC", "NFD"]), text)


@pytest.mark.reliability(14)
@pytest.mark.long
def test_a_million_pairs_take_less_than_a_minute(trials: Trials) -> None:
    """Sentences of 20 words, all filters on; 100 planted pairs are found among them."""
    random_numbers = random.Random(8)
    words = ["".join(random_numbers.choices(LETTERS[:30], k=random_numbers.randint(2, 9))) for _ in range(20_000)]
    held_out_pairs = [(sentence(random_numbers), sentence(random_numbers)) for _ in range(3000)]
    held_out = HeldOut()
    held_out.add("test", held_out_pairs, first_number=1)
    pair_filter = PairFilter(settings=ALL_ON, held_out=held_out)
    seconds = 0.0
    for first in range(1, 1_000_001, 10_000):
        texts = [" ".join(random_numbers.choices(words, k=20)) for _ in range(20_000)]
        block = list(zip(texts[::2], texts[1::2], strict=True))
        block[first % 9973] = tuple(disguise(side, random_numbers) for side in held_out_pairs[first % 2999])
        start = time.thread_time()
        pair_filter.keep(block, corpus="web", first_number=first)
        seconds += time.thread_time() - start
        trials.add(1)
    assert len(pair_filter.leaks) == 100
    assert seconds < 60


@pytest.mark.reliability(14)
def test_planted_pairs_are_all_found_and_nothing_else(trials: Trials) -> None:
    random_numbers = random.Random(7)
    held_out_pairs = [(sentence(random_numbers), sentence(random_numbers)) for _ in range(200)]
    held_out = HeldOut()
    held_out.add("validation", held_out_pairs[:50], first_number=1)
    held_out.add("validation", held_out_pairs[50:100], first_number=51)
    held_out.add("test", held_out_pairs[100:], first_number=1)
    training = [(sentence(random_numbers), sentence(random_numbers)) for _ in range(3000)]
    planted = {}
    for line, index in zip(
        random_numbers.sample(range(3000), 100), random_numbers.sample(range(200), 100), strict=True
    ):
        training[line] = tuple(disguise(side, random_numbers) for side in held_out_pairs[index])
        planted[line + 1] = ("validation", index + 1) if index < 100 else ("test", index - 99)
    pair_filter = PairFilter(settings=HELD_OUT_ONLY, held_out=held_out)
    kept = [
        pair
        for first in range(0, 3000, 101)
        for pair in pair_filter.keep(training[first : first + 101], corpus="web", first_number=first + 1)
    ]
    trials.add(len(planted))
    assert kept == [pair for number, pair in enumerate(training, start=1) if number not in planted]
    assert {leak.number: (leak.split, leak.split_number) for leak in pair_filter.leaks} == planted
    assert all((leak.source, leak.target) == training[leak.number - 1] for leak in pair_filter.leaks)
    assert {leak.corpus for leak in pair_filter.leaks} == {"web"}


def test_equal_pairs_on_both_sides_make_one_record_for_each_training_pair_and_split() -> None:
    """And not one for each of the combinations, which fill a disk."""
    held_out = HeldOut()
    held_out.add("validation", [("Ja", "Yes")] * 300, first_number=1)
    held_out.add("test", [("Nein", "No"), *[("Ja", "Yes")] * 300], first_number=1)
    pair_filter = PairFilter(settings=HELD_OUT_ONLY, held_out=held_out)
    assert pair_filter.keep([("ja", "yes")] * 2000, corpus="c", first_number=1) == []
    found = {(leak.number, leak.split, leak.split_number) for leak in pair_filter.leaks}
    assert found == {(number, *at) for number in range(1, 2001) for at in (("validation", 1), ("test", 2))}
    assert len(pair_filter.leaks) == 4000


def test_one_shared_side_is_kept() -> None:
    held_out = HeldOut()
    held_out.add("test", [("Ja!", "Yes."), ("Nein!", "No.")], first_number=1)
    pairs = [("ja", "Yeah"), ("Jawohl", "yes"), ("Ja", "No"), ("Vielleicht", "Maybe"), ("ja", "YES")]
    pair_filter = PairFilter(settings=HELD_OUT_ONLY, held_out=held_out)
    assert pair_filter.keep(pairs, corpus="c", first_number=1) == pairs[:4]


def test_sides_without_letters_are_compared_as_they_are() -> None:
    """Such as the labels + and -."""
    held_out = HeldOut()
    held_out.add("test", [("...", "?"), ("", ""), ("Ja", "!"), ("gut", "+")], first_number=1)
    pairs = [("!", "..."), ("ja", "?"), ("-", "x"), ("Gut.", "-"), ("Gut.", " +"), ("JA", "!")]
    pair_filter = PairFilter(settings=HELD_OUT_ONLY, held_out=held_out)
    assert pair_filter.keep(pairs, corpus="c", first_number=1) == pairs[:4]


@pytest.mark.parametrize(("text", "normalised"), [("It's 3_000 €!", "its3000"), ("ＡＢＣ ﬁn", "abcfin"), ("①½", "112")])
def test_normalised_form(text: str, normalised: str) -> None:
    assert normalise(text) == normalised


def test_ascii_and_general_normalisation_agree() -> None:
    every = "".join(map(chr, range(128)))
    assert normalise(every) + "é" == normalise(every + "é")
