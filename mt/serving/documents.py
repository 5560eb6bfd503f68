"""Documents that clients upload: translated in the background, and kept for a while under names that nobody guesses."""

import asyncio
import hmac
import secrets
from dataclasses import dataclass, field

from fastapi import Request, Response

from mt.documents.formats import FORMATS, ending_of, parse
from mt.serving.requests import Parameters, RequestError
from mt.serving.service import Service

_MOST_KEPT = 20  # documents of the largest size
_LEAST_BYTES = 1 << 16  # each document counts as so many at least, so that small ones are limited too


@dataclass(eq=False)
class Kept:
    """A document on its way; without what the client called it."""

    name: str
    ending: str
    size: int
    task: "asyncio.Task[bytes]"
    expiry: asyncio.TimerHandle
    characters: int
    downloaded: bool = False
    key: str = field(default_factory=lambda: secrets.token_hex(32))

    @property
    def failure(self) -> BaseException | None:
        """Why it could not be translated."""
        return self.task.exception() if self.task.done() and not self.task.cancelled() else None


class Documents:
    """What is being translated and what waits for its client, in memory."""

    def __init__(self, service: Service, *, most_bytes: int, seconds: float) -> None:
        """Take documents of at most `most_bytes`, and forget each after `seconds`."""
        self.most_bytes, self.seconds = most_bytes, seconds
        self._service = service
        self._kept: dict[str, Kept] = {}
        self._arriving = 0  # bytes that are being read

    async def start(self, parameters: Parameters, source: str | None, target: str) -> Kept:
        """Begin to translate the field `file`. Raises UserError for what cannot be translated, RequestError."""
        upload = parameters.file("file")
        if upload is None:
            raise RequestError(400, "Invalid request: missing file parameter")
        data, ending = await upload.read(), ending_of(parameters.text("filename") or upload.filename or "")
        await upload.close()
        if len(data) > self.most_bytes:
            raise RequestError(413, f"the document is larger than {self.most_bytes:,} bytes")
        self._check_room(len(data))
        self._arriving += len(data)
        try:
            document = await self._service.in_document_thread(parse, f"document{ending}", data)
        finally:
            self._arriving -= len(data)
        size = max(len(data), document.unpacked_bytes, min(_LEAST_BYTES, self.most_bytes))
        self._check_room(size)
        task = asyncio.create_task(self._service.translate_document(document, source, target))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())  # whether or not anyone asks for it
        name = secrets.token_hex(16)
        expiry = asyncio.get_running_loop().call_later(self.seconds, self.forget, name)
        kept = self._kept[name] = Kept(name, ending, size, task, expiry, sum(map(len, document.texts)))
        return kept

    def _check_room(self, size: int) -> None:
        """Raises RequestError where a document would be too many, or alone too much."""
        if size > _MOST_KEPT * self.most_bytes:
            raise RequestError(413, f"the document has {size:,} bytes when it is unpacked: too many")
        of_no_use = [one for one in self._kept.values() if one.downloaded or one.failure]
        while size + self._arriving + sum(one.size for one in self._kept.values()) > _MOST_KEPT * self.most_bytes:
            if not of_no_use:
                raise RequestError(503, "too many documents wait", retry_seconds=60)
            self.forget(of_no_use.pop(0).name)

    async def finished(self, kept: Kept) -> None:
        """Wait for a document; it is forgotten where nobody waits any more. Raises why it could not be translated."""
        try:
            await kept.task
        except BaseException as error:
            self.forget(kept.name)
            waiting = asyncio.current_task()
            if kept.task.cancelled() and not (waiting and waiting.cancelling()):
                raise RequestError(503, f"the document was given up after {self.seconds:g} s") from error
            raise

    def find(self, name: str, key: str | None = None) -> Kept:
        """The document of a name, and of a key where one is given. Raises RequestError."""
        kept = self._kept.get(name)
        if kept is None or (key is not None and not hmac.compare_digest(kept.key.encode(), key.encode())):
            raise RequestError(404, "Document not found")
        return kept

    def forget(self, name: str) -> None:
        """Stop a document if it is not finished, and keep it no longer."""
        if kept := self._kept.pop(name, None):
            kept.task.cancel()
            kept.expiry.cancel()

    async def close(self) -> None:
        """Forget all; what waits of them has left the queue then."""
        tasks = [kept.task for kept in self._kept.values()]
        for name in list(self._kept):
            self.forget(name)
        await asyncio.gather(*tasks, return_exceptions=True)


def download(kept: Kept) -> Response:
    """The translated file, which a browser stores and does not show. Raises RequestError where there is none."""
    if not kept.task.done() or kept.failure:
        raise RequestError(404, "Document not found")
    kept.downloaded = True
    headers = {"Content-Disposition": f'attachment; filename="{kept.name}{kept.ending}"', "Cache-Control": "no-store"}
    return Response(kept.task.result(), media_type=FORMATS[kept.ending][1], headers=headers)


def documents_of(request: Request) -> Documents:
    """The documents of the application that was asked."""
    documents: Documents = request.app.state.documents
    return documents
