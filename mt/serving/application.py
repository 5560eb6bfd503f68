"""The ASGI application: both interfaces, the state of the server, errors in the client's form, and the log."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from mt.errors import UserError
from mt.serving import deepl, libretranslate, page
from mt.serving.documents import Documents
from mt.serving.metrics import Metrics
from mt.serving.requests import Gate, RequestError, fault
from mt.serving.service import Service
from mt.translation.limits import LimitError

Scope = MutableMapping[str, Any]
_BYTES_PER_CHARACTER = 12  # an emoji in a form or in JSON, escaped
_OTHER_BYTES = 1 << 16
_MOST_OPEN = 20  # bodies of the largest size
_BODY_SECONDS = 60  # for a whole body to arrive


def application(
    service: Service,
    gate: Gate,
    metrics: Metrics,
    *,
    most_characters: int,
    documents: Documents,
    cors_origins: Sequence[str] = (),
    log: Callable[[str], None] | None = None,
) -> "Observed":
    """The application. It is ready when the service is warm; `log` gets a line of JSON for each request."""
    metrics.waiting.set_function(lambda: service.batcher.waiting_tokens)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.warm_up()
        app.state.ready = True
        yield
        app.state.ready = False
        await documents.close()  # nobody can fetch them any more
        await asyncio.to_thread(service.batcher.close)

    app = FastAPI(
        title="Machine translation",
        description="LibreTranslate's interface, and DeepL's under /v2.",
        lifespan=lifespan,
        openapi_url="/spec",
        docs_url=None,  # they load from other servers
        redoc_url=None,
    )
    app.state.ready, app.state.service, app.state.gate, app.state.metrics = False, service, gate, metrics
    app.state.documents = documents
    app.include_router(libretranslate.router)
    app.include_router(deepl.router)
    app.include_router(page.router)
    _add_state_of_server(app)
    _add_error_forms(app)
    if cors_origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(cors_origins), allow_methods=["*"], allow_headers=["*"])
    most_bytes = _OTHER_BYTES + _BYTES_PER_CHARACTER * most_characters
    most_of_file = dict.fromkeys(("/translate_file", "/v2/document"), documents.most_bytes + _OTHER_BYTES)
    return Observed(app, metrics, most_bytes=most_bytes, most_of_path=most_of_file, log=log)


def _add_state_of_server(app: FastAPI) -> None:
    @app.head("/health", include_in_schema=False)
    @app.get("/health")
    async def health() -> dict[str, str]:
        """Answer while the process lives, and 503 when nothing can be translated: a new process may help."""
        if not await asyncio.to_thread(app.state.service.works):
            raise RequestError(503, "nothing can be translated")
        return {"status": "ok"}

    @app.post("/", include_in_schema=False)
    async def root() -> dict[str, str]:
        """Answer those that try whether a server is there."""
        return {"status": "ok", "specification": "/spec"}

    @app.head("/ready", include_in_schema=False)
    @app.get("/ready")
    async def ready() -> Response:
        """Answer 503 until the models are warm, while the server drains, and when nothing can be translated."""
        if not app.state.ready:
            raise RequestError(503, "not ready", retry_seconds=1)
        return JSONResponse(await health())

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        """What Prometheus reads."""
        return Response(app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_error_forms(app: FastAPI) -> None:
    def answer(request: Request, status: int, message: str, headers: Any = None) -> JSONResponse:
        if request.url.path.startswith("/v2/"):
            return JSONResponse({"message": message, "detail": ""}, status, headers)
        return JSONResponse({"error": message}, status, headers)

    @app.exception_handler(RequestError)
    async def refused(request: Request, error: RequestError) -> JSONResponse:
        return answer(request, error.status, str(error), error.headers)

    @app.exception_handler(UserError)
    async def unusable(request: Request, error: UserError) -> JSONResponse:
        if request.url.path.startswith("/v2/"):
            return answer(request, 413 if isinstance(error, LimitError) else 400, str(error))
        return answer(request, 400, f"Invalid request: {error}")

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> JSONResponse:
        return answer(request, error.status_code, error.detail, error.headers)

    @app.exception_handler(Exception)
    async def failed(request: Request, _: Exception) -> JSONResponse:
        return answer(request, 500, "Internal error")


class Observed:
    """Around the application: the size of bodies, the time and outcome of each request, and a log without texts."""

    def __init__(
        self,
        app: FastAPI,
        metrics: Metrics,
        *,
        most_bytes: int,
        most_of_path: Mapping[str, int],
        log: Callable[[str], None] | None = None,
    ) -> None:
        """`most_bytes` are those of a request, unless its path has a number of its own.

        All open requests together may have 20 times as many as the largest.
        """
        self._most_of_path = most_of_path
        self.app, self._metrics, self._most_bytes, self._log = app, metrics, most_bytes, log
        self._open_bytes, self._most_open = 0, _MOST_OPEN * max([most_bytes, *most_of_path.values()])

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """One request, or the life of the server."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, seen, complete, status = time.monotonic(), 0, False, 500
        most = self._most_of_path.get(scope["path"], self._most_bytes)

        async def limited() -> Any:
            nonlocal seen, complete
            left = None if complete else start + _BODY_SECONDS - time.monotonic()
            try:
                message = await asyncio.wait_for(receive(), left)
            except TimeoutError as error:
                raise RequestError(408, f"the request did not arrive within {_BODY_SECONDS} seconds") from error
            complete = not message.get("more_body", False)
            size = len(message.get("body", b""))
            seen += size
            self._open_bytes += size
            if seen > most:
                raise RequestError(413, f"the request is larger than {most:,} bytes")
            if self._open_bytes > self._most_open:
                raise RequestError(503, "the server is receiving too much at once", retry_seconds=1)
            return message

        async def noted(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
            await send(message)

        failure: dict[str, Any] = {}
        try:
            await self.app(scope, limited, noted)
        except Exception as error:  # noqa: BLE001  answered with 500 already; its message may hold a user's text
            failure = fault(error)
        finally:
            self._open_bytes -= seen
        self._note(scope, status, time.monotonic() - start, failure)

    def _note(self, scope: Scope, status: int, seconds: float, failure: Mapping[str, Any]) -> None:
        """Count a request, and write its line of the log."""
        path = getattr(scope.get("route"), "path", "other")  # as it was declared, without what clients put into it
        self._metrics.note_request(path, status, seconds)
        if self._log is not None:
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "method": scope["method"],
                "path": path,
            }
            line |= {"status": status, "seconds": round(seconds, 3), **scope.get("noted", {}), **failure}
            self._log(json.dumps(line))
