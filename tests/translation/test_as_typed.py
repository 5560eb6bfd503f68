"""Text in capitals, in title case or without an end mark: what the model reads, and how its translation is written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import tiny_model
from translators import make_translator, small_tokenizer

from mt.translation.as_typed import AsTyped, end_in_marks
from mt.translation.known_words import known_words
from mt.translation.segments import Segment, Translation
from mt.translation.translator import Translator

TRAINING = [
    "A dog runs in New York.",
    "He and I see a dog.",
    "The man in the red Jeep is here.",
    "Is the dog in a Jeep?",
]
KNOWN = known_words(TRAINING)


@pytest.mark.parametrize(
    ("text", "read", "written"),
    [
        ("A DOG IN A JEEP.", "A dog in a Jeep.", "EIN HUND, GROSS."),
        ("A DOG! IS THE MAN HERE? YES", "A dog! Is the man here? Yes", "EIN HUND, GROSS"),
        ("A Dog In New York.", "A dog in New York.", "Ein Hund, Groß."),
        ("Is The Dog Here?", "Is the dog here?", "Ein Hund, Groß."),
        ("A dog in a Jeep.", "A dog in a Jeep.", "ein Hund, groß."),
        ("A dog in a Jeep", "A dog in a Jeep", "ein Hund, groß"),
        ("New York Man", "New York Man", "ein Hund, groß"),  # too few words to be sure
        ("I See The Man.", "I see the man.", "Ein Hund, Groß."),
        ("I See New York", "I See New York", "ein Hund, groß"),
        ("Jeep York New Jeep", "Jeep York New Jeep", "ein Hund, groß"),  # names
        ("US", "US", "ein Hund, groß"),
        ("42 + 1", "42 + 1", "ein Hund, groß"),
        ("", "", "ein Hund, groß."),
    ],
)
def test_what_the_model_reads_and_what_is_written(text: str, read: str, written: str) -> None:
    usual, restore = AsTyped(KNOWN, "en", "de")(text)
    assert usual == read
    assert (restore("ein Hund, groß.") if restore else "ein Hund, groß.") == written


@pytest.mark.parametrize("text", ["我在IBM工作。", "CDを買いました。", "TV를 켜 주세요.", "أعيش في USA."])
def test_an_acronym_among_letters_without_case_is_no_text_in_capitals(text: str) -> None:
    assert AsTyped(None, "zh", "en")(text) == (text, None)


def test_end_marks_are_left_out_where_the_source_has_them_elsewhere() -> None:
    thai = "ฉันไปโรงเรียนที่นี่"
    assert not end_in_marks([thai, "ฉันไปโรงเรียน", "a."])
    assert end_in_marks(["a dog.", "एक कुत्ता है।", "a dog"])
    assert end_in_marks([])
    assert AsTyped(None, "th", "en", ends_in_marks=False)(thai) == (thai, None)
    _, restore = AsTyped(None, "hi", "hi")("एक कुत्ता है")  # which ends in a vowel sign
    assert restore is not None
    assert restore("एक कुत्ता है।") == "एक कुत्ता है"


@pytest.mark.parametrize("translation", ["Hunde usw.", "Hunde …", "Hunde...", "Wo?", "Hunde"])
def test_only_a_full_stop_after_a_word_is_left_out(translation: str) -> None:
    _, restore = AsTyped(KNOWN, "en", "de")("Dogs and so on")
    assert restore is not None
    assert restore(translation) == translation
    assert restore("Hunde laufen.") == restore("Hunde laufen。") == "Hunde laufen"


def test_without_known_words_capitals_are_lowered_and_titles_stay() -> None:
    as_typed = AsTyped(None, "tr", "de")
    assert as_typed("KIRMIZI ARABA. İKİ!")[0] == "Kırmızı araba. İki!"
    assert as_typed("A Dog In New York.") == ("A Dog In New York.", None)
    assert AsTyped(known_words(["a dog runs."] * 2), "en", "de")("A DOG RUNS.")[0] == "a dog runs."


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Translator, list[str]]:
    """A translator that gives back what it reads, with an alternative, and the list of what it has read."""
    tokenizer = small_tokenizer(tmp_path, TRAINING)
    read: list[str] = []

    def translate_segments(self: Translator, segments: Sequence[Segment], **_: Any) -> list[list[Translation]]:
        texts = [self.source_tokenizer.decode(segment.subwords) for segment in segments]
        read.extend(texts)
        return [[Translation(f"{text}{rank}.", 0.0, []) for rank in ("", "else")] for text in texts]

    monkeypatch.setattr(Translator, "translate_segments", translate_segments)
    model = tiny_model(dtype=torch.float32, vocab_size=tokenizer.vocab_size)
    return make_translator([model], tokenizer, as_typed=AsTyped(KNOWN, "en", "en")), read


def test_an_end_mark_that_is_a_word_is_left_out_as_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links, probabilities = [(0, 0), (2, 1), (2, 2)], [0.1, 0.2, 0.3]
    given = Translation("कुत्ता है ।", 0.0, [], alignment=links, probabilities=probabilities)
    monkeypatch.setattr(Translator, "translate_segments", lambda *_, **__: [[given]])
    tokenizer = small_tokenizer(tmp_path, TRAINING)
    model = tiny_model(dtype=torch.float32, vocab_size=tokenizer.vocab_size)
    as_typed = AsTyped(KNOWN, "en", "hi")
    translator = make_translator([model], tokenizer, as_typed=as_typed, alignments=True, probabilities=True)
    alone, [found] = translator.translate_all(["the dog sleeps"])[0], translator.translate_all(["the dog sleeps 😀"])
    assert (alone.text, alone.alignment, alone.probabilities) == ("कुत्ता है", links[:2], probabilities[:2])
    assert (found.text, found.alignment) == ("कुत्ता है 😀", [*links[:2], (3, 2)])
    assert found.probabilities == [*probabilities[:2], 1.0]


def test_lines_are_read_as_usual_and_written_as_typed(echo: tuple[Translator, list[str]]) -> None:
    translator, read = echo
    found = list(translator.translate(["A DOG RUNS", "the Jeep", "", "THE MAN IS HERE."]))
    assert sorted(read) == ["A dog runs", "The man is here.", "the Jeep"]
    assert [one.text for one in found] == ["A DOG RUNS", "the Jeep", "", "THE MAN IS HERE.."]
    assert [other.text for other in found[0].others] == ["A DOG RUNSELSE"]
    prefixed = translator.translate_all(["A DOG RUNS"], target_prefixes="Dog")
    assert (prefixed[0].text, read[-1]) == ("A DOG RUNS.", "A DOG RUNS")
