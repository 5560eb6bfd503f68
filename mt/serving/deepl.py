"""DeepL's interface, version 2, for its own clients and those of others."""

from typing import Any

from fastapi import APIRouter, Request, Response

from mt.documents.tags import Markup, structure
from mt.errors import MtError
from mt.serving import service
from mt.serving.documents import documents_of, download
from mt.serving.languages import name_of
from mt.serving.libretranslate import body_of, file_body_of
from mt.serving.requests import Parameters, RequestError, fault, gate_of, note, service_of

router = APIRouter(prefix="/v2")

_NO_LIMIT = 10**12  # characters; clients ask for a number
_SCHEME = "deepl-auth-key"


async def _admitted(request: Request) -> Parameters:
    gate = gate_of(request)
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    in_header = scheme.lower() == _SCHEME
    if in_header:  # before the body is read
        gate.admit(request, key.strip(), missing_status=403)
    parameters = await Parameters.of(request)
    if not in_header:
        gate.admit(request, parameters.text("auth_key"), missing_status=403)
    return parameters


@router.post(
    "/translate",
    openapi_extra=body_of(
        ["text", "target_lang"],
        text={"type": "array", "items": {"type": "string"}},
        target_lang={"type": "string", "example": "DE"},
        source_lang={"type": "string", "example": "EN"},
        tag_handling={"type": "string", "enum": ["xml", "html"]},
        ignore_tags={"type": "array", "items": {"type": "string"}},
        splitting_tags={"type": "array", "items": {"type": "string"}},
        non_splitting_tags={"type": "array", "items": {"type": "string"}},
        outline_detection={"type": "string", "enum": ["0", "1"]},
        split_sentences={"type": "string", "enum": ["0", "1", "nonewlines"]},
    ),
)
async def translate(request: Request) -> dict[str, Any]:
    """Translate texts. Formality, context and the kind of model are accepted and change nothing."""
    parameters = await _admitted(request)
    texts, target = parameters.texts("text"), parameters.text("target_lang")
    if texts is None or not target:
        raise RequestError(400, f"Value for '{'text' if texts is None else 'target_lang'}' is missing.")
    if parameters.text("glossary_id"):
        raise RequestError(404, "Glossaries are not supported yet")
    tags = parameters.text("tag_handling").lower()
    if tags not in ("", "xml", "html"):
        raise RequestError(400, "Value for 'tag_handling' not supported.")
    texts = [texts] if isinstance(texts, str) else texts
    split = parameters.text("split_sentences", "nonewlines" if tags == "html" else "1")
    splitting = parameters.names("splitting_tags")
    if tags == "xml" and parameters.text("outline_detection", "1").lower() not in ("0", "false"):
        splitting |= structure(texts) - parameters.names("non_splitting_tags")
    markup = Markup(html=tags == "html", ignored=parameters.names("ignore_tags"), splitting=splitting)
    asked = service.Request(
        texts=texts,
        source=parameters.text("source_lang") or None,
        target=target,
        markup=markup if tags else None,
        split_lines=split == "1",
        split_sentences=split != "0",
    )
    note(request, texts=len(asked.texts), characters=sum(map(len, asked.texts)), format=tags or "text")
    answers = await gate_of(request).answer(request, service_of(request).translate(asked))
    return {
        "translations": [
            {"detected_source_language": one.source.upper(), "text": one.text, "billed_characters": len(text)}
            for one, text in zip(answers, asked.texts, strict=True)
        ]
    }


@router.get("/languages")
@router.post("/languages", include_in_schema=False)
async def languages(request: Request) -> list[dict[str, Any]]:
    """List the source languages, or with `type=target` the target languages."""
    parameters = await _admitted(request)
    served, targets = service_of(request), parameters.text("type", "source") == "target"
    codes = served.targets() if targets else served.sources()
    formality = {"supports_formality": False} if targets else {}
    return [{"language": code.upper(), "name": name_of(code), **formality} for code in codes]


@router.get("/usage")
@router.post("/usage", include_in_schema=False)
async def usage(request: Request) -> dict[str, int]:
    """Count the characters that were translated since the server started."""
    await _admitted(request)
    return {"character_count": service_of(request).characters, "character_limit": _NO_LIMIT}


@router.get("/glossary-language-pairs", include_in_schema=False)
async def glossary_language_pairs() -> dict[str, list[Any]]:
    """No pair has glossaries yet. Weblate asks before each of its translations."""
    return {"supported_languages": []}


@router.api_route("/glossaries{rest:path}", methods=["GET", "POST", "DELETE"], include_in_schema=False)
async def not_supported() -> None:
    """Answer that these are not there yet."""
    raise RequestError(404, "Glossaries are not supported yet")


@router.post(
    "/document",
    openapi_extra=file_body_of(
        ["file", "target_lang"],
        target_lang={"type": "string", "example": "DE"},
        source_lang={"type": "string", "example": "EN"},
        filename={"type": "string"},
    ),
)
async def document(request: Request) -> dict[str, str]:
    """Begin to translate a document."""
    parameters = await _admitted(request)
    if not (target := parameters.text("target_lang")):
        raise RequestError(400, "Value for 'target_lang' is missing.")
    if parameters.text("glossary_id"):
        raise RequestError(404, "Glossaries are not supported yet")
    kept = await documents_of(request).start(parameters, parameters.text("source_lang") or None, target)
    note(request, characters=kept.characters, format=kept.ending)
    return {"document_id": kept.name, "document_key": kept.key}


@router.post("/document/{name}", openapi_extra=body_of(["document_key"], document_key={"type": "string"}))
@router.get("/document/{name}", include_in_schema=False)
async def document_status(request: Request, name: str) -> dict[str, Any]:
    """Say how far a document is."""
    parameters = await _admitted(request)
    kept = documents_of(request).find(name, parameters.text("document_key"))
    found = {"document_id": name, "status": "translating", "seconds_remaining": 1}
    if failure := kept.failure:
        known = isinstance(failure, MtError)
        note(request, **fault(failure))
        found |= {"status": "error", "error_message": str(failure) if known else "Internal error"}
    elif kept.task.done():
        found |= {"status": "done", "seconds_remaining": 0, "billed_characters": kept.characters}
    return found


@router.post(
    "/document/{name}/result",
    openapi_extra=body_of(["document_key"], document_key={"type": "string"}),
    response_class=Response,
)
async def document_result(request: Request, name: str) -> Response:
    """Answer with the translated document, once."""
    parameters = await _admitted(request)
    kept = documents_of(request).find(name, parameters.text("document_key"))
    if not kept.task.done() or kept.failure:
        raise RequestError(503, "The document is not translated yet", retry_seconds=1)
    found = download(kept)
    documents_of(request).forget(name)
    return found
