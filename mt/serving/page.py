"""The page for the browser at `/`: three files that load nothing from elsewhere."""

from pathlib import Path

from fastapi import APIRouter, Response

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).parent / "static"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_TYPES = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}


def _add(path: str, name: str) -> None:
    content = (_FOLDER / name).read_bytes()

    @router.api_route(path, methods=["GET", "HEAD"])
    async def file() -> Response:
        """Answer with one of the files."""
        return Response(content, media_type=_TYPES[name], headers=_HEADERS)


_add("/", "index.html")
_add("/page.css", "page.css")
_add("/page.js", "page.js")
