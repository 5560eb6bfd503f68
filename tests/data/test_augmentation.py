"""What people type: each change by itself, and the changes of a pair together."""

import operator
import random
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mt.data.augmentation import (
    Augmentation,
    end_marks,
    has_case,
    inserted,
    title_case,
    typo,
    upper_case,
    write_changed,
)
from mt.data.lines import read_lines
from mt.data.untranslatable import FORMS, token
from mt.translation.copied import is_copied, left_out

NOTHING = Augmentation(
    joined=0, upper_case=0, title_case=0, end_punctuation=0, typos=0, noise=0, copied_tokens=0,
    source_language="en", target_language="de",
)  # fmt: skip
SOURCE, TARGET = "A small dog doesn't see the 3rd ball.", "Ein kleiner Hund sieht den dritten Ball nicht."
CHINESE = "一只小狗没有看到球。"
N = 600


def draws(augmentation: Augmentation, source: str = SOURCE, target: str = TARGET) -> list[tuple[str, str]]:
    return [augmentation.changed(source, target, random.Random(f"1 {number}")) for number in range(N)]


def test_capitals() -> None:
    assert upper_case("so groß, Iss", "de") == "SO GROSS, ISS"
    assert upper_case("istanbul", "tr-TR") == "İSTANBUL"
    assert title_case("it's “so” mcDonald 3rd élan (yes) a-b", "en") == "It's “So” McDonald 3rd Élan (Yes) A-b"
    assert title_case("istanbul ırmak", "tr") == "İstanbul Irmak"
    for change in (upper_case, title_case):
        assert change(CHINESE, "zh") == CHINESE
        assert change("שלום عربي हिन्दी", "he") == "שלום عربي हिन्दी"
    assert [has_case(text) for text in (SOURCE, CHINESE, "我的 iPhone 坏了，怎么办呢", "12 ?", "Ελλάδα")] == [
        *(True, False, False, False, True)
    ]


def test_end_marks_are_lost_or_doubled_on_both_sides_or_on_none() -> None:
    for pair, times, expected in (
        (("Go!", "Geh!"), 0, ("Go", "Geh")),
        (("Go! ", "Vas-y !"), 0, ("Go", "Vas-y")),
        (("Why?", "为什么？"), 2, ("Why??", "为什么？？")),
        (("A dog (small).", "Ein Hund („klein“)."), 0, ("A dog (small)", "Ein Hund („klein“)")),
        *((pair, 0, pair) for pair in (("Go!", "Geh."), ("Go...", "Geh..."), ("Go?!", "Geh!"), (".", "."), ("", ""))),
    ):
        assert end_marks(*pair, times=times) == expected


def test_a_typo_is_one_letter_of_a_word() -> None:
    chance, kinds = random.Random(3), Counter()
    for _ in range(N):
        wrong = typo(SOURCE, chance, "en")
        words = zip(SOURCE.split(), wrong.split(), strict=True)
        [(before, after)] = [each for each in words if each[0] != each[1]]
        assert len(before) > 1
        kinds[len(after) - len(before)] += 1
        assert len(before) != len(after) or sum(map(operator.ne, before, after)) <= 2
    assert min(kinds[-1], kinds[1], kinds[0] / 2) > 0.2 * N
    for text in (CHINESE, "ひらがな カタカナ 한국어", "a 1 ?! x", ""):
        assert typo(text, chance, "en") == text


@pytest.mark.parametrize(
    ("language", "letter", "keys"),
    [("en", "a", "qwsz"), ("de", "a", "qwsy"), ("fr", "q", "azsw"), ("de-AT", "z", "tuhg"), ("xx", "y", "tuhg")],
)
def test_a_neighbouring_key_is_that_of_the_language(language: str, letter: str, keys: str) -> None:
    word = letter + "0x"  # no letter follows: only this tests the table
    chance = random.Random(1)
    found = {typo(f"{letter}ß", chance, language)[0] for _ in range(500)} - {letter, "ß"}
    assert found == set(keys)
    found = {typo(f"{letter.upper()}ß", chance, language)[0] for _ in range(500)} - {letter.upper(), "ß"}
    assert found == set(keys.upper())
    assert typo(word, chance, language) == word


def test_a_token_is_in_both_sides_and_found_again() -> None:
    chance = random.Random(5)
    for name in FORMS:
        words = {token([name], "see the dog", chance) for _ in range(200)}
        assert len(words) > 50, name
        for word in words:
            assert word.split() == [word]
            assert not set("{}") & set(word) or name == "code"
            if name != "noise":
                assert unicodedata.is_normalized("NFKC", word), word
            for share in (0.0, 0.4, 1.0):
                text = inserted(SOURCE, word, share=share)
                assert sorted(text.split()) == sorted([*SOURCE.split(), word])
                assert is_copied(word, text)
                assert left_out(word, text) == SOURCE


@pytest.mark.parametrize(
    ("word", "copied", "lost"),
    [
        ("12", ["12.", "(12)", "12, 13", "„12“", "bis 12?"], ["112", "12.5", "12%", "1.12", "12:30", "x12", "$12"]),
        ("a@b.de", ["a@b.de.", "<a@b.de>"], ["a@b.de.com", "xa@b.de", "a@b.def", "A@b.de", "a@b.de/x"]),
        ("www.a.com/b", ["(www.a.com/b),"], ["www.a.com/b/c", "www.a.com/b.html", "http://www.a.com/b"]),
        ("👍", ["gut👍.", "👍👍"], ["👍🏽", "gut"]),
        ("☕️", ["ein ☕️!"], ["☕"]),
    ],
)  # fmt: skip
def test_a_part_of_a_longer_token_is_no_copy(word: str, copied: list[str], lost: list[str]) -> None:
    assert [text for text in copied + lost if is_copied(word, text)] == copied
    assert [text for text in lost if left_out(word, text) != text] == []


def test_rates_hold_and_sides_change_together() -> None:
    both = replace(NOTHING, upper_case=0.2, title_case=0.1)
    counts = Counter(draws(both))
    upper = (upper_case(SOURCE, "en"), upper_case(TARGET, "de"))
    title = (title_case(SOURCE, "en"), title_case(TARGET, "de"))
    assert set(counts) == {(SOURCE, TARGET), upper, title}
    assert counts[upper] == pytest.approx(0.2 * N, rel=0.35)
    assert counts[title] == pytest.approx(0.1 * N, rel=0.35)

    counts = Counter(draws(replace(NOTHING, end_punctuation=0.4)))
    assert counts[SOURCE[:-1], TARGET[:-1]] == pytest.approx(0.3 * N, rel=0.35)
    assert counts[SOURCE + ".", TARGET + "."] == pytest.approx(0.1 * N, rel=0.35)
    assert (
        counts.total() - counts[SOURCE, TARGET] == counts[SOURCE[:-1], TARGET[:-1]] + counts[SOURCE + ".", TARGET + "."]
    )

    pairs = draws(replace(NOTHING, typos=0.3))
    assert {target for _, target in pairs} == {TARGET}
    assert sum(source != SOURCE for source, _ in pairs) == pytest.approx(0.3 * N, rel=0.35)

    for rate in ("noise", "copied_tokens"):
        changed = [pair for pair in draws(replace(NOTHING, **{rate: 0.3})) if pair != (SOURCE, TARGET)]
        assert len(changed) == pytest.approx(0.3 * N, rel=0.35)
        for source, target in changed:
            [word] = set(source.split()) - set(SOURCE.split())
            assert set(target.split()) - set(TARGET.split()) == {word}


def test_a_source_without_case_leaves_the_target_as_it_is() -> None:
    assert set(draws(replace(NOTHING, upper_case=0.5, title_case=0.5), CHINESE, TARGET)) == {(CHINESE, TARGET)}
    assert draws(replace(NOTHING, upper_case=1), SOURCE, CHINESE)[0] == (SOURCE.upper(), CHINESE)


def test_pairs_are_joined_at_their_rate_and_both_sides_alike() -> None:
    others = [(f"source {number}", f"target {number}") for number in range(5)]
    joined = [
        replace(NOTHING, joined=0.3, target_language="ja").followed(
            (SOURCE, TARGET), others, random.Random(f"{number}")
        )
        for number in range(N)
    ]
    longer = [(source, target) for source, target in joined if source != SOURCE]
    assert len(longer) == pytest.approx(0.3 * N, rel=0.2)
    assert set(longer) == {(f"{SOURCE} {source}", f"{TARGET}{target}") for source, target in others}
    assert set(joined) - set(longer) == {(SOURCE, TARGET)}


def test_equal_seeds_draw_equally() -> None:
    everything = Augmentation(
        joined=0.2, upper_case=0.2, title_case=0.2, end_punctuation=0.5, typos=0.5, noise=0.3, copied_tokens=0.3,
        source_language="en", target_language="de",
    )  # fmt: skip
    pairs = draws(everything)
    assert pairs == draws(everything)
    assert len(set(pairs)) > N / 2
    assert set(draws(NOTHING)) == {(SOURCE, TARGET)}


def test_a_vocabulary_reads_the_pairs_whose_case_changes_and_no_others(tmp_path: Path) -> None:
    texts, outputs = [[tmp_path / name for name in names] for names in (("a", "b"), ("c", "d"))]
    for path, line in zip(texts, (SOURCE, TARGET), strict=True):
        path.write_text(f"{line}\n" * N, encoding="utf-8")
    everything = replace(NOTHING, upper_case=0.1, typos=1.0, end_punctuation=1.0)
    of_case = everything.of_case()
    assert of_case is not None
    assert replace(everything, upper_case=0.0).of_case() is None
    write_changed(of_case, texts, outputs, seed=1)
    sides = [list(read_lines(str(path))) for path in outputs]
    assert len(sides[0]) == len(sides[1]) == pytest.approx(0.1 * N, rel=0.35)
    assert [set(side) for side in sides] == [{upper_case(SOURCE, "en")}, {upper_case(TARGET, "de")}]
