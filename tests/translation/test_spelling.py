"""Typos: which words are read as which, which are left, and what that changes of a translation."""

import random
import string
import time
from pathlib import Path

import pytest
import torch
from tiny_models import tiny_model
from translators import make_translator, small_tokenizer

from mt.data.augmentation import typo
from mt.translation.as_typed import AsTyped
from mt.translation.known_words import KnownWord, letter_words
from mt.translation.notices import guessed_words, typos
from mt.translation.spelling import Spelling

FREQUENT = ["the", "is", "in", "kitchen", "sitting", "dog", "street", "with", "from", "glass", "London"]
RARE = ["Jonas", "playground", "setting", "umbrella", "ab" * 21]
KNOWN = {word.lower(): KnownWord(word, 2000) for word in FREQUENT} | {word.lower(): KnownWord(word, 1) for word in RARE}
SPELLING = Spelling(KNOWN, "en")
GERMAN = Spelling({word.lower(): KnownWord(word, 900) for word in ("Hund", "Haus", "ein", "der", "läuft")}, "de")


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("the kitchin is", "the kitchen is"),  # another letter
        ("the kichen, the kittchen, the kithcen!", "the kitchen, the kitchen, the kitchen!"),  # lost, doubled, swapped
        ("teh dgo", "the dog"),
        ("Teh dog. Kitchin", "The dog. Kitchen"),
        ("TThe hte", "The the"),
        ('("ktichen")', '("kitchen")'),
        ("stting", "sitting"),  # not setting, which is rare
        ("jnoas playgruond", "jnoas playground"),  # what is rare is read only for a long word
        ("umbrekla", "umbrekla"),  # and for a likely typo
        ("umbella", "umbella"),
        ("the glasss", "the glass"),
        ("dogs doge kitche streed", "dogs doge kitche streed"),  # an ending
        ("log agog", "log agog"),  # another first letter
        ("in Ditchen with Kicthen", "in Ditchen with Kicthen"),  # a name
        ("in Lodnon, lodnon. Lodnon", "in Lodnon, London. London"),
        ("playgrouund playgroumnd", "playground playgroumnd"),
        ("KITHCEN OGD", "KITHCEN OGD"),
        ("The DOgs, kitchEn. DOGs", "The DOgs, kitchEn. DOGs"),  # as in IDs
        ("'ktichen' l'ktichen l’ktichen 'teh C'kichen", "'kitchen' l'ktichen l’ktichen 'teh C'kichen"),
        ("kichen2 kichen_x www.kichen.de/kichen kichen@dog.de the-kichen kichen() #kichen", None),
        ("ab" * 20 + "ba", None),
        ("", None),
        ("  kitchen\t the ", None),
    ],
)
def test_what_is_read_as_what(typed: str, read: str | None) -> None:
    assert SPELLING(typed)[0] == (typed if read is None else read)


def test_a_capital_at_the_beginning_is_a_name_unless_what_is_meant_is_frequent() -> None:
    bread = Spelling({"bread": KnownWord("bread", 40)}, "en")
    assert bread("Brad is brad.")[0] == "Brad is bread."
    assert Spelling({"bread": KnownWord("bread", 400)}, "en")("Brad is")[0] == "Bread is"


def test_where_nouns_have_capitals_a_capital_is_a_noun() -> None:
    assert GERMAN("ein Hnud, der hnud läutf") == (
        "ein Hund, der Hund läuft",
        {"Hnud": "Hund", "hnud": "Hund", "läutf": "läuft"},
    )
    assert GERMAN("der Läutf")[0] == "der Läutf"


def test_words_that_are_known_stay_as_they_are_typed() -> None:
    chance = random.Random(1)
    for _ in range(300):
        words = [chance.choice([str.lower, str.upper, str.title])(chance.choice(list(KNOWN))) for _ in range(8)]
        text = "".join(word + chance.choice([" ", ". ", ", ", "-", "  ", "'", " 3 ", "! "]) for word in words)
        assert SPELLING(text) == (text, {})


def test_a_repaired_text_has_as_many_words_and_only_known_ones_are_new() -> None:
    chance = random.Random(2)
    for _ in range(300):
        text = typo(" ".join(chance.choices(list(KNOWN), k=6)) + ".", chance, "en")
        read, changes = SPELLING(text)
        assert len(read.split()) == len(text.split())
        assert set(map(str.lower, letter_words(read))) - set(map(str.lower, letter_words(text))) <= set(KNOWN)
        assert set(changes) <= set(text.rstrip(".").split())


def test_capitals_and_a_typo_alignment_and_reports(tmp_path: Path) -> None:
    tokenizer = small_tokenizer(tmp_path, ["the dog is in the kitchen."])
    model = tiny_model(dtype=torch.float32, vocab_size=tokenizer.vocab_size)
    translator = make_translator(
        [model], tokenizer, alignments=True, as_typed=AsTyped(KNOWN, "en", "en"), spelling=SPELLING
    )
    plain = make_translator([model], tokenizer, alignments=True)
    lines = ["the dgo is https://dgo.de in the kitchin zebra", "TEH DOG IS", "the dog"]
    first, second, third = translator.translate_all(lines)
    assert first.read_as == {"dgo": "dog", "kitchin": "kitchen"}
    assert [notice.message for notice in typos(first)] == ["'dgo' was read as 'dog'", "'kitchin' was read as 'kitchen'"]
    assert guessed_words(lines[0], first, KNOWN) == ["zebra"]
    assert {source for source, _ in first.alignment or []} <= set(range(8))
    assert guessed_words(lines[1], second, KNOWN) == []
    assert (second.read_as, third.read_as) == ({"Teh": "The"}, {})
    [right] = plain.translate_all(["The dog is"])
    assert second.text == right.text.upper()
    assert second.alignment == right.alignment


def test_a_hundred_thousand_words_and_unknown_ones_take_little_time() -> None:
    chance = random.Random(3)
    words = {"".join(chance.choices(string.ascii_lowercase, k=9)) for _ in range(100_000)}
    spelling = Spelling({word: KnownWord(word, 1) for word in words}, "en")
    text = " ".join("".join(chance.choices(string.ascii_lowercase, k=9)) for _ in range(100))
    start = time.thread_time()
    for each in (
        text,
        "! " * 50_000,
        "kichen!" * 20_000,
        "x" * 100_000 + "1",
        "kichen" + "!" * 100_000 + "1",
        "क" * 40 + "-",
    ):
        spelling(each)
    assert time.thread_time() - start < 3
