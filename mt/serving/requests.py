"""What a client sends, in any of the forms that clients use, and waiting for its answer."""

import asyncio
import json
import logging
import traceback
from collections.abc import Coroutine
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.requests import ClientDisconnect

from mt.data.lines import without_surrogates
from mt.serving.access import ApiKeys, RateLimit
from mt.serving.batcher import OverloadedError
from mt.serving.service import FailedError, Service

Result = TypeVar("Result")
_MOST_FIELDS = 5000
CLIENT_GONE = 499  # nginx's number; nobody reads the answer
MultiPartParser.spool_max_size = 1 << 40  # uploads stay in memory, and are limited elsewhere
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # its warnings have bytes of the request


class RequestError(Exception):
    """An answer that is an error, in the words of the interface that was asked."""

    def __init__(self, status: int, message: str, *, retry_seconds: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {} if retry_seconds is None else {"Retry-After": str(retry_seconds)}


class Parameters:
    """The fields of a request: of the query string, and of a JSON object, a form or multipart data."""

    def __init__(self, values: dict[str, Any], files: dict[str, UploadFile] | None = None) -> None:
        self._values, self._files = values, files or {}

    @classmethod
    async def of(cls, request: Request) -> "Parameters":
        """Read them; a field of the body counts more than one of the query string. Raises RequestError."""
        values = _grouped(_fields(request.scope["query_string"]))
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if kind == "application/json" or kind.endswith("+json"):
                return cls(values | _json_object(await request.body()))
            if kind == "application/x-www-form-urlencoded":
                return cls(values | _grouped(_fields(await request.body())))
            if kind != "multipart/form-data":
                return cls(values)
            items = (await request.form(max_fields=_MOST_FIELDS, max_part_size=1 << 30)).multi_items()
        except ClientDisconnect as error:
            raise RequestError(CLIENT_GONE, "the client hung up") from error
        except (HTTPException, ValueError) as error:
            raise RequestError(400, "Invalid request: the form cannot be read") from error
        files = {key: value for key, value in items if isinstance(value, UploadFile)}
        return cls(values | _grouped([(key, value) for key, value in items if isinstance(value, str)]), files)

    def texts(self, name: str) -> str | list[str] | None:
        """A text, or a list of them; None where it is missing. Raises RequestError for anything else."""
        value = self._values.get(name)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return [without_surrogates(each) for each in value]
        if value is None or isinstance(value, str):
            return value if value is None else without_surrogates(value)
        raise RequestError(400, f"Invalid request: {name} must be a text or a list of texts")

    def text(self, name: str, default: str = "") -> str:
        """One text; the default where it is missing, null or empty. Raises RequestError for anything else."""
        value = self._values.get(name)
        value = value[-1] if isinstance(value, list) and value else value
        if value is None or value == "":
            return default
        if isinstance(value, bool | int | float):
            return json.dumps(value)
        if not isinstance(value, str):
            raise RequestError(400, f"Invalid request: {name} must be a text")
        return without_surrogates(value)

    def file(self, name: str) -> UploadFile | None:
        """An uploaded file; None where it is missing."""
        return self._files.get(name)

    def number(self, name: str) -> int:
        """A whole number from 0; 0 where it is missing. Raises RequestError for anything else."""
        text = self.text(name, "0")
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise RequestError(400, f"Invalid request: {name} must be a whole number")
        return int(text)

    def names(self, name: str) -> frozenset[str]:
        """Names, as a list or separated by commas."""
        value = self.texts(name) or []
        return frozenset(word.strip() for word in (value.split(",") if isinstance(value, str) else value))


def _fields(encoded: bytes) -> list[tuple[str, str]]:
    """The fields of a query string or form; UTF-8 may be in it as it is, as `curl -d` sends it. Raises RequestError."""
    try:
        return parse_qsl(encoded.decode(errors="replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise RequestError(400, "Invalid request: the form cannot be read") from error


def _grouped(items: list[tuple[str, str]]) -> dict[str, Any]:
    """A field that comes several times is a list; so is one whose name ends in []."""
    lists: dict[str, list[str]] = {}
    for key, value in items:
        lists.setdefault(key.removesuffix("[]"), []).append(value)
    marked = {key.removesuffix("[]") for key, _ in items if key.endswith("[]")}
    return {name: found if len(found) > 1 or name in marked else found[0] for name, found in lists.items()}


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError) as error:
        raise RequestError(400, "Invalid request: the body is not valid JSON") from error
    if not isinstance(values, dict):
        raise RequestError(400, "Invalid request: the body is not a JSON object")
    return values


class Gate:
    """Who may ask, and for how long a client waits."""

    def __init__(self, keys: ApiKeys | None, rate: RateLimit, *, timeout_seconds: float) -> None:
        self.keys, self._rate, self._timeout_seconds = keys, rate, timeout_seconds

    def admit(self, request: Request, key: str, *, missing_status: int) -> None:
        """Raises RequestError without a key where one is needed, for a wrong one, and above the rate limit."""
        if self.keys is not None and not key:
            raise RequestError(missing_status, "Please contact the server operator to get an API key")
        if self.keys is not None and not self.keys.accept(key):
            raise RequestError(403, "Invalid API key")
        client = f"key {key}" if self.keys is not None else f"host {request.client.host if request.client else ''}"
        if not self._rate.allow(client):
            raise RequestError(429, "Slowdown: too many requests; try again in a minute", retry_seconds=60)

    async def answer(
        self, request: Request, work: Coroutine[Any, Any, Result], *, timeout_seconds: float | None = None
    ) -> Result:
        """Wait for the work, and give it up when the client hangs up or has waited too long. Raises RequestError."""
        seconds = timeout_seconds or self._timeout_seconds
        working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_hang_up(request))
        try:
            await asyncio.wait({working, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            if gone.done():
                gone.result()  # raises where the body was at fault
                raise RequestError(CLIENT_GONE, "the client hung up")
            raise RequestError(503, f"no answer within {seconds:g} s")  # once more would take as long
        except OverloadedError as error:
            raise RequestError(503, str(error), retry_seconds=error.retry_seconds) from error
        except FailedError as error:
            note(request, **fault(error))
            raise RequestError(500, str(error)) from error
        finally:
            gone.cancel()
            working.cancel()


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def service_of(request: Request) -> Service:
    """The service of the application that was asked."""
    service: Service = request.app.state.service
    return service


def gate_of(request: Request) -> Gate:
    """The gate of the application that was asked."""
    gate: Gate = request.app.state.gate
    return gate


def fault(error: BaseException) -> dict[str, Any]:
    """What the log says of an error: its kind and where it was raised; its message may hold a user's text."""
    error = error.__cause__ or error
    frames = traceback.extract_tb(error.__traceback__)
    return {"exception": type(error).__name__, "at": [f"{one.filename}:{one.lineno}" for one in frames[-3:]]}


def note(request: Request, **values: Any) -> None:
    """Add to the log line of a request; never what a user wrote."""
    request.scope.setdefault("noted", {}).update(values)
