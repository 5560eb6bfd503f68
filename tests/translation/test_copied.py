"""Words that stay the same in a translation: what the model reads without them, and where they are put back."""

import random
import time
from pathlib import Path

import pytest
import torch
from tiny_models import tiny_model
from translators import make_translator, small_tokenizer

from mt.data.untranslatable import FORMS, token
from mt.translation.alignment import mean_attention
from mt.translation.as_typed import AsTyped
from mt.translation.copied import Copied, is_copied, leave_out, lost_numbers, put_back
from mt.translation.segments import Translation

LINES = ["A dog runs in the garden.", "The house and the river."]


@pytest.mark.parametrize(
    ("text", "rest", "copied"),
    [
        ("Ask max@dog.com, then go.", "Ask, then go.", [Copied("max@dog.com", 1, ",", moved=True)]),
        ("See www.dog.com/a?b=1.", "See.", [Copied("www.dog.com/a?b=1", 1, ".", moved=True)]),
        ("E-mail: max@dog.com.", "E-mail:", [Copied("max@dog.com", 1, ".")]),
        ("A dog. https://dog.com", "A dog.", [Copied("https://dog.com", 2, "")]),
        ("😀 👍🏽🇩🇪 dog 👩‍👩‍👧", "dog", [Copied("😀", 0, ""), Copied("👍🏽🇩🇪", 0, ""), Copied("👩‍👩‍👧", 1, "")]),
        ("and/or e.g. T-shirt (www.dog.com) 25 x@y", "and/or e.g. T-shirt (www.dog.com) 25 x@y", []),
        ("Hi [X6X], you [X19X] [x]", "Hi, you [x]", [Copied("[X6X]", 1, ",", moved=True), Copied("[X19X]", 2, "")]),
        ("dog.com/a", "", [Copied("dog.com/a", 0, "")]),
        ("... – !", "", [Copied("...", 0, ""), Copied("–", 0, ""), Copied("!", 0, "")]),
        ("... 7!", "... 7!", []),
        ("", "", []),
    ],
)
def test_what_is_left_out(text: str, rest: str, copied: list[Copied]) -> None:
    assert leave_out(text) == (rest, copied)


@pytest.mark.parametrize("word", ["🏻" * 40 + "x", "👏🏻" * 30 + "x"])
def test_a_row_of_emoji_with_a_letter_takes_no_time(word: str) -> None:
    """Each skin tone is also an emoji by itself: time would double with each."""
    start = time.thread_time()
    assert leave_out(word) == (word, [])
    assert time.thread_time() - start < 1


def test_numbers_are_left_out_where_asked_for_as_when_their_digits_are_lost() -> None:
    assert leave_out("7 of 25 dogs", ["25"]) == ("7 of dogs", [Copied("25", 2, "")])
    source = "25 dogs, 1,000.50 cats at 9:30 and 7!"
    assert lost_numbers(source, "25 Hunde, 1.000,50 Katzen um 9.30 und 7!") == []
    assert lost_numbers(source, "250 Hunde, 1 000 Katzen und sieben") == ["25", "1,000.50", "9:30", "7"]
    assert lost_numbers("5% of $25", "5 % von 25") == ["$25"]
    assert lost_numbers("T34, 3rd and dogs", "") == []
    for number, same, other in (
        ("2.3", "2,3", "23"),
        ("06.383", "06,383", "06383"),
        ("05:69", "5.69 05 69", "0569"),
        ("97816-520", "97816 520", "97816520"),
        ("1,000", "1000", "1,00"),
        ("12,345.67", "12345,67", "1234567"),
        ("12345.67", "12 345,67", "12345.6"),
    ):
        assert lost_numbers(number, same) == []
        assert lost_numbers(number, other) == [number]
    assert lost_numbers("او در ۲۰۰۹ بود", "He was born in 2009.") == []
    assert lost_numbers("in 2009", "سال ۲۰۰۹") == []
    assert lost_numbers("20% of $1.5 million at 10:30", "20 Prozent von 1,5 Millionen Dollar um 10 Uhr 30") == []
    assert lost_numbers("In 2019 20 people", "2019 20 Menschen") == []
    assert lost_numbers("In 2019 20 people", "2019 Menschen") == ["20"]


def test_every_kind_of_token_that_robustness_counts_is_left_out_or_a_number() -> None:
    for kind in ("URLs", "e-mail addresses", "emoji", "numbers"):
        for number in range(20 * len(FORMS[kind])):
            word = token([kind], LINES[0], random.Random(f"{kind} {number}"))
            numbers = lost_numbers(f"a {word} dog", "ein Hund")
            assert leave_out(f"a {word} dog", numbers) == ("a dog", [Copied(word, 1, "")]), word


def test_words_are_put_back_where_their_neighbours_went() -> None:
    text, copied = leave_out("Today 😀 max@dog.com, a dog runs 😀.")
    assert text == "Today, a dog runs."
    links = [(3, 0), (2, 1), (1, 1), (0, 2)]
    other = Translation("Läuft heute.", 0.0, [], alignment=[(3, 0), (0, 1)])
    given = Translation("Läuft Hund heute.", 0.0, [], alignment=links, probabilities=[0.1, 0.2, 0.3], others=[other])
    found = put_back(given, copied, source_words=4, aligned=True)
    assert found.text == "Läuft Hund heute 😀 max@dog.com, 😀."
    assert found.probabilities == [0.1, 0.2, 0.3, 1.0, 1.0, 1.0]
    assert found.alignment == [(0, 2), (1, 3), (2, 4), (3, 1), (4, 1), (5, 0), (6, 5)]
    assert found.others[0].text == "Läuft heute 😀 max@dog.com, 😀."
    assert put_back(given, copied, source_words=4, aligned=False).alignment is None
    twice = put_back(
        Translation("Hund", 0.0, [], alignment=[(1, 0)]), leave_out("A dog 😀 😀")[1], source_words=2, aligned=True
    )
    assert twice.alignment == [(1, 0), (2, 1), (3, 2)]
    nothing = put_back(Translation("", 0.0, []), [Copied("😀", 0, "")], source_words=0, aligned=True)
    assert (nothing.text, nothing.alignment) == ("😀", [(0, 0)])


def test_a_mark_that_is_a_word_of_its_own_stays_one() -> None:
    text, copied = leave_out("Visit us at www.dog.com!")
    given = Translation("Visitez-nous à !", 0.0, [], alignment=[(0, 0), (2, 1)], probabilities=[0.1, 0.2, 0.3])
    found = put_back(given, copied, source_words=len(text.split()), aligned=True)
    assert found.text == "Visitez-nous à www.dog.com !"
    assert found.alignment == [(0, 0), (2, 1), (3, 2)]
    assert found.probabilities == [0.1, 0.2, 1.0, 0.3]


@pytest.mark.parametrize(
    ("source", "model", "expected"),
    [
        ("E-mail: max@dog.com.", "E-Mail:", "E-Mail: max@dog.com."),
        ("Website: www.dog.com, dog", "Seite: Hund", "Seite: www.dog.com, Hund"),
        ("Wait! 👏!", "Warte!", "Warte! 👏!"),
    ],
)
def test_a_mark_that_the_model_read_stays(source: str, model: str, expected: str) -> None:
    text, copied = leave_out(source)
    given = Translation(model, 0.0, [], alignment=[(0, 0)])
    assert put_back(given, copied, source_words=len(text.split()), aligned=False).text == expected


@pytest.mark.parametrize("wanted", [False, True])
def test_a_translator_copies_what_its_model_cannot(tmp_path: Path, wanted: bool) -> None:
    tokenizer = small_tokenizer(tmp_path, LINES)
    model = tiny_model(dtype=torch.float32, vocab_size=tokenizer.vocab_size)
    asked = {"alignments": wanted, "probabilities": wanted}
    plain = make_translator([model], tokenizer, precision=torch.float32, **asked)
    translator = make_translator(
        [model],
        tokenizer,
        precision=torch.float32,
        as_typed=AsTyped(None, "en", "de"),
        placing=lambda *given: mean_attention([model], *given),
        **asked,
    )
    lines = [
        "A dog runs in the garden.",
        "A dog 😀 runs www.dog.com/x in the garden.",
        "The 25 rivers.",
        "www.dog.com",
        "  ***\r\n ***\ud800",
    ]
    whole, tokens, number, alone, marks = found = translator.translate_all(lines)
    [expected] = plain.translate_all(lines[:1])
    assert (whole.text, whole.alignment) == (expected.text, expected.alignment)
    assert [word for word in tokens.text.split() if word in ("😀", "www.dog.com/x")] == ["😀", "www.dog.com/x"]
    rest = " ".join(word for word in tokens.text.split() if word not in ("😀", "www.dog.com/x"))
    assert rest == " ".join(plain.translate_all(["A dog runs in the garden."])[0].text.split())
    assert is_copied("25", number.text)
    assert alone.text == "www.dog.com"
    assert marks.text == "  ***   ***\ufffd"
    for line, one in zip(lines, found, strict=True):
        assert (one.alignment is not None, one.probabilities is not None) == (wanted, wanted)
        if wanted:
            assert one.probabilities is not None
            assert one.alignment is not None
            assert len(one.probabilities) == len(one.text.split())
            assert {source for source, _ in one.alignment} <= set(range(len(line.split())))
    assert translator.translate_all(lines[3:], target_prefixes="the")[0].text.startswith("the")
