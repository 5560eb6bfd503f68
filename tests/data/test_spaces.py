"""Language codes with and without a region or script."""

import pytest

from mt.data.spaces import has_spaces, look_unspaced, main_language, separator


@pytest.mark.parametrize("code", ["zh", "ZH-CN", "zh_Hans", "zh-Hant-TW"])
def test_sentences_of_chinese_are_joined_without_a_space_whatever_the_region(code: str) -> None:
    assert main_language(code) == "zh"
    assert separator(code) == ""


def test_estonian_is_not_spanish() -> None:
    assert main_language("est") != "es"
    assert separator("et") == " "


@pytest.mark.parametrize("code", ["cmn", "yue-HK", "tha", "km", "ja"])
def test_other_languages_without_spaces(code: str) -> None:
    assert not has_spaces(code)
    assert (separator(code) == " ") == (code in ("tha", "km"))  # Thai and Khmer have one after a sentence


def test_text_without_spaces_is_seen_by_its_letters() -> None:
    assert look_unspaced(["แมวนั่งบนเสื่อ", "猫坐在垫子上。", "OK"])
    assert not look_unspaced(["한국어 문장", "это кот", "猫", ""])
