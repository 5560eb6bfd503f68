"""mt-serve: a process that serves a finished run and answers what it has accepted before it ends."""

import importlib
import os
import re
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from served import TestClient, serving  # skips without the extra
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import small_runs
from mt.commands.entry_point import run
from mt.commands.serve import Server
from mt.errors import UserError
from mt.runs.folder import MODEL
from mt.runs.signals import end_on_signals


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder."""
    folder = tmp_path_factory.mktemp("finished")
    words = [f"run_dir={folder}/run", "training.max_steps=2", "training.validate_every_steps=9", "data.test=null"]
    assert small_runs.train(small_runs.write_corpus(folder / "corpus"), *words) == 0
    return folder / "run"


def _serve(log: Path, words: list[str]) -> None:
    from mt.commands.serve import serve  # noqa: PLC0415

    with log.open("ab") as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
    end_on_signals()
    sys.exit(run("serve", serve, words))


def started(log: Path, *words: str) -> tuple[BaseProcess, str]:
    """A server and its address."""
    process = small_runs.start(_serve, log, ["device=cpu", *words])
    deadline = time.monotonic() + 120
    while not (found := re.search(r"serving on (\S+)", log.read_text() if log.exists() else "")):
        assert process.is_alive(), log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process, found[1]


def test_a_signal_ends_the_server_when_all_is_answered(finished: Path, tmp_path: Path) -> None:
    process, address = started(tmp_path / "log", f"run_dir={finished}", "port=0", "decoding.beam_size=8")
    body: dict[str, Any] = {"q": ["house tree river stone."] * 60, "source": "en", "target": "de"}
    with httpx2.Client(base_url=address, timeout=120) as client, ThreadPoolExecutor(6) as pool:
        assert client.get("/ready").status_code == 200
        html = client.post("/translate", json={**body, "q": "<b>house</b> tree", "format": "html"}).json()
        assert html["translatedText"].count("<b>") == html["translatedText"].count("</b>") == 1
        answers = [pool.submit(client.post, "/translate", json=body) for _ in range(6)]
        while not re.search(r"mt_queue_tokens [1-9]", client.get("/metrics").text):
            assert not all(answer.done() for answer in answers)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGTERM)
        found = [answer.result() for answer in answers]
    assert [answer.status_code for answer in found] == [200] * 6
    assert {len(answer.json()["translatedText"]) for answer in found} == {60}
    assert small_runs.ended([process]) == [0]
    assert "house" not in (tmp_path / "log").read_text()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address}/health")


def test_headers_that_a_client_can_send_do_not_say_who_it_is() -> None:
    """Each new X-Forwarded-For would have a rate limit of its own."""
    with serving() as client:
        config = Server(client.app, reload=list).config  # type: ignore[arg-type]
        config.load()
    assert not isinstance(config.loaded_app, ProxyHeadersMiddleware)


def test_a_signal_loads_the_run_again_while_requests_are_answered(finished: Path, tmp_path: Path) -> None:
    """A run that cannot be loaded leaves the one from before."""
    run_dir, log = tmp_path / "run", tmp_path / "log"
    shutil.copytree(finished, run_dir)
    process, address = started(log, f"run_dir={run_dir}", "port=0")
    assert process.pid is not None
    body = {"q": "house tree", "source": "en", "target": "de"}
    with httpx2.Client(base_url=address, timeout=120) as client:
        for number, line in enumerate(("the models were loaded again", "the models from before go on")):
            if number:
                (run_dir / MODEL).write_bytes(b"no model")
            os.kill(process.pid, signal.SIGHUP)
            deadline = time.monotonic() + 60
            while line not in log.read_text():
                assert client.post("/translate", json=body).status_code == 200
                assert time.monotonic() < deadline, log.read_text()
        assert client.post("/translate", json=body).status_code == 200
    assert MODEL in log.read_text()
    os.kill(process.pid, signal.SIGTERM)
    assert small_runs.ended([process]) == [0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["runs=[nowhere]"], "runs: nowhere does not exist"),
        (["api_keys=keys"], "keys, line 1: expected the SHA-256 of a key"),
        (["port=70000"], "port: must be at least 0 and at most 65535, got 70000"),
        (["decoding=sampling"], "decoding.sampling: a server uses beam search"),
        (["runs=[{run}]"], "two runs translate from en to de"),
        (["host=192.0.2.1"], "cannot listen on 192.0.2.1:5000: Cannot assign"),
        (["host=a..b"], "cannot listen on a..b:5000: "),
    ],
)
def test_what_cannot_be_served_is_one_line(
    finished: Path, tmp_path: Path, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("keys").write_text("secret\n", encoding="utf-8")
    log = tmp_path / "log"
    process = small_runs.start(
        _serve, log, ["device=cpu", f"run_dir={finished}", *(word.replace("{run}", str(finished)) for word in words)]
    )
    assert small_runs.ended([process]) == [2], log.read_text()
    [line] = log.read_text().strip().split("\n")
    assert message in line


def test_ray_serve_gets_the_application_of_the_options(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself is not here: what it is handed is, and that answers."""
    deployed: dict[str, Any] = {}

    def deployment(replica: Any, **options: Any) -> Any:
        deployed.update(options, build=replica)
        return SimpleNamespace(bind=lambda: "bound")

    stub = SimpleNamespace(Application=object, ingress=lambda build: lambda _: build, deployment=deployment)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(serve=stub))
    monkeypatch.delitem(sys.modules, "mt.serving.ray", raising=False)
    application = importlib.import_module("mt.serving.ray").application
    assert application({"run_dir": str(finished), "replicas": "3", "device": "cpu", "max_texts": "1"}) == "bound"
    assert deployed["num_replicas"] == 3
    with TestClient(deployed["build"]()) as client:
        body = {"q": ["house", "tree"], "source": "en", "target": "de"}
        assert client.post("/translate", json=body).status_code == 400
        assert client.post("/translate", json=body | {"q": "house"}).status_code == 200
    for wrong in ({"replicas": "0"}, {"max_texts": "many"}, {}):
        with pytest.raises(UserError):
            application({"run_dir": str(finished), **wrong} if wrong else {})
