"""Static files of the pages, under a content security policy that lets nothing else run."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request, Response

from whymatch.show.html import asset

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_STATIC = Path(__file__).parent / "static"
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def file_routes(files: Mapping[str, tuple[str, ...]]) -> APIRouter:
    """Routes that serve files by address, those of one address joined; a browser that has them already gets a 304."""
    router = APIRouter(include_in_schema=False)

    async def serve(request: Request) -> Response:
        names = files[request.scope["route"].path]
        content = _content(names)
        etag = f'"{sha256(content).hexdigest()[:32]}"'
        headers = {"Content-Security-Policy": POLICY, "ETag": etag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        media_type = f"{_MEDIA_TYPES[Path(names[-1]).suffix]}; charset=utf-8"
        return Response(content, headers=headers, media_type=media_type)

    for path in files:
        router.add_api_route(path, serve)
    return router


@cache
def _content(names: tuple[str, ...]) -> bytes:
    """Files one after another: the page's own, and those that exported pictures have as well."""
    files = {name: _STATIC / name for name in names}
    texts = (file.read_text(encoding="utf-8") if file.is_file() else asset(name) for name, file in files.items())
    return "".join(texts).encode()
