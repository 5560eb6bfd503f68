"""The requests of existing clients, in the form in which they send them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from served import Capitals, TestClient, serving

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with serving(("en", "de", Capitals()), ("de", "en", Capitals()), ("en", "fr", Capitals())) as client:
        yield client


def asked(response: Any) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


def test_libretranslatepy(client: TestClient) -> None:
    found = asked(client.post("/translate", content="q=Hello+world.&source=en&target=de", headers=FORM))
    assert found["translatedText"] == "HELLO WORLD."
    assert [one["code"] for one in asked(client.get("/languages", headers=FORM))] == ["en", "de", "fr"]
    assert asked(client.post("/detect", content="q=Das+ist+ein+Haus", headers=FORM))[0]["language"] == "de"


def test_deep_translator(client: TestClient) -> None:
    query = {"q": "Hello world.", "source": "en", "target": "de", "format": "text", "api_key": "secret"}
    assert asked(client.post("/translate", params=query))["translatedText"] == "HELLO WORLD."


def test_mastodon(client: TestClient) -> None:
    texts = ['<p>Hello <a href="https://x.y/?a=1&amp;b=2">world</a>! I &lt;3 you</p>', "Good <br>day"]
    body = {"q": texts, "source": "en", "target": "de", "format": "html", "api_key": None}
    found = asked(client.post("/translate", json=body))
    assert found["translatedText"] == [
        '<p>HELLO <a href="https://x.y/?a=1&amp;b=2">WORLD</a>! I &lt;3 YOU</p>',
        "GOOD <br>DAY",
    ]
    german = ["Guten Morgen, liebe Leute", "Wie geht es dir?"]
    found = asked(client.post("/translate", json={**body, "source": "auto", "q": german, "target": "en"}))
    assert [one["language"] for one in found["detectedLanguage"]] == ["de", "de"]
    targets = {one["code"]: one["targets"] for one in asked(client.get("/languages"))}
    assert targets == {"en": ["de", "fr"], "de": ["en"], "fr": []}


def test_pleroma_writes_languages_in_capitals(client: TestClient) -> None:
    body = {"q": "Hello", "source": "EN", "target": "DE", "format": "html", "api_key": ""}
    assert asked(client.post("/translate", json=body))["translatedText"] == "HELLO"


def test_weblate(client: TestClient) -> None:
    body = {"api_key": "", "q": ["one", "two"], "source": "en", "target": "de"}
    assert asked(client.post("/translate", json=body))["translatedText"] == ["ONE", "TWO"]


def test_discourse(client: TestClient) -> None:
    assert asked(client.post("/detect", content="q=This+is+a+house&api_key=", headers=FORM))[0]["language"] == "en"
    form = "q=%3Cp%3EHi%3C%2Fp%3E&source=en&target=de&format=html&api_key="
    assert asked(client.post("/translate", content=form, headers=FORM))["translatedText"] == "<p>HI</p>"


def test_nextcloud(client: TestClient) -> None:
    empty = {"content": b"--x--\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}
    assert asked(client.post("/", **empty))
    settings = asked(client.request("GET", "/frontend/settings", **empty))
    assert settings["language"]["source"] == {"code": "en", "name": "English"}
    assert (settings["charLimit"], settings["keyRequired"], settings["filesTranslation"]) == (5000, False, True)
    assert [one["name"] for one in asked(client.get("/languages"))] == ["English", "German", "French"]
    fields = {"q": "Grüße & <b>co</b>", "format": "html", "source": "en", "target": "de", "api_key": ""}
    parts = {name: (None, value) for name, value in fields.items()}
    assert asked(client.post("/translate", files=parts))["translatedText"] == "GRÜSSE &amp; <b>CO</b>"
    assert asked(client.post("/detect", params={"q": "Guten Morgen", "api_key": ""}))[0]["language"] == "de"


def test_npm_translate_and_libretranslate(client: TestClient) -> None:
    body = {"q": "Hello", "source": "en", "target": "de", "api_key": "x", "apiKey": "x"}
    assert asked(client.post("/translate", json=body))["translatedText"] == "HELLO"
    refused = client.post("/translate", json={**body, "target": "xx"})
    assert refused.status_code == 400
    assert "xx is not supported" in refused.json()["error"]


def test_twp_reads_the_language_in_any_case(client: TestClient) -> None:
    for source in ("auto", "en"):
        found = asked(client.post("/translate", content=f"q=Hello+world&source={source}&target=de", headers=FORM))
        assert found["detectedLanguage"]["language"] == "en"
        assert 0 <= found["detectedLanguage"]["confidence"] <= 100


def test_alternatives(client: TestClient) -> None:
    body = {"q": "Hello. Bye.", "source": "en", "target": "de", "alternatives": 2}
    assert asked(client.post("/translate", json=body)) == {
        "translatedText": "HELLO. BYE.",
        "detectedLanguage": {"confidence": 100.0, "language": "en"},
        "alternatives": ["HELLO.1 BYE.1", "HELLO.2 BYE.2"],
    }
    found = asked(client.post("/translate", json={**body, "q": ["<b>Hello</b>"], "format": "html"}))
    assert found["alternatives"] == [["<b>HELLO1</b>", "<b>HELLO2</b>"]]
    assert client.post("/translate", json={**body, "alternatives": 4}).status_code == 400


def test_line_breaks_and_spaces_are_kept(client: TestClient) -> None:
    text = "  One.  Two!\n\n\tThree? \r\n"
    found = asked(client.post("/translate", json={"q": text, "source": "en", "target": "de"}))
    assert found["translatedText"] == text.upper()


AUTHORIZED = {"Authorization": "DeepL-Auth-Key x:fx", "User-Agent": "deepl-python/1.22.0"}


def test_deepl_python(client: TestClient) -> None:
    body = {"target_lang": "DE", "text": ["Hello. Bye.", ""], "formality": "more", "show_billed_characters": True}
    found = asked(client.post("/v2/translate", json=body, headers=AUTHORIZED))["translations"]
    assert found[0] == {"detected_source_language": "EN", "text": "HELLO. BYE.", "billed_characters": 11}
    assert found[1]["text"] == ""
    found = asked(client.post("/v2/translate", data={"text": ["a", "b"], "target_lang": "de", "source_lang": "EN"}))
    assert [one["text"] for one in found["translations"]] == ["A", "B"]
    targets = asked(client.request("GET", "/v2/languages", data={"type": "target"}, headers=AUTHORIZED))
    assert targets[0] == {"language": "DE", "name": "German", "supports_formality": False}
    assert asked(client.get("/v2/languages?type=source")) == [
        {"language": "EN", "name": "English"},
        {"language": "DE", "name": "German"},
    ]
    assert asked(client.get("/v2/usage", headers=AUTHORIZED))["character_count"] >= 13


def test_deepl_of_weblate_keeps_what_must_not_be_translated(client: TestClient) -> None:
    assert asked(client.get("/v2/glossary-language-pairs", headers=AUTHORIZED)) == {"supported_languages": []}
    text = 'Hi <x id="1">%(name)s</x>, a &lt; b\nbye'
    body = {"text": [text], "source_lang": "EN", "target_lang": "DE", "tag_handling": "xml", "ignore_tags": ["x"]}
    body |= {"formality": "default", "context": "menu", "model_type": "prefer_quality_optimized"}
    [found] = asked(client.post("/v2/translate", json=body, headers=AUTHORIZED))["translations"]
    assert found["text"] == 'HI <x id="1">%(name)s</x>, A &lt; B\nBYE'


def test_deepl_splits_where_it_is_asked_to() -> None:
    translator = Capitals()
    with serving(("en", "de", translator)) as client:
        for split, sentences in (
            ("1", ["One", "two.", "Three."]),
            ("nonewlines", ["One two.", "Three."]),
            ("0", ["One two. Three."]),
        ):
            body = {"text": "One\ntwo. Three.", "target_lang": "DE", "source_lang": "EN", "split_sentences": split}
            assert asked(client.post("/v2/translate", json=body))["translations"][0]["text"]
            assert translator.batches[-1] == sentences


def test_deepl_finds_the_structure_of_xml() -> None:
    translator = Capitals()
    text = "<t>A title</t><p>One <b>two</b>. Three.</p>"
    with serving(("en", "de", translator)) as client:
        for option, sentences in (
            ({}, ["A title", "One two.", "Three."]),
            ({"non_splitting_tags": ["t", "p"]}, ["A titleOne two.", "Three."]),
            ({"outline_detection": "0"}, ["A titleOne two.", "Three."]),
            ({"outline_detection": False, "splitting_tags": ["p"]}, ["A title", "One two.", "Three."]),
        ):
            body = {"text": [text], "target_lang": "DE", "source_lang": "EN", "tag_handling": "xml", **option}
            [found] = asked(client.post("/v2/translate", json=body))["translations"]
            assert translator.batches[-1] == sentences
            assert re.sub("<[^<>]*>", "", found["text"]).replace(" ", "") == "ATITLEONETWO.THREE."


def test_deepl_errors_have_its_form(client: TestClient) -> None:
    for path, body, status in (
        ("/v2/translate", {"text": ["a"], "target_lang": "XX"}, 400),
        ("/v2/translate", {"text": ["a"]}, 400),
        ("/v2/translate", {"target_lang": "DE"}, 400),
        ("/v2/translate", {"text": ["a" * 6000], "target_lang": "DE"}, 413),
        ("/v2/glossaries", {}, 404),
        ("/v2/nothing", {}, 404),
    ):
        response = client.post(path, json=body)
        assert response.status_code == status, response.text
        assert set(response.json()) == {"message", "detail"}
