"""mt-serve: finished runs behind HTTP, for the clients of LibreTranslate and of DeepL."""

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from mt.api import Translator
from mt.config.schema import ServeConfig
from mt.data.lines import read_lines
from mt.errors import SignalledError, UserError
from mt.fast.memory import keep_freed_memory
from mt.reporting import report
from mt.runs.folder import load_run
from mt.runs.signals import received_signal
from mt.translation.limits import Limits

try:
    import uvicorn

    from mt.serving.access import ApiKeys, RateLimit
    from mt.serving.application import Observed, application
    from mt.serving.requests import Gate
    from mt.serving.service import Pair, Service
except ModuleNotFoundError as missing:
    raise UserError(f"{missing.name} is not installed: pip install 'mt-transformer[serve]'") from missing


def serve(config: ServeConfig) -> None:
    """Answer requests until SIGINT or SIGTERM; what was accepted is answered first. Raises UserError, BadFileError."""
    keep_freed_memory()
    server = Server(application_of(config), host=config.host, port=config.port)
    with contextlib.suppress(SignalledError):  # uvicorn raises the signal again when all is answered
        server.run()
    received_signal()
    if not server.started:
        raise UserError(f"port: cannot listen on {config.host}:{config.port}; choose another with port=")


def application_of(config: ServeConfig) -> Observed:
    """The application that a configuration describes."""
    keys = None if config.api_keys is None else ApiKeys(read_lines(config.api_keys), origin=config.api_keys)
    gate = Gate(keys, RateLimit(config.requests_per_minute), timeout_seconds=config.timeout_seconds)
    return application(
        lambda hears: service_of(config, hears),
        gate,
        most_characters=config.max_characters,
        cors_origins=config.cors_origins,
        log=report,
    )


def service_of(config: ServeConfig, hears: Callable[[Any], None]) -> Service:
    """The runs, loaded."""
    pairs = []
    for run_dir in (config.run_dir, *config.runs):
        data = load_run(run_dir).data
        translator = Translator.from_run(
            Path(run_dir), decoding=asdict(config.decoding), alignments=True, device=config.device
        )
        pairs.append(Pair(data.source_language, data.target_language, translator))
    limits = Limits(
        texts=config.max_texts,
        characters=config.max_characters,
        subwords=config.queue_tokens,
        n_best=1 + config.max_alternatives,
    )
    return Service(
        pairs, limits=limits, batch_tokens=config.batch_tokens, queue_tokens=config.queue_tokens, report=hears
    )


class Server(uvicorn.Server):
    """Says where it listens; is no longer ready when a signal asks it to end."""

    def __init__(self, app: Observed, *, host: str, port: int) -> None:
        self._state = app.app.state
        super().__init__(uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False))

    async def startup(self, sockets: Any = None) -> None:
        """Load the models, listen, and say so."""
        await super().startup(sockets)
        for server in self.servers:
            for socket in server.sockets:
                host, port = socket.getsockname()[:2]
                report(f"serving on http://{f'[{host}]' if ':' in host else host}:{port}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain."""
        self._state.ready = False
        super().handle_exit(sig, frame)
