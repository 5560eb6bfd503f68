"""Language codes with and without a region or script."""

import pytest

from mt.data.spaces import main_language, separator


@pytest.mark.parametrize("code", ["zh", "ZH-CN", "zh_Hans", "zh-Hant-TW"])
def test_sentences_of_chinese_are_joined_without_a_space_whatever_the_region(code: str) -> None:
    assert main_language(code) == "zh"
    assert separator(code) == ""


def test_estonian_is_not_spanish() -> None:
    assert main_language("est") != "es"
    assert separator("et") == " "
