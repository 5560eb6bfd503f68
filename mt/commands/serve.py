"""mt-serve: finished runs behind HTTP, for the clients of LibreTranslate and of DeepL."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from functools import partial
from types import FrameType

from mt.config.schema import ServeConfig
from mt.errors import SignalledError, UserError
from mt.reporting import report
from mt.runs.signals import received_signal

try:
    import uvicorn
    from starlette.datastructures import State

    from mt.serving.application import Observed
    from mt.serving.configured import application_of, reload
except ModuleNotFoundError as missing:
    raise UserError(f"{missing.name} is not installed: in the repository, pip install -e '.[serve]'") from missing

_LONGEST_HEAD_BYTES = 1 << 18  # some clients send texts in the address
_KEEP_ALIVE_SECONDS = 75  # longer than proxies and clients, so that none sends into a connection that is being closed


def serve(config: ServeConfig) -> None:
    """Answer requests until SIGINT or SIGTERM; what was accepted is answered first. Raises UserError, BadFileError."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the models are loaded
    listening = bound_socket(config.host, config.port)
    application = application_of(config)
    application.app.state.service.warm_up()  # an error here is one line
    server = Server(application, partial(reload, config))
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
    except (OSError, UnicodeError) as error:  # the second of a name that cannot be a host's, such as a..b
        why = getattr(error, "strerror", None) or error
        raise UserError(f"cannot listen on {host}:{port}: {why}; choose others with host= port=") from error
    return bound


class Server(uvicorn.Server):
    """Says where it listens; loads its runs again at SIGHUP; is not ready any more when a signal asks it to end."""

    def __init__(self, app: Observed, reload: Callable[[State], None]) -> None:
        self._state, self._reload = app.app.state, reload
        self._reloading: asyncio.Task[None] | None = None
        self._again = False  # whether a signal came while the models were loaded
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            h11_max_incomplete_event_size=_LONGEST_HEAD_BYTES,
            proxy_headers=False,  # a client could choose what they say of it, and so a rate limit for each request
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Warm up, listen, and say so."""
        await super().startup(sockets)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._begin_exchange)
        for each in sockets or []:
            host, port = each.getsockname()[:2]
            report(f"serving on http://{f'[{host}]' if ':' in host else host}:{port}")

    def _begin_exchange(self) -> None:
        self._again = True
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.get_running_loop().create_task(self._exchange())

    async def _exchange(self) -> None:
        while self._again:
            self._again = False
            try:
                await asyncio.to_thread(self._reload, self._state)
            except Exception as error:  # noqa: BLE001  the server goes on
                why = str(error) or type(error).__name__
                report(f"the models from before go on, because others could not be loaded: {why}")
            else:
                report("the models were loaded again")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain."""
        self._state.ready = False
        super().handle_exit(sig, frame)
