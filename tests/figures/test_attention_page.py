"""The page on attention: one file that loads nothing, in which any text stays text."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mt.figures.attention_page import attention_page, attention_picture

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)"> <!-- & \u2028 {{data}}'


class Scripts(HTMLParser):
    """What a browser would take for elements, and the content of the scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.values: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [value or "" for name, value in attrs if name in ("src", "href", "action", "data", "poster")]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script" and data.strip():
            self.texts.append(data)


def parsed(text: str) -> tuple[Scripts, dict[str, Any]]:
    weights = {kind: torch.rand(2, 3, 4, 5) for kind in ("encoder", "decoder", "cross")}
    labels = {kind: ([text] * 4, ["▁a"] * 5) for kind in weights}
    page = attention_page(weights, labels, source=text, translation=text)
    scripts = Scripts()
    scripts.feed(page)
    data = json.loads(scripts.texts[0])
    for kind, each in weights.items():
        found = np.frombuffer(base64.b64decode(data["maps"][kind]["weights"]), dtype=np.uint8)
        assert np.abs(found / 255 - each.numpy().ravel()).max() < 0.5 / 255 + 1e-6
    return scripts, data


def test_any_text_stays_text() -> None:
    plain, _ = parsed("a house")
    hostile, data = parsed(HOSTILE)
    assert data["source"] == data["translation"] == data["maps"]["cross"]["rows"][0] == HOSTILE
    assert hostile.tags == plain.tags
    assert hostile.tags.count("script") == len(hostile.texts) == 2
    assert hostile.texts[1] == plain.texts[1]


def test_it_loads_nothing_and_makes_no_markup_of_text() -> None:
    scripts, _ = parsed("a house")
    assert not scripts.values
    page = (ROOT / "mt/figures/attention.html").read_text(encoding="utf-8")
    assert page.count("\n") <= 250
    assert "default-src 'none'" in page
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|https?:|@import|url\(|fetch\(", page)


def test_a_picture_takes_any_subword_as_text() -> None:
    picture = attention_picture(torch.ones(1, 2, 3), ["$$", "$\\x$", "</s>"], ["^$_$", "</s>"])
    assert picture.startswith(b"\x89PNG")


def test_letters_that_the_font_lacks_are_counted_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    attention_picture(torch.ones(1, 1, 2), ["犬", "猫"], ["a"])
    assert capsys.readouterr().err == "the picture has boxes for letters that matplotlib's font lacks: 2\n"
