"""What goes wrong, as problem details (RFC 9457): what happened and what to do, and nothing of the insides."""

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

MEDIA = "application/problem+json"
MOST = 20  # errors that one answer lists
TYPE = re.compile(r"(str|int|float|constrained-str|ConstraintObject|\w[\w-]*\[.*)$", re.DOTALL)
LONGEST = 60  # characters of a name that came with a request
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "example": "about:blank"},
        "title": {"type": "string", "example": "Unprocessable Content"},
        "status": {"type": "integer", "example": 422},
        "detail": {"type": "string", "example": "A text is empty: there is nothing to align."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"at": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


class Problem(Exception):  # noqa: N818 (the word of RFC 9457)
    """A refusal: raised anywhere in a request, it becomes the answer."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.errors = status, detail, errors
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    def body(self) -> bytes:
        """The problem as JSON; ASCII, so that half a surrogate pair in a name does no harm."""
        values: dict[str, Any] = {"type": "about:blank", "title": phrase(self.status), "status": self.status}
        values["detail"] = self.detail
        if self.errors:
            values["errors"] = [*self.errors]
        return json.dumps(values, ensure_ascii=True).encode()

    def response(self) -> Response:
        """The answer that says so."""
        return Response(self.body(), self.status, self.headers, MEDIA)


def phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def add_problems(app: FastAPI) -> None:
    """Makes every refusal of an app a problem."""

    @app.exception_handler(Problem)
    async def refuse(request: Request, error: Problem) -> Response:
        return error.response()

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return Problem(error.status_code, f"{error.detail}.".replace("..", "."), headers=error.headers).response()

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return unreadable(error.errors()).response()


def unreadable(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """What a request got wrong, field by field; never what it held."""
    if errors and errors[0]["type"] == "json_invalid":
        return Problem(400, f"The body is not JSON: see character {errors[0]['loc'][-1]}.")
    told = [{"at": place(error["loc"]), "message": message(error)} for error in errors[:MOST]]
    more = f" (and {len(errors) - MOST} more)" if len(errors) > MOST else ""
    first = f"{told[0]['at']}: {told[0]['message']}" if told else "It cannot be read."
    return Problem(422, f"The request is not as /openapi.json describes it. {first}{more}", errors=told)


def message(error: Mapping[str, Any]) -> str:
    """The reason without what pydantic puts before that of our own checks."""
    return str(error["msg"]).removeprefix("Value error, ").removesuffix(".") + "."


def place(loc: Sequence[object]) -> str:
    """Where it is, as a JSON pointer, without the names of types that pydantic puts in between.

    >>> place(("body", "pairs", 3, "left", "list[str]"))
    '/pairs/3/left'
    """
    parts = [str(part)[:LONGEST] for part in loc[loc[:1] == ("body",) :]]
    return "/" + "/".join(part for part in parts if not TYPE.match(part))


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problems as OpenAPI lists them."""
    content = {MEDIA: {"schema": SCHEMA}}
    return {status: {"description": phrase(status), "content": content} for status in statuses}
