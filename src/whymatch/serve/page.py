"""The page for people: files that are the same for everybody, under a policy that lets nothing else run."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request, Response

from whymatch.show.html import asset

STATIC = Path(__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# What each address serves: files of the page, and those of the picture, as exports have them.
FILES = {
    "/": ("page.html",),
    "/page.css": ("picture.css", "gallery.css", "page.css"),
    "/page.js": ("curves.js", "picture.js", "gallery.js", "examples.js", "page.js"),
    "/icon.svg": ("icon.svg",),
}
PATHS = frozenset(FILES)


def routes(files: Mapping[str, tuple[str, ...]]) -> APIRouter:
    """What serves files by address; a browser that has one already is told so."""
    router = APIRouter(include_in_schema=False)

    async def file(request: Request) -> Response:
        names = files[request.scope["route"].path]
        found = content(names)
        mark = f'"{sha256(found).hexdigest()[:32]}"'
        headers = {"Content-Security-Policy": POLICY, "ETag": mark, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        kind = KINDS[Path(names[-1]).suffix]
        return Response(found, headers=headers, media_type=f"{kind}; charset=utf-8")

    for path in files:
        router.add_api_route(path, file)
    return router


@cache
def content(names: tuple[str, ...]) -> bytes:
    """Files, one after another."""
    found = []
    for name in names:
        file = STATIC / name
        found.append(file.read_text(encoding="utf-8") if file.is_file() else asset(name))
    return "".join(found).encode()


ROUTES = routes(FILES)
