"""mt-serve: finished runs behind HTTP, for the clients of LibreTranslate and of DeepL."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from mt.api import Translator
from mt.config.schema import ServeConfig
from mt.data.known_words import load_known_words
from mt.data.lines import read_lines
from mt.errors import MtError, SignalledError, UserError
from mt.fast.memory import keep_freed_memory
from mt.reporting import report
from mt.runs.folder import load_run, source_words
from mt.runs.signals import received_signal
from mt.translation.limits import Limits

try:
    import uvicorn

    from mt.serving.access import ApiKeys, RateLimit
    from mt.serving.application import Observed, application
    from mt.serving.documents import Documents
    from mt.serving.metrics import Metrics
    from mt.serving.requests import Gate
    from mt.serving.service import Pair, Service
except ModuleNotFoundError as missing:
    raise UserError(f"{missing.name} is not installed: in the repository, pip install -e '.[serve]'") from missing

_KEEP_ALIVE_SECONDS = 75  # longer than proxies and clients, so that none sends into a connection that is being closed


def serve(config: ServeConfig) -> None:
    """Answer requests until SIGINT or SIGTERM; what was accepted is answered first. Raises UserError, BadFileError."""
    keep_freed_memory()
    listening = bound_socket(config.host, config.port)
    server = Server(application_of(config), reload=lambda: pairs_of(config))
    with contextlib.suppress(SignalledError):  # uvicorn raises the signal again when all is answered
        server.run([listening])
    received_signal()


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket at that address, which does not listen yet. Raises UserError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        raise UserError(f"cannot listen on {host}:{port}: {error.strerror}; choose others with host= port=") from error
    return bound


def application_of(config: ServeConfig) -> Observed:
    """The application that a configuration describes, with its runs loaded."""
    keys = None if config.api_keys is None else ApiKeys(read_lines(config.api_keys), origin=config.api_keys)
    gate = Gate(keys, RateLimit(config.requests_per_minute), timeout_seconds=config.timeout_seconds)
    limits = Limits(
        texts=config.max_texts,
        characters=config.max_characters,
        subwords=config.queue_tokens,
        n_best=1 + config.max_alternatives,
    )
    metrics = Metrics()
    service = Service(
        pairs_of(config),
        limits=limits,
        batch_tokens=config.batch_tokens,
        queue_tokens=config.queue_tokens,
        report=metrics.note_batch,
    )
    return application(
        service,
        gate,
        metrics,
        most_characters=config.max_characters,
        documents=Documents(service, most_bytes=config.max_document_bytes, seconds=config.document_seconds),
        cors_origins=config.cors_origins,
        log=report,
    )


def pairs_of(config: ServeConfig) -> list[Pair]:
    """All runs, loaded. Raises UserError and BadFileError."""
    return [pair_of(config, run_dir) for run_dir in (config.run_dir, *config.runs)]


def pair_of(config: ServeConfig, run_dir: str) -> Pair:
    """A run, loaded."""
    data, decoding = load_run(run_dir).data, asdict(config.decoding)
    translator = Translator.from_run(
        run_dir, decoding=decoding, alignments=True, probabilities=True, device=config.device
    )
    known_words = load_known_words(source_words(Path(run_dir)))
    return Pair(data.source_language, data.target_language, translator, known_words)


class Server(uvicorn.Server):
    """Says where it listens; loads its runs again at SIGHUP; is not ready any more when a signal asks it to end."""

    def __init__(self, app: Observed, reload: Callable[[], list[Pair]]) -> None:
        self._state, self._reload = app.app.state, reload
        self._reloading: asyncio.Task[None] | None = None
        keep_alive = _KEEP_ALIVE_SECONDS
        super().__init__(uvicorn.Config(app, log_level="warning", access_log=False, timeout_keep_alive=keep_alive))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Warm up, listen, and say so."""
        await super().startup(sockets)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._begin_exchange)
        for each in sockets or []:
            host, port = each.getsockname()[:2]
            report(f"serving on http://{f'[{host}]' if ':' in host else host}:{port}")

    def _begin_exchange(self) -> None:
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.get_running_loop().create_task(asyncio.to_thread(self._exchange))

    def _exchange(self) -> None:
        try:
            self._state.service.exchange(self._reload())
        except (MtError, OSError, MemoryError, RuntimeError) as error:
            report(f"the models from before go on, because others could not be loaded: {error}")
        else:
            report("the models were loaded again")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain."""
        self._state.ready = False
        super().handle_exit(sig, frame)
