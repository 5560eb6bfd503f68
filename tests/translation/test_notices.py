"""What is suspicious in a translation, and what is not."""

import pytest

from mt.translation.notices import notices
from mt.translation.segments import Translation

KNOWN = {"the", "dog", "is", "small", "a"}


@pytest.mark.parametrize(
    ("source", "text", "kinds"),
    [
        ("The dog is small.", "Der Hund ist klein.", []),
        ("The dog is small.", " ", ["empty"]),
        ("", "", []),
        ("...", "", []),
        ("The dog is small.", "the dog is small.", ["copied"]),
        ("a dog", "a dog", []),
        ("https://www.example.com/a-dog", "https://www.example.com/a-dog", []),
        ("The dog is small.", "Der Hund, der Hund, der Hund, der Hund, der", ["repeated"]),
        ("The dog is small.", "klein klein klein klein", ["repeated"]),
        ("a a a a a", "ein ein ein ein ein", []),
        ("The dog is small.", "Der Hund ist 10000000 klein .......... ", []),
        ("The dog is small.", "狗狗狗狗狗狗狗狗", ["repeated"]),
        ("The dog is small.", " ".join(map(chr, range(97, 119))), ["long"]),
        ("The Zorgblat is small, is Foo.", "Der Zorgblat ist klein.", ["unknown_words"]),
    ],
)
def test_signs_of_a_bad_translation(source: str, text: str, kinds: list[str]) -> None:
    translation = Translation(text, 0.0, list(range(len(text.split()))))
    found = notices(source, translation, source_subwords=len(source.split()), known=KNOWN)
    assert [notice.kind for notice in found] == kinds
    if kinds == ["unknown_words"]:
        assert found[0].words == ["Zorgblat", "Foo"]
        assert notices(source, translation, source_subwords=9) == []


def test_no_text_takes_long() -> None:
    for text in ("ab" * 50_000, "a" * 49_999 + "b", " ".join(map(str, range(20_000)))):
        notices("x", Translation(text, 0.0, []), source_subwords=1)
