"""What Prometheus is given at /metrics; no address and no key is among it."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from mt.serving.batcher import BatchReport

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counters of one application."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.waiting = Gauge("mt_queue_tokens", "Source subwords that wait", registry=registry)
        self._wait = Histogram(
            "mt_wait_seconds", "From a request to its first batch", buckets=_SECONDS, registry=registry
        )
        self._batch = Histogram("mt_batch_texts", "Sentences in a batch", buckets=_SIZES, registry=registry)
        self._tokens = Counter("mt_source_tokens", "Source subwords that were translated", registry=registry)
        self._busy = Counter("mt_model_seconds", "Time in which the model was busy", registry=registry)
        self._latency = Histogram(
            "mt_request_seconds",
            "From a request to its answer",
            ["path", "status"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._rejected = Counter("mt_rejected", "Requests that were turned away", ["status"], registry=registry)

    def note_batch(self, batch: BatchReport) -> None:
        """Count a batch."""
        self._batch.observe(batch.texts)
        self._tokens.inc(batch.tokens)
        self._busy.inc(batch.seconds)
        for seconds in batch.waits:
            self._wait.observe(seconds)

    def note_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request; `path` is one that is served, or `other`."""
        self._latency.labels(path, str(status)).observe(seconds)
        if status in (403, 413, 429, 503):
            self._rejected.labels(str(status)).inc()

    def text(self) -> bytes:
        """All of them in Prometheus's format."""
        return generate_latest(self.registry)
