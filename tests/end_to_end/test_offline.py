"""RELIABILITY 22: without a network everything works but a download, and that says what to do."""

import logging
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import small_runs
from mt.commands.average import average
from mt.commands.entry_point import run
from mt.commands.evaluate import evaluate
from mt.commands.inspect_corpus import inspect
from mt.commands.translate import translate


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Nothing outside this machine answers; returns whom the program tried to reach."""
    tried: list[str] = []

    def refuse(*arguments: Any, **_: Any) -> None:
        tried.append(str(arguments))
        raise OSError(101, "Network is unreachable")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nothing"))
    for handler in logging.getLogger("huggingface_hub").handlers:  # of an earlier test, whose standard error is closed
        monkeypatch.setattr(handler, "stream", sys.stderr)
    return tried


@pytest.mark.reliability(22)
def test_from_text_to_score_nobody_is_asked(
    tmp_path: Path, attempts: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/run", "training.max_steps=4"]
    assert small_runs.train(corpus) == 0
    here = f"run_dir={tmp_path}/run"
    assert run("translate", translate, [here, "source=house tree", "decoding.max_output_tokens=6"]) == 0
    assert run("evaluate", evaluate, [here, "split=test", "decoding.max_output_tokens=6"]) == 0
    assert run("average", average, [here, "checkpoints=1"]) == 0
    assert run("inspect", inspect, [*small_runs.arguments(corpus), f"output={tmp_path}/inspected"]) == 0
    assert attempts == []


@pytest.mark.reliability(22)
def test_a_download_that_fails_says_what_to_do(
    tmp_path: Path, attempts: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)  # between attempts
    words = ["data=multi30k_en_de", *small_runs.TINY, f"run_dir={tmp_path}/run", f"data.cache_dir={tmp_path}/cache"]
    assert small_runs.train(words) == 2
    error = capfd.readouterr().err
    assert "error: " in error
    assert "the Hugging Face Hub cannot be reached" in error
    assert "Traceback" not in error
    assert attempts
