"""LibreTranslate's interface, written from its public description: libretranslate.com/docs."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from mt.documents.formats import FORMATS
from mt.documents.tags import Markup, plain_text
from mt.serving import service
from mt.serving.documents import documents_of, download
from mt.serving.languages import name_of
from mt.serving.requests import Parameters, RequestError, gate_of, note, service_of

router = APIRouter()

_TEXTS = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_TEXT = {"type": "string"}
_LANGUAGE = {"type": "string", "example": "en"}


def body_of(required: list[str], **properties: Any) -> dict[str, Any]:
    """The description of a body, which may be JSON, a form or multipart data."""
    schema = {"schema": {"type": "object", "required": required, "properties": properties}}
    kinds = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    return {"requestBody": {"content": dict.fromkeys(kinds, schema)}}


def file_body_of(required: list[str], **properties: Any) -> dict[str, Any]:
    """The description of a body with a file."""
    file = {"type": "string", "format": "binary"}
    schema = {"type": "object", "required": required, "properties": {"file": file, **properties}}
    return {"requestBody": {"content": {"multipart/form-data": {"schema": schema}}}}


async def _admitted(request: Request) -> Parameters:
    parameters = await Parameters.of(request)
    gate_of(request).admit(request, parameters.text("api_key"), missing_status=400)
    return parameters


def _needed(parameters: Parameters, name: str) -> str:
    if not (text := parameters.text(name)):
        raise RequestError(400, f"Invalid request: missing {name} parameter")
    return text


@router.post(
    "/translate",
    response_model=dict[str, Any],
    openapi_extra=body_of(
        ["q", "source", "target"],
        q=_TEXTS,
        source=_LANGUAGE,
        target=_LANGUAGE,
        format={"type": "string", "enum": ["text", "html"]},
        alternatives={"type": "integer", "minimum": 0},
        details={"type": "boolean", "description": "adds `details`: words with probabilities, and notices"},
        api_key={"type": "string"},
    ),
)
async def translate(request: Request) -> Response:
    """Translate a text, or each text of a list; `source` may be `auto`."""
    parameters = await _admitted(request)
    texts = parameters.texts("q")
    if texts is None:
        raise RequestError(400, "Invalid request: missing q parameter")
    source, target = _needed(parameters, "source"), _needed(parameters, "target")
    kind = parameters.text("format", "text").lower()
    if kind not in ("text", "html"):
        raise RequestError(400, f"{kind} format is not supported")
    alternatives = parameters.number("alternatives")
    asked = service.Request(
        texts=[texts] if isinstance(texts, str) else texts,
        source=None if source.lower() == "auto" else source,
        target=target,
        alternatives=alternatives,
        markup=Markup(html=True) if kind == "html" else None,
        details=parameters.text("details", "false").lower() in ("true", "1"),
    )
    note(request, texts=len(asked.texts), characters=sum(map(len, asked.texts)), format=kind)
    answers = await gate_of(request).answer(request, service_of(request).translate(asked))
    return await asyncio.to_thread(_answer, answers, asked, alone=isinstance(texts, str))


def _answer(answers: Sequence[service.Answer], asked: service.Request, *, alone: bool) -> Response:
    """All texts as JSON, or a single one; not on the event loop, because many words take long."""
    found: dict[str, list[Any]] = {
        "translatedText": [one.text for one in answers],
        # Clients that ask for `auto` need it; one reads it always.
        "detectedLanguage": [{"confidence": one.confidence, "language": one.source} for one in answers],
    }
    if asked.alternatives:
        found["alternatives"] = [one.alternatives for one in answers]
    if asked.details:
        found["details"] = [_details(one) for one in answers]
    return JSONResponse({name: values[0] for name, values in found.items()} if alone else found)


def _details(answer: service.Answer) -> dict[str, Any]:
    best, *others = answer.words
    return {"words": best, "alternatives": others, "notices": [asdict(notice) for notice in answer.notices]}


@router.post("/detect", openapi_extra=body_of(["q"], q={"type": "string"}, api_key={"type": "string"}))
async def detect(request: Request) -> list[dict[str, Any]]:
    """Recognise the language of a text among those that are served, best first."""
    parameters = await _admitted(request)
    texts = parameters.texts("q")
    if texts is None:
        raise RequestError(400, "Invalid request: missing q parameter")
    texts = [texts] if isinstance(texts, str) else texts
    service_of(request).limits.check_texts(texts)
    found = service_of(request).detect(plain_text(" ".join(texts)))
    return [{"confidence": confidence, "language": code} for code, confidence in found]


@router.get("/languages")
async def languages(request: Request) -> list[dict[str, Any]]:
    """List the languages, each with those that it is translated to."""
    served = service_of(request)
    codes = dict.fromkeys([*served.sources(), *served.targets()])
    return [{"code": code, "name": name_of(code), "targets": served.targets(code)} for code in codes]


@router.get("/frontend/settings")
async def frontend_settings(request: Request) -> dict[str, Any]:
    """What a page that speaks to this server needs to know."""
    served, gate = service_of(request), gate_of(request)
    source, target = served.sources()[0], served.targets(served.sources()[0])[0]
    most = served.limits.characters
    return {
        "charLimit": -1 if most is None else most,
        "frontendTimeout": 500,
        "apiKeys": gate.keys is not None,
        "keyRequired": gate.keys is not None,
        "alternatives": (served.limits.n_best or 1) - 1,  # not of LibreTranslate; the page asks for no more
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": list(FORMATS),
        "language": {
            "source": {"code": source, "name": name_of(source)},
            "target": {"code": target, "name": name_of(target)},
        },
    }


@router.post(
    "/translate_file",
    openapi_extra=file_body_of(["file", "source", "target"], source=_LANGUAGE, target=_LANGUAGE, api_key=_TEXT),
)
async def translate_file(request: Request) -> dict[str, str]:
    """Translate a document and say where the translation can be downloaded; `source` may be `auto`."""
    parameters = await _admitted(request)
    source, target = _needed(parameters, "source"), _needed(parameters, "target")
    documents = documents_of(request)
    kept = await documents.start(parameters, None if source.lower() == "auto" else source, target)
    note(request, characters=kept.characters, format=kept.ending)
    await gate_of(request).answer(request, documents.finished(kept), timeout_seconds=documents.seconds)
    url = request.url_for("download_file", name=f"{kept.name}{kept.ending}")
    secure = request.headers.get("x-forwarded-proto") == "https"  # of a proxy with TLS in front
    return {"translatedFileUrl": str(url.replace(scheme="https") if secure else url)}


@router.get("/download_file/{name}", response_class=Response)
async def download_file(request: Request, name: str) -> Response:
    """Answer with a translated document, while it is kept."""
    return download(documents_of(request).find(name.partition(".")[0]))


@router.post("/suggest", include_in_schema=False)
async def not_offered() -> None:
    """Answer that this is off."""
    raise RequestError(403, "This function is not available on this server")
