"""What the server itself promises: limits, keys, overload, isolation, its state, and what it does not say."""

import asyncio
import gc
import hashlib
import json
import os
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import Request
from served import Capitals, Pair, Translation, serving, small_limits
from waiting import until

from mt.errors import UserError
from mt.serving.configured import reload
from mt.serving.requests import Parameters, RequestError
from mt.serving.service import FailedError, Service, _Way
from mt.translation.limits import Limits

ASKED = {"q": "Hello", "source": "en", "target": "de"}


class Reversed(Capitals):
    """Translates to the same letters in reverse."""

    def _translation(self, text: str) -> Any:
        return Translation(text[::-1], 0.0, [])


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"q": None}, 400, "missing q"),
        ({"q": [None]}, 400, "q must be a text or a list of texts"),
        ({"q": 5}, 400, "q must be a text or a list of texts"),
        ({"source": None}, 400, "missing source"),
        ({"target": ""}, 400, "missing target"),
        ({"target": "xx"}, 400, "xx is not supported as a target language"),
        ({"source": "fr"}, 400, "fr is not supported as a source language for the target de"),
        ({"format": "pdf"}, 400, "pdf format is not supported"),
        ({"alternatives": -1}, 400, "alternatives must be a whole number"),
        ({"q": ["a"] * 51}, 400, "51 texts: more than the limit of 50"),
        ({"q": "a" * 5001}, 400, "5,001 characters: more than the limit of 5,000"),
        ({"q": "<b>" * 200 + "a", "format": "html"}, 400, "more than 100 elements are inside each other"),
        ({"q": "a" * 200_000}, 413, "the request is larger than"),
        ({"q": "this fails"}, 500, "text 1 could not be translated"),
    ],
)
def test_errors_are_one_line_in_the_form_of_the_interface(changes: dict, status: int, message: str) -> None:
    with serving() as client:
        response = client.post("/translate", json={**ASKED, **changes})
    assert response.status_code == status
    assert list(response.json()) == ["error"]
    assert message in response.json()["error"]


@pytest.mark.parametrize("body", [b"{", b"[]", b'"a"', b"\xff", b"[" * 100_000, b'{"q": "\\ud800", "source": "en"}'])
def test_a_body_that_is_not_json_of_the_right_shape_is_refused(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with serving() as client:
        response = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
        assert response.status_code == 400
        broken = client.post("/translate", content=b"a", headers={"Content-Type": "multipart/form-data"})
        assert broken.status_code == 400
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        assert client.post("/translate", content=b"my text", headers=kind).status_code == 400
        assert not [one for one in caplog.records if one.name.startswith("python_multipart")]
        lone = json.dumps({**ASKED, "q": "a\ud800b", "target": "\udfff"}).encode()
        assert client.post("/translate", content=lone, headers={"Content-Type": "application/json"}).status_code == 400
        lone = lone.replace(b"\\udfff", b"de")
        found = client.post("/translate", content=lone, headers={"Content-Type": "application/json"})
        assert found.json()["translatedText"] == "A\ufffdB"
        assert client.get("/nothing").json() == {"error": "Not Found"}
        assert client.get("/translate").status_code == 405


def test_requests_that_wait_share_a_batch_and_one_bad_text_fails_alone() -> None:
    translator = Capitals()
    with serving(("en", "de", translator), batch_tokens=240) as client, ThreadPoolExecutor(12) as pool:
        translator.batches.clear()
        translator.free.clear()
        first = pool.submit(client.post, "/translate", json=ASKED)
        until(lambda: translator.batches)
        texts = [f"text {number}" if number != 4 else "this fails" for number in range(10)]
        others = [pool.submit(client.post, "/translate", json={**ASKED, "q": text}) for text in texts]
        batcher = client.app.app.state.service.batcher
        until(lambda: batcher.waiting_tokens == 30)
        translator.free.set()
        found = [each.result() for each in (first, *others)]
    assert [len(batch) for batch in translator.batches] == [1, 10]
    assert [each.status_code for each in found] == [200] * 5 + [500] + [200] * 5
    assert found[1].json()["translatedText"] == "TEXT 0"


def test_overload_is_answered_503_and_passes() -> None:
    translator = Capitals()
    with serving(("en", "de", translator), queue_tokens=20) as client, ThreadPoolExecutor(30) as pool:
        translator.free.clear()
        texts = [pool.submit(client.post, "/translate", json=ASKED)]
        until(lambda: "Hello" in translator.batches[-1])
        texts += [pool.submit(client.post, "/translate", json=ASKED) for _ in range(29)]  # ten of them may wait
        until(lambda: sum(each.done() for each in texts) == 19)
        assert client.get("/health").status_code == 200
        translator.free.set()
        found = [each.result() for each in texts]
        assert client.post("/translate", json=ASKED).status_code == 200
        metrics = client.get("/metrics").text
    refused = [each for each in found if each.status_code == 503]
    assert [each.status_code for each in found].count(200) == 11
    assert all(int(each.headers["Retry-After"]) >= 1 and "busy" in each.json()["error"] for each in refused)
    assert f'mt_rejected_total{{status="503"}} {len(refused)}.0' in metrics
    assert "mt_queue_tokens 0.0" in metrics


def test_a_request_that_takes_too_long_leaves_the_queue() -> None:
    translator = Capitals()
    with serving(("en", "de", translator), timeout_seconds=2.0) as client:
        translator.free.clear()
        batcher = client.app.app.state.service.batcher
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(client.post, "/translate", json=ASKED)
            until(lambda: "Hello" in translator.batches[-1])
            second = client.post("/translate", json={**ASKED, "q": "never"})
            assert first.result().status_code == second.status_code == 503
        assert "Retry-After" not in second.headers  # it would take as long again
        until(lambda: batcher.waiting_tokens == 0)
        translator.free.set()
        assert client.post("/translate", json=ASKED).status_code == 200
    assert ["never"] not in translator.batches


JSON = [(b"content-type", b"application/json")]
GONE = {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("headers", "query", "messages", "status"),
    [
        (JSON, b"", [{"type": "http.request", "body": json.dumps({**ASKED, "q": "never"}).encode()}, GONE], 499),
        ([], b"q=never&source=en&target=de", [{"type": "http.request", "body": b"a" * 200_000}, GONE], 413),
    ],
    ids=["hangs up", "sends too much"],
)
def test_a_client_that_hangs_up_leaves_the_queue(
    headers: list[tuple[bytes, bytes]], query: bytes, messages: list[dict[str, Any]], status: int
) -> None:
    """Spoken to in ASGI: the client goes as soon as it has sent its request, or sends a body that nothing asked for."""
    translator = Capitals()
    with serving(("en", "de", translator)) as client:
        translator.free.clear()
        blocked = threading.Thread(target=client.post, args=("/translate",), kwargs={"json": ASKED})
        blocked.start()
        until(lambda: "Hello" in translator.batches[-1])
        arriving, sent = iter(messages), list[Any]()

        async def receive() -> Any:
            return next(arriving)

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/translate", "query_string": query, "headers": headers}
        client.portal.call(client.app, scope, receive, send)
        assert sent[0]["status"] == status
        until(lambda: not client.app.app.state.service.batcher.waiting_tokens)
        translator.free.set()
        blocked.join()
    assert ["never"] not in translator.batches


@pytest.mark.parametrize(
    "kind", ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_client_that_hangs_up_before_it_has_sent_all_is_no_error(kind: str) -> None:
    messages = iter([{"type": "http.request", "body": b"--x", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(messages)

    scope = {"type": "http", "query_string": b"", "headers": [(b"content-type", kind.encode())]}
    with pytest.raises(RequestError, match="hung up"):
        asyncio.run(Parameters.of(Request(scope, receive)))


def test_bodies_on_their_way_are_limited_together() -> None:
    """Spoken to in ASGI: clients without a key send a document but for its end, and wait."""
    body = {"type": "http.request", "body": b"a" * (200_000 + (1 << 16)), "more_body": True}
    statuses, gone, deadline = list[int](), threading.Event(), time.monotonic() + 20

    async def upload(app: Any) -> None:
        messages = iter([body])

        async def receive() -> Any:
            if message := next(messages, None):
                return message
            while not gone.is_set() and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/translate_file", "query_string": b"", "headers": headers}
        await app(scope, receive, send)

    with serving(api_keys=os.devnull) as client:
        uploads = [client.portal.start_task_soon(upload, client.app) for _ in range(21)]
        until(lambda: statuses)
        refused = client.post("/detect", json={"q": "a"})
        gone.set()
        for each in uploads:
            each.result()
        assert statuses == [503] + [499] * 20
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert client.post("/detect", json={"q": "a"}).status_code == 400  # a key is missing


def test_a_body_has_a_minute_to_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mt.serving.application._BODY_SECONDS", 0.2)
    statuses = list[int]()

    async def upload(app: Any) -> None:
        messages = iter([{"type": "http.request", "body": b"{", "more_body": True}])

        async def receive() -> Any:
            message = next(messages, None)
            if message is None:
                await asyncio.sleep(20)
            return message

        async def send(message: Any) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/detect", "query_string": b"", "headers": headers}
        await app(scope, receive, send)

    with serving() as client:
        client.portal.call(upload, client.app)
        assert statuses == [408]
        assert client.post("/detect", json={"q": "a"}).status_code == 200


def test_a_key_in_a_header_is_checked_before_the_body_is_read() -> None:
    with serving(api_keys=os.devnull) as client:
        headers = {"Authorization": "DeepL-Auth-Key wrong", "Content-Type": "application/json"}
        assert client.post("/v2/translate", content=b"{", headers=headers).status_code == 403


def test_the_language_of_a_long_text_is_not_detected() -> None:
    with serving() as client:
        found = client.post("/detect", json={"q": "a" * 5001})
    assert found.status_code == 400
    assert "5,001 characters: more than the limit of 5,000" in found.json()["error"]


def test_keys_are_compared_by_their_hashes(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(
        f"# keys\n{hashlib.sha256(b'secret').hexdigest()}  of the wiki\n\n".replace("\n", "\n ")
    )
    deepl = {"text": ["a"], "target_lang": "DE"}
    with serving(api_keys=str(tmp_path / "keys")) as client:
        for key, status in ((None, 400), ("wrong", 403), ("secret", 200)):
            assert client.post("/translate", json={**ASKED, "api_key": key}).status_code == status
        for header, status in (({}, 403), ({"Authorization": "DeepL-Auth-Key wrong"}, 403)):
            assert client.post("/v2/translate", json=deepl, headers=header).status_code == status
        assert client.post("/v2/translate", json=deepl, headers={"Authorization": "DeepL-Auth-Key secret"}).is_success
        assert client.post("/v2/translate", json={**deepl, "auth_key": "secret"}).is_success
        assert client.get("/frontend/settings").json()["keyRequired"] is True
        assert client.get("/languages").status_code == 200


def test_a_signal_reads_the_keys_again(tmp_path: Path) -> None:
    """A file that cannot be read leaves those from before."""
    keys, asked = tmp_path / "keys", {**ASKED, "api_key": "new"}
    config = replace(small_limits(), api_keys=str(keys))
    keys.write_text(hashlib.sha256(b"old").hexdigest())
    with serving(api_keys=str(keys)) as client:
        state = client.app.app.state
        assert client.post("/translate", json=asked).status_code == 403
        keys.write_text("no key")
        with pytest.raises(UserError, match="line 1: expected the SHA-256"):
            reload(config, state)
        assert client.post("/translate", json={**asked, "api_key": "old"}).status_code == 200
        keys.write_text(hashlib.sha256(b"new").hexdigest())
        reload(config, state)
        assert client.post("/translate", json=asked).status_code == 200
        assert client.post("/translate", json={**asked, "api_key": "old"}).status_code == 403


def test_the_rate_of_a_client_is_limited() -> None:
    with serving(requests_per_minute=3) as client:
        found = [client.post("/translate", json=ASKED) for _ in range(4)]
    assert [each.status_code for each in found] == [200, 200, 200, 429]
    assert found[3].json()["error"].startswith("Slowdown")


def test_other_pages_may_ask_only_where_they_are_allowed() -> None:
    origin = {"Origin": "https://example.org"}
    with serving() as client:
        assert "access-control-allow-origin" not in client.get("/languages", headers=origin).headers
    with serving(cors_origins=["https://example.org"]) as client:
        assert client.get("/languages", headers=origin).headers["access-control-allow-origin"] == "https://example.org"


def test_the_log_holds_no_text_no_key_and_no_address() -> None:
    lines: list[str] = []
    with serving(log=lines.append) as client:
        service = client.app.app.state.service
        client.post("/translate?api_key=secretkey", json={**ASKED, "q": "Confidential"})
        service.detect = None  # a bug
        failed = client.post("/detect", json={"q": "Confidential"})
        for address in ("/download_file/secretname", "/secretpath", "/translate"):
            client.get(address)
    assert failed.status_code == 500
    assert failed.json() == {"error": "Internal error"}
    first, second, *_ = map(json.loads, lines)
    assert (first["path"], first["status"], first["texts"], first["characters"]) == ("/translate", 200, 1, 12)
    assert second["exception"] == "TypeError"
    assert [json.loads(line)["path"] for line in lines[2:]] == ["/download_file/{name}", "other", "/translate"]
    assert not [word for word in ("Confidential", "CONFIDENTIAL", "secret", "testclient") if word in str(lines)]


def test_the_state_of_the_server_and_its_description() -> None:
    with serving() as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/ready").status_code == 200
        client.app.app.state.ready = False
        assert client.get("/ready").status_code == 503
        paths = client.get("/spec").json()["paths"]
        assert {"/translate", "/detect", "/languages", "/frontend/settings", "/v2/translate", "/v2/usage"} <= set(paths)
        client.post("/translate", json={**ASKED, "q": "private words"})
        metrics = client.get("/metrics").text
        assert 'mt_request_seconds_count{path="/translate",status="200"} 1.0' in metrics
        assert "private" not in metrics
        assert client.post("/suggest").status_code == 403


def test_models_are_exchanged_behind_requests_that_wait() -> None:
    """What was asked before is translated by the model from before, what is asked then by the new one."""
    before = Capitals()
    with serving(("en", "de", before)) as client, ThreadPoolExecutor() as pool:
        before.free.clear()
        batches = len(before.batches)
        waiting = pool.submit(client.post, "/translate", json=ASKED)
        until(lambda: len(before.batches) > batches)
        application: Any = client.app
        application.app.state.service.exchange([Pair("en", "de", Reversed()), Pair("fr", "de", Reversed())])
        before.free.set()
        assert waiting.result().json()["translatedText"] == "HELLO"
        for source in ("en", "fr"):
            assert client.post("/translate", json=ASKED | {"source": source}).json()["translatedText"] == "olleH"
        assert len(before.batches) == batches + 1


def test_an_exchanged_model_is_let_go_although_it_was_asked_after_the_exchange() -> None:
    service = Service([Pair("en", "de", Capitals())], limits=Limits(), batch_tokens=99, queue_tokens=99)
    gone = weakref.ref(service.pairs[0].translator)
    way = _Way(service.pairs[0], 1, False)
    service.exchange([Pair("en", "de", Reversed())])
    assert [one.text for one in service.batcher.submit(way, ["late"], [1]).result()] == ["LATE"]
    del way
    until(lambda: gc.collect() >= 0 and gone() is None)
    service.batcher.close()


def test_a_model_that_cannot_translate_is_not_served() -> None:
    class Broken(Capitals):
        def _translation(self, text: str) -> Any:
            return RuntimeError(f"no finite scores for {text}")

    with serving() as client:
        application: Any = client.app
        with pytest.raises(FailedError, match="from en to de cannot translate: no finite scores"):
            application.app.state.service.exchange([Pair("en", "de", Broken())])
        assert client.post("/translate", json=ASKED).json()["translatedText"] == "HELLO"


def test_text_in_the_target_language_stays_as_it_is() -> None:
    german = "Das ist schon ein deutscher Satz, der bleibt."
    with serving() as client:
        for source, text, expected in (
            ("auto", german, german),
            ("de", "Hello", "Hello"),
            ("auto", "This is an English sentence.", "THIS IS AN ENGLISH SENTENCE."),
            ("auto", "Hotel", "HOTEL"),  # of any language, so that the server's own decides
        ):
            asked = {"q": text, "source": source, "target": "de", "alternatives": 1, "details": True}
            found = client.post("/translate", json=asked).json()
            assert found["translatedText"] == expected
        assert client.post("/detect", json={"q": german}).json()[0]["language"] == "de"
        document = {"files": {"file": ("a.txt", german.encode())}, "data": {"source": "auto", "target": "de"}}
        assert "seems to be in de already" in client.post("/translate_file", **document).json()["error"]
        document["data"]["source"] = "de"
        assert "is said to be in de already" in client.post("/translate_file", **document).json()["error"]


def test_where_nothing_can_be_translated_the_server_is_not_ready() -> None:
    """A text that alone fails is no reason; nor are failures of models that have been exchanged."""
    lines: list[str] = []
    broken: list[int] = []

    class Breaking(Capitals):
        def _translation(self, text: str) -> Any:
            return super()._translation("fails" if broken else text)

    with serving(("en", "de", Breaking()), log=lines.append) as client:

        def fail() -> None:
            for _ in range(10):
                assert client.get("/ready").status_code == 200
                assert client.post("/translate", json={**ASKED, "q": "fails"}).status_code == 500

        fail()
        assert client.get("/ready").status_code == client.get("/health").status_code == 200
        fail()
        broken.append(1)
        assert client.get("/ready").status_code == client.get("/health").status_code == 503
        broken.clear()
        assert client.get("/ready").status_code == client.get("/health").status_code == 200
    [failed] = {line["exception"] for line in map(json.loads, lines) if line["status"] == 500}
    assert failed == "RuntimeError"


@pytest.mark.parametrize("path", ["/", "/health", "/ready"])
def test_a_head_is_answered(path: str) -> None:
    with serving() as client:
        assert client.head(path).status_code == 200


def test_forms_and_addresses_hold_utf_8_as_it_is_typed() -> None:
    """As `curl -d` sends it."""
    header = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    with serving() as client:
        form = "source=en&target=de&q=Wo ist die Tür%3F ½"
        found = client.post("/translate", content=form.encode(), headers=header)
        assert found.json()["translatedText"] == "WO IST DIE TÜR? ½"
        many = client.post("/translate", content="&".join(["q=a"] * 6000), headers=header)
        parts = client.post("/translate", content=b"a", headers={"Content-Type": "multipart/form-data"})  # no boundary
        for refused in (many, parts):
            assert (refused.status_code, refused.json()["error"]) == (400, "Invalid request: the form cannot be read")
    scope = {"type": "http", "headers": [], "query_string": "q=Tür&q=%C3%9Cben&target=".encode()}
    parameters = asyncio.run(Parameters.of(Request(scope)))
    assert (parameters.texts("q"), parameters.text("target", "de")) == (["Tür", "Üben"], "de")


def test_two_runs_of_one_pair_are_refused() -> None:
    with (
        pytest.raises(Exception, match="two runs translate from en to de"),
        serving(("en", "de", Capitals()), ("EN", "de", Capitals())),
    ):
        pass


def test_languages_without_spaces_have_none_between_sentences() -> None:
    with serving(("en", "zh", Capitals(separator="")), ("zh", "en", Capitals())) as client:
        body = {"q": "One. Two.\nThree.", "source": "en", "target": "zh-Hans"}
        assert client.post("/translate", json=body).json()["translatedText"] == "ONE.TWO.\nTHREE."
        body = {"q": "你好。很好。", "source": "ZH", "target": "en"}
        assert client.post("/translate", json=body).json()["translatedText"] == "你好。 很好。"


def test_code_of_a_served_language() -> None:
    from mt.serving.languages import Detector, find_code  # noqa: PLC0415

    served = ["en", "pt-BR", "zh", "he"]
    asked = {
        "EN": "en",
        "en-US": "en",
        "pb": "pt-BR",
        "pt": "pt-BR",
        "zt": "zh",
        "zh-Hans": "zh",
        "iw": "he",
        "fr": None,
        "": None,
    }
    assert {code: find_code(code, served) for code in asked} == asked
    assert Detector().detect("Das ist ein schönes Haus.", ["en", "de"])[0][0] == "de"
    assert Detector().detect("", ["en", "de"]) == [("en", 0.0), ("de", 0.0)]
    assert Detector().detect("Das ist ein schönes Haus.", ["en"]) == [("en", pytest.approx(0, abs=5))]
