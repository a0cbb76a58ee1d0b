"""The page on which people judge rationales, and its API. Nothing here names a model."""

import logging
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, StrictInt
from starlette.types import ASGIApp

from whymatch.serve.monitoring import log
from whymatch.serve.page import file_routes
from whymatch.serve.problems import Problem, add_problems, described
from whymatch.serve.safety import LOOPBACK, Guarded, Rules
from whymatch.show.html import blocks, columns
from whymatch.study.answers import MAX_NAME, Answers, Unusable, normalised_name
from whymatch.study.items import Item, Study, link_name

FILES = {
    "/": ("study.html",),
    "/study.css": ("picture.css", "study.css"),
    "/study.js": ("curves.js", "sending.js", "study.js"),
    "/icon.svg": ("icon.svg",),
}
_OPEN_PATHS = frozenset({*FILES, "/health"})  # the page asks people for the token, and sends it with what it requests
_MAX_BYTES = 4096


class _Given(BaseModel):
    """An answer, and whose it is."""

    model_config = ConfigDict(extra="forbid")

    annotator: str
    value: StrictInt


def guarded(
    study: Study, answers: Answers, *, hosts: frozenset[str] | None = LOOPBACK, token: str | None = None
) -> ASGIApp:
    """The app behind its rules."""
    app = study_app(study, answers)
    app.add_middleware(Guarded, rules=Rules(hosts, token, _OPEN_PATHS, max_bytes=_MAX_BYTES))
    return app


def study_app(study: Study, answers: Answers) -> FastAPI:
    """The page and its API: the items for a person, one item, and an answer."""
    app = FastAPI(title="whymatch study", docs_url=None, redoc_url=None)
    add_problems(app)
    app.include_router(file_routes(FILES))

    @app.exception_handler(Unusable)
    async def unusable(request: Request, error: Unusable) -> Response:
        log("answers cannot be used", level=logging.ERROR, detail=str(error))
        detail = "Answers cannot be read or kept at present. Try again soon; the server's log says what is wrong."
        return Problem(503, detail, retry_after=2).response()

    @app.get("/health", summary="Whether the server is there")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/api/study", summary="What is asked")
    def about() -> dict[str, Any]:
        return {"study": study.id, "title": study.title, "asked": study.asked, "longest_name": MAX_NAME}

    @app.get("/api/items", summary="One person's items, in their order, and answers", responses=described(422, 503))
    def items(annotator: str) -> dict[str, Any]:
        name = _checked_name(annotator)
        order = [{"id": item.id, "questions": [*study.questions(item)]} for item in study.order(name)]
        return {"annotator": name, "items": order, "answers": answers.of(name)}

    @app.get("/api/items/{item}", summary="Two texts and links to judge", responses=described(404))
    def show(item: str) -> dict[str, Any]:
        if item not in study.by_id:
            raise Problem(404, "There is no such item in this study.")
        return _shown(study, study.by_id[item])

    @app.put(
        "/api/answers/{item}/{question}",
        summary="Keep an answer, in place of an earlier one; on disk when this returns",
        responses=described(404, 422, 503),
    )
    def give(item: str, question: str, given: _Given) -> dict[str, Any]:
        _checked_name(given.annotator)
        try:
            return answers.give(given.annotator, item, question, given.value)._asdict()
        except LookupError as error:
            raise Problem(404, str(error.args[0])) from None
        except Unusable:
            raise
        except ValueError as error:
            raise Problem(422, str(error)) from None

    return app


def _checked_name(annotator: str) -> str:
    """The name as it is kept. Raises a `Problem` for what is no name."""
    try:
        return normalised_name(annotator)
    except ValueError as error:
        raise Problem(422, str(error)) from None


def _shown(study: Study, item: Item) -> dict[str, Any]:
    """What people see of an item: texts in their pieces, and links in the order of the texts, without weights."""
    pair = study.pairs[item.pair]
    picture = {
        "left": {"text": pair.left.text, "spans": pair.left.spans},
        "right": {"text": pair.right.text, "spans": pair.right.spans},
        "links": [{"at": at} for at in item.links],
    }
    links = [
        {"question": link_name((i, j)), "at": [i, j], "texts": [pair.left.pieces[i], pair.right.pieces[j]]}
        for i, j in item.links
    ]
    return {"id": item.id, "columns": columns(picture), "blocks": blocks(picture), "links": links}
