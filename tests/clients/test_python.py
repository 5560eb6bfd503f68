"""Clients from PyPI, unchanged."""

from pathlib import Path

import deep_translator
import deepl
import libretranslatepy
import pytest

TEXT = "The house is in the garden."


def test_libretranslatepy(server: str) -> None:
    client = libretranslatepy.LibreTranslateAPI(f"{server}/")
    assert client.translate(TEXT, "en", "de")
    assert {"en", "de"} == {one["code"] for one in client.languages()}
    assert client.detect("The house is in the garden, and the bread is on the table.")[0]["language"] == "en"


def test_deep_translator(server: str) -> None:
    client = deep_translator.LibreTranslator(source="en", target="de", api_key="any", custom_url=f"{server}/")
    assert client.translate(TEXT)
    assert len(client.translate_batch([TEXT, "water"])) == 2


@pytest.fixture
def client(server: str) -> deepl.Translator:
    return deepl.Translator("any", server_url=server)


def test_deepl_texts(client: deepl.Translator) -> None:
    one = client.translate_text(TEXT, target_lang="DE")
    assert one.text
    assert one.detected_source_lang == "EN"
    assert one.billed_characters == len(TEXT)
    several = client.translate_text(
        [TEXT, "", TEXT],
        source_lang="EN",
        target_lang="DE",
        formality="prefer_more",
        context="a market",
        split_sentences="nonewlines",
        preserve_formatting=True,
        model_type="prefer_quality_optimized",
    )
    assert [bool(each.text) for each in several] == [True, False, True]


def test_deepl_tags(client: deepl.Translator) -> None:
    text = 'house <b class="a">tree</b> &amp; <x id="1">%(name)s</x> river'
    options = {"source_lang": "EN", "target_lang": "DE"}
    xml = client.translate_text(text, tag_handling="xml", ignore_tags=["x"], **options).text
    assert '<x id="1">%(name)s</x>' in xml
    assert xml.count("<b") == xml.count("</b>") == 1
    html = client.translate_text('<p translate="no">tree</p><p>bread</p>', tag_handling="html", **options).text
    assert html.startswith('<p translate="no">tree</p><p>')


def test_deepl_documents(client: deepl.Translator, tmp_path: Path) -> None:
    source, target = tmp_path / "a.md", tmp_path / "b.md"
    source.write_text("# house\n\n- the `tree` **river**\n", encoding="utf-8")
    status = client.translate_document_from_filepath(source, target, target_lang="DE")
    assert status.done
    found = target.read_text(encoding="utf-8")
    assert found.startswith("# ")
    assert "`tree`" in found
    with pytest.raises(deepl.DeepLException, match="not a document that can be translated"):
        client.translate_document_from_filepath(__file__, target, target_lang="DE")


def test_deepl_languages_usage_and_glossaries(client: deepl.Translator) -> None:
    assert "DE" in {str(one) for one in client.get_target_languages()}
    assert "EN" in {str(one) for one in client.get_source_languages()}
    client.translate_text(TEXT, source_lang="EN", target_lang="DE")
    assert client.get_usage().character.count >= len(TEXT)
    assert client.get_glossary_languages() == []
    with pytest.raises(deepl.DeepLException, match="not supported"):
        client.translate_text(TEXT, source_lang="EN", target_lang="DE", glossary="any")
    with pytest.raises(deepl.DeepLException, match="not supported"):
        client.translate_text(TEXT, target_lang="FR")
    with pytest.raises(deepl.GlossaryNotFoundException, match="not supported"):
        client.list_glossaries()
