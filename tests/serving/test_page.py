"""The page's files, and what it asks for besides the translation."""

from pathlib import Path
from typing import Any

from served import Capitals, Pair, serving
from translators import small_api

import mt.serving
from mt.translation.known_words import known_words
from mt.translation.segments import Translation

STATIC = Path(mt.serving.__file__).parent / "static"
ASKED = {"q": "Hello big  world.\n😀 Bye", "source": "en", "target": "de"}


class Sure(Capitals):
    """Gives probabilities, and links words in reverse."""

    def _translation(self, text: str) -> Any:
        best = super()._translation(text)
        for one in (best, *best.others):
            count = len(text.split())
            one.probabilities = [1 / (1 + number) for number in range(count)]
            one.alignment = sorted((count - 1 - number, number) for number in range(count))
        return best


def test_the_page_loads_nothing_from_elsewhere() -> None:
    with serving() as client:
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
            response = client.get(path)
            assert response.status_code == 200
            assert response.headers["content-type"].startswith(kind)
            policy = response.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "//" not in response.text.replace("// ", "")
        assert client.get("/frontend/settings").json()["alternatives"] == 3
    text = "".join(path.read_text(encoding="utf-8") for path in STATIC.iterdir())
    assert text.count("\n") <= 600
    assert not [
        word
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=")
        if word in text
    ]


def test_words_have_probabilities_and_sources_where_they_are_asked_for() -> None:
    with serving(("en", "de", Sure())) as client:
        plain = client.post("/translate", json=ASKED).json()
        found = client.post("/translate", json={**ASKED, "details": True, "alternatives": 1}).json()
        marked = client.post(
            "/translate", json={**ASKED, "q": ["<b>Big</b> dog"], "format": "html", "details": "1"}
        ).json()
    assert set(plain) == {"translatedText", "detectedLanguage"}
    details, text = found["details"], found["translatedText"]
    assert text == plain["translatedText"] == "HELLO BIG WORLD.\n😀 BYE"
    words = [
        (word["text"], word["probability"], [ASKED["q"][start:end] for start, end in word["source"]])
        for word in details["words"]
    ]
    assert words == [
        *(("HELLO", 1.0, ["world."]), ("BIG", 0.5, ["big"]), ("WORLD.", 0.3333, ["Hello"])),
        *(("😀", 1.0, ["Bye"]), ("BYE", 0.5, ["😀"])),
    ]
    [others] = details["alternatives"]
    for version, of_version in ((text, details["words"]), (found["alternatives"][0], others)):
        assert [version[word["start"] : word["end"]] for word in of_version] == version.split()
    assert marked["details"][0]["words"] == [{"text": "BIG", "probability": 1.0}, {"text": "DOG", "probability": 0.5}]


def test_notices_of_all_sentences_are_in_the_details() -> None:
    class Copying(Sure):
        def _translation(self, text: str) -> Translation:
            read_as = {"Four": "For"} if "Four" in text else {}
            return Translation(text, 0.0, [], alignment=[], probabilities=[], read_as=read_as)

    with serving(("en", "de", Copying())) as client:
        [pair] = client.app.app.state.service.pairs
        known = known_words(["One two three."])
        client.app.app.state.service.pairs[:] = [Pair("en", "de", pair.translator, known)]
        body = {**ASKED, "q": "One two three. Four five.", "details": True}
        notices = client.post("/translate", json=body).json()["details"]["notices"]
    assert [(one["kind"], one["words"]) for one in notices] == [
        *(("copied", []), ("spelling", ["Four", "For"]), ("unknown_words", ["five"]))
    ]
    assert notices[1]["message"] == "'Four' was read as 'For'"


def test_a_model_gives_every_word_a_probability(tmp_path: Path) -> None:
    with serving(("en", "de", small_api(tmp_path))) as client:
        body = {**ASKED, "q": ["the house and the garden. bread!", ""], "details": True, "alternatives": 2}
        found = client.post("/translate", json=body).json()
    for text, details in zip(found["translatedText"], found["details"], strict=True):
        assert [word["text"] for word in details["words"]] == text.split()
        assert all(0 <= word["probability"] <= 1 for word in details["words"])
        assert all(word["source"] for word in details["words"])
