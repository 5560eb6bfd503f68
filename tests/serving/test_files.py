"""Documents over HTTP: both interfaces, who gets them, for how long, and what is refused."""

import io
import tempfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from served import Capitals, serving
from waiting import until

from mt.documents.formats import FORMATS

MARKDOWN = b"# the *red* book\n\n> it is\n> here.\n"
LANGUAGES = {"source": "en", "target": "de"}


def upload(client: Any, content: bytes = MARKDOWN, name: str = "../my book.md", **fields: str) -> Any:
    return client.post("/translate_file", files={"file": (name, content)}, data={**LANGUAGES, **fields})


def test_libretranslate_answers_with_an_address() -> None:
    with serving() as client:
        address = upload(client, source="auto").json()["translatedFileUrl"]
        assert address.startswith("http://testserver/download_file/")
        assert "book" not in address
        found = client.get(address)
        assert found.content == b"# THE *RED* BOOK\n\n> IT IS\n> HERE.\n"
        assert found.headers["content-disposition"].startswith("attachment")
        assert found.headers["content-type"].startswith("text/markdown")
        assert client.get(address + "x").status_code == 200  # the ending is for the browser only
        assert client.get("/download_file/0123.md").json() == {"error": "Document not found"}
        settings = client.get("/frontend/settings").json()
        assert settings["filesTranslation"] is True
        assert settings["supportedFilesFormat"] == list(FORMATS)
        assert {"/translate_file", "/v2/document"} <= set(client.get("/spec").json()["paths"])


def test_deepl_answers_step_by_step() -> None:
    translator = Capitals()
    with serving(("en", "de", translator), batch_tokens=4) as client:
        translator.free.clear()
        german = {"target_lang": "DE"}
        sent = client.post("/v2/document", files={"file": ("a.txt", b"one.\ntwo. fails not\n")}, data=german)
        assert sent.is_success, sent.json()
        name, key = sent.json()["document_id"], {"document_key": sent.json()["document_key"]}
        assert client.post(f"/v2/document/{name}", data={"document_key": "x"}).status_code == 404
        assert client.post(f"/v2/document/{name}", data=key).json()["status"] == "translating"
        assert client.post(f"/v2/document/{name}/result", data=key).status_code == 503
        translator.free.set()
        until_done(client, name, key, "error")
        assert client.get(f"/download_file/{name}").status_code == 404
        sent = client.post("/v2/document", files={"file": ("a.txt", b"one.\ntwo. three\n")}, data=german)
        name, key = sent.json()["document_id"], {"document_key": sent.json()["document_key"]}
        assert until_done(client, name, key, "done")["billed_characters"] == 14
        assert client.post(f"/v2/document/{name}/result", data=key).content == b"ONE.\nTWO. THREE\n"
        assert client.post(f"/v2/document/{name}/result", data=key).status_code == 404


def until_done(client: Any, name: str, key: dict[str, str], status: str) -> Any:
    deadline = time.monotonic() + 20
    while (found := client.post(f"/v2/document/{name}", data=key).json())["status"] == "translating":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert found["status"] == status
    return found


@pytest.mark.parametrize(
    ("content", "name", "fields", "status", "message"),
    [
        (b"a", "a.pdf", {}, 400, "not a document that can be translated; its name must end in one of .docx"),
        (b"a", "", {}, 400, "missing file parameter"),
        (b"a", "a.docx", {}, 400, "document.docx: damaged"),
        (b"\xe9", "a.txt", {}, 400, "not UTF-8 text"),
        (b"a", "a.txt", {"target": "xx"}, 400, "xx is not supported as a target language"),
        (b"a", "a.txt", {"source": ""}, 400, "missing source"),
        (b"a" * 200_001, "a.txt", {}, 413, "larger than 200,000 bytes"),
        (b"a" * 300_000, "a.txt", {}, 413, "larger than"),
        (b"this fails", "a.txt", {}, 500, "could not be translated"),
    ],
)
def test_what_cannot_be_translated(content: bytes, name: str, fields: dict, status: int, message: str) -> None:
    with serving() as client:
        found = upload(client, content, name, **fields)
        assert found.status_code == status
        assert message in found.json()["error"]
        assert not client.app.app.state.documents._kept
        assert client.post("/translate_file", data=LANGUAGES).status_code == 400


def test_documents_are_forgotten_after_a_while() -> None:
    lines: list[str] = []
    with serving(document_seconds=2.0, log=lines.append) as client:
        address = upload(client).json()["translatedFileUrl"]
        assert client.get(address).status_code == 200
        until(lambda: client.get(address).status_code == 404, seconds=20)
    assert lines
    assert not [line for line in lines if "book" in line or address.rpartition("/")[2] in line]


def test_not_too_many_documents_are_kept() -> None:
    with serving(max_document_bytes=100) as client:
        found = [upload(client, b"a" * size, "a.txt") for size in (100, *[1] * 20)]
        assert [each.status_code for each in found] == [200] * 20 + [503]
        first = found[0].json()["translatedFileUrl"]
        assert client.get(first).status_code == 200
        assert upload(client, b"a", "a.txt").status_code == 200  # instead of one that was downloaded
        assert client.get(first).status_code == 404
        assert client.get(found[1].json()["translatedFileUrl"]).status_code == 200


def test_few_large_documents_are_worked_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mt.serving.service._SMALL_DOCUMENT", 1)
    translator = Capitals()
    with serving(("en", "de", translator)) as client:
        translator.free.clear()
        form = {"data": {"source_lang": "EN", "target_lang": "DE"}}
        for number in range(5):
            file = {"files": {"file": ("a.txt", b"text %d" % number)}}
            assert client.post("/v2/document", **file, **form).status_code == 200
        kept = client.app.app.state.documents._kept.values()
        until(lambda: "text 0" in str(translator.batches))
        time.sleep(0.1)
        batcher = client.app.app.state.service.batcher
        waiting = batcher.waiting_tokens
        assert waiting <= 3  # of the second
        file = {"files": {"file": ("a.txt", b"x")}}
        assert client.post("/v2/document", **file, **form).status_code == 200
        until(lambda: batcher.waiting_tokens == waiting + 2)  # of a small one, which does not wait
        translator.free.set()
        until(lambda: all(one.task.done() for one in kept))
    texts = sorted(text for batch in translator.batches for text in batch if text != "1")
    assert texts == [*(f"text {number}" for number in range(5)), "x"]


def test_a_document_counts_with_what_it_unpacks_to() -> None:
    """A picture of zeros is small only as long as it is packed."""
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        text = "<w:body><w:p><w:r><w:t>A book.</w:t></w:r></w:p></w:body>"
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{namespace}">{text}</w:document>')
        archive.writestr("word/media/image1.bmp", bytes(3_000_000))
    with serving() as client:
        found = [upload(client, stream.getvalue(), "a.docx").status_code for _ in range(3)]
    assert found == [200, 503, 503]


def test_uploads_are_not_written_to_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    rolled = []
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", lambda _: rolled.append(1))
    with serving(max_document_bytes=5_000_000) as client:
        assert upload(client, b"a." + b" " * 2_000_000, "a.txt").status_code == 200
    assert not rolled


def test_the_server_ends_without_translating_documents_for_nobody() -> None:
    translator = Capitals()
    with serving(("en", "de", translator), batch_tokens=8) as client:
        translator.free.clear()
        text = b"".join(b"line %d is here.\n" % number for number in range(60))
        form = {"source_lang": "EN", "target_lang": "DE"}
        assert client.post("/v2/document", files={"file": ("a.txt", text)}, data=form).status_code == 200
        until(lambda: "line" in str(translator.batches))
        batches = len(translator.batches)
        threading.Timer(0.3, translator.free.set).start()
    assert len(translator.batches) <= batches + 1


def test_an_address_behind_tls_is_one_of_tls() -> None:
    with serving() as client:
        files = {"file": ("a.md", MARKDOWN)}
        found = client.post("/translate_file", files=files, data=LANGUAGES, headers={"X-Forwarded-Proto": "https"})
    assert found.json()["translatedFileUrl"].startswith("https://testserver/download_file/")


def test_who_waits_for_a_document_that_is_given_up_learns_of_it() -> None:
    translator = Capitals()
    with serving(("en", "de", translator)) as client, ThreadPoolExecutor() as pool:
        translator.free.clear()
        documents = client.app.app.state.documents
        waiting = pool.submit(upload, client)
        [kept] = until(lambda: list(documents._kept.values()))
        client.portal.call(documents.forget, kept.name)
        translator.free.set()
        assert waiting.result().status_code == 503
        assert "given up" in waiting.result().json()["error"]
        assert kept.expiry.cancelled()


def test_a_document_leaves_room_in_the_queue() -> None:
    translator = Capitals()
    with serving(("en", "de", translator), queue_tokens=34, batch_tokens=8) as client, ThreadPoolExecutor() as pool:
        translator.free.clear()
        document = pool.submit(upload, client, b"this line is here.\n" * 60, "a.txt")
        until(lambda: "line" in str(translator.batches))
        text = pool.submit(client.post, "/translate", json={"q": "a " * 12, **LANGUAGES})
        until(lambda: client.app.app.state.service.batcher.waiting_tokens)
        translator.free.set()
        assert text.result().status_code == document.result().status_code == 200


def test_a_document_larger_than_the_queue_waits_and_holds_up_nobody() -> None:
    translator = Capitals()
    with serving(("en", "de", translator), queue_tokens=30, batch_tokens=8) as client:
        text = b"".join(b"line %d is here.\n" % number for number in range(60))
        assert client.get(upload(client, text, "a.txt").json()["translatedFileUrl"]).content == text.upper()
        assert max(sum(len(each.split()) + 1 for each in batch) for batch in translator.batches) <= 10
