"""Errors as problem details (RFC 9457): what happened and what to do, and nothing about the server's internals."""

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

MEDIA_TYPE = "application/problem+json"
_MAX_ERRORS = 20  # listed in one answer
_MAX_NAME = 60  # characters of a field's name that came with a request
_TYPE_NAME = re.compile(r"(str|int|float|constrained-str|ConstraintObject|NamedSource|\w[\w-]*\[.*)$", re.DOTALL)
_TEXT = {"type": "string"}
_ERROR = {"type": "object", "properties": {"at": _TEXT, "message": _TEXT}}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": _TEXT | {"example": "about:blank"},
        "title": _TEXT | {"example": "Unprocessable Content"},
        "status": {"type": "integer", "example": 422},
        "detail": _TEXT | {"example": "A text is empty: there is nothing to align."},
        "errors": {"type": "array", "items": _ERROR},
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
        """The problem as JSON, in ASCII, because a name may hold an unpaired surrogate."""
        values = {"type": "about:blank", "title": phrase(self.status), "status": self.status, "detail": self.detail}
        return json.dumps(values | ({"errors": [*self.errors]} if self.errors else {}), ensure_ascii=True).encode()

    def response(self) -> Response:
        return Response(self.body(), self.status, self.headers, MEDIA_TYPE)


def phrase(status: int) -> str:
    """The standard phrase of an HTTP status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def add_problems(app: FastAPI) -> None:
    """Makes an app answer every refusal with a problem."""

    @app.exception_handler(Problem)
    async def refuse(request: Request, error: Problem) -> Response:
        return error.response()

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return Problem(error.status_code, f"{error.detail}.".replace("..", "."), headers=error.headers).response()

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _invalid_request(error.errors()).response()


def _invalid_request(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """What is wrong with a request, field by field, without repeating what the fields hold."""
    if errors and errors[0]["type"] == "json_invalid":
        return Problem(400, f"The body is not JSON: see character {errors[0]['loc'][-1]}.")
    listed = [{"at": _pointer(error["loc"]), "message": _message(error)} for error in errors[:_MAX_ERRORS]]
    more = f" (and {len(errors) - _MAX_ERRORS} more)" if len(errors) > _MAX_ERRORS else ""
    first = f"{listed[0]['at']}: {listed[0]['message']}" if listed else "It cannot be read."
    return Problem(422, f"The request is not as /openapi.json describes it. {first}{more}", errors=listed)


def _message(error: Mapping[str, Any]) -> str:
    """The reason, without the prefix that pydantic puts before messages of our own validators."""
    return str(error["msg"]).removeprefix("Value error, ").removesuffix(".") + "."


def _pointer(loc: Sequence[object]) -> str:
    """The place of an error as a JSON pointer, without the names of types that pydantic puts in between.

    >>> _pointer(("body", "pairs", 3, "left", "list[str]"))
    '/pairs/3/left'
    """
    parts = [str(part)[:_MAX_NAME] for part in loc[loc[:1] == ("body",) :]]
    return "/" + "/".join(part for part in parts if not _TYPE_NAME.match(part))


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problems with these statuses, as OpenAPI lists them."""
    content = {MEDIA_TYPE: {"schema": _SCHEMA}}
    return {status: {"description": phrase(status), "content": content} for status in statuses}
