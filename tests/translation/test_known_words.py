"""The words that a training saw: found in any spelling, bounded, and absent where a language has none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mt.errors import BadFileError
from mt.translation.known_words import in_usual_form, known_words, load_known_words, save_known_words, unknown_words


def test_words_are_letter_sequences_of_any_case_and_unicode_form() -> None:
    known = known_words(["The dog's 3 bones, ﬁne-tuned.", "Straße Mu\u0308ller हिन्दी"])
    assert known is not None
    assert set(known) == {"the", "dog", "s", "bones", "fine", "tuned", "strasse", "müller", "हिन्दी"}
    assert unknown_words("THE DOG! MÜLLER_STRASSE 4 FINE हिन्दी", known) == []
    assert unknown_words("An Elephant, a dog and an elephant: zebra3", known) == ["an", "elephant", "a", "and", "zebra"]
    assert unknown_words("", known) == unknown_words("42 …", known) == []


def test_the_usual_form_is_the_most_frequent_one_but_not_at_the_beginning_of_a_line() -> None:
    lines = ["The man THE man", "The cat sees the Man", "Paris the McDonald", "A Cat sees Paris"]
    known = known_words(lines)
    assert known is not None
    assert [known[word].usual for word in ("the", "man", "cat", "a", "paris", "mcdonald")] == [
        *("the", "man", "cat", "A", "Paris", "McDonald")
    ]
    assert known["the"] == ("the", 5)
    assert known["mcdonald"].frequency == 1
    assert in_usual_form("THE MAN, MCDONALD & ZEBRA", known) == "the man, McDonald & ZEBRA"


def test_reading_stops_when_there_are_too_many() -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for first in range(10_000):
            read += 1
            yield "".join(chr(ord("a") + int(digit)) for digit in str(first)) + " word"

    assert known_words(lines(), most=3000) is None
    assert read == 3000
    assert len(known_words(["one two three"], most=3) or ()) == 3


@pytest.mark.parametrize(
    "text", ["日本語の文です。", "这是一句话。", "นี่คือประโยค", "ນີ້ແມ່ນປະໂຫຍກ", "នេះជាប្រយោគ", "ဒါကဝါကျတစ်ခုပါ"]
)
def test_a_language_without_spaces_has_no_words(text: str) -> None:
    assert known_words([text] * 6 + ["Latin words"] * 4) is None
    assert known_words([text] * 4 + ["Latin words"] * 6) is not None


def test_a_training_that_continues_another_knows_the_words_of_both(tmp_path: Path) -> None:
    text, base, own = tmp_path / "text", tmp_path / "base", tmp_path / "own"
    text.write_text("Zoo animals\nan elephant\nanimals\n", encoding="utf-8")
    base.write_text("Dog\t3\nzoo\t4\n", encoding="utf-8")
    save_known_words(text, own, earlier=base)
    assert own.read_text(encoding="utf-8") == "an\t1\nanimals\t2\nDog\t3\nelephant\t1\nZoo\t5\n"
    rows = [("an", 1), ("animals", 2), ("Dog", 3), ("elephant", 1), ("Zoo", 5)]
    assert load_known_words(own) == {word.lower(): (word, frequency) for word, frequency in rows}
    base.write_text("Dog\n", encoding="utf-8")
    with pytest.raises(BadFileError, match=r"base: .* a tab and a count"):
        load_known_words(base)
    save_known_words(text, own, earlier=tmp_path / "missing")
    assert not own.exists()
    assert load_known_words(own) is None
