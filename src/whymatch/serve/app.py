"""The server: alignment, checks, comparisons, ranking and search over HTTP, and a page for people."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any, TypeAlias, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from whymatch import __version__
from whymatch.interruption import at_interruption_points
from whymatch.serve import openapi, schemas
from whymatch.serve.answering import answers
from whymatch.serve.batching import Batcher
from whymatch.serve.models import Limits, Models, load
from whymatch.serve.monitoring import Metrics, log
from whymatch.serve.page import file_routes
from whymatch.serve.problems import Problem, add_problems, described
from whymatch.serve.questions import Question, checking, comparing, pairing, ranking, searching
from whymatch.serve.safety import LOOPBACK, Guarded, Rules
from whymatch.show.html import PICTURE_SCRIPTS

_FILES = {
    "/": ("page.html",),
    "/page.css": ("picture.css", "gallery.css", "checked.css", "changes.css", "page.css"),
    "/page.js": (*PICTURE_SCRIPTS, "gallery.js", "checked.js", "examples.js", "reading.js", "page.js"),
    "/icon.svg": ("icon.svg",),
}
_SECONDS_TO_STOP = 10.0  # for a batch that is being encoded
_Asked = TypeVar("_Asked", bound=schemas.Strict)
_ROUTES = APIRouter()
_REFUSALS = described(400, 401, 403, 408, 413, 421, 422, 503)
_PLAIN: dict[int | str, dict[str, Any]] = {200: {"description": "OK", "content": {"text/plain": {}}}}


class _StoppedError(Exception):
    """Raised at an interruption point when the server stops while it prepares."""


class Service:
    """What the routes share: models once they are loaded, the thread that answers, and the metrics."""

    def __init__(self, run: Path | None, index: Path | None, limits: Limits, encoder: str | None = None) -> None:
        self.run, self.index, self.limits, self.encoder = run, index, limits, encoder
        self.models: Models | None = None
        self.error: Exception | None = None
        self.stopping = Event()
        self.metrics = Metrics()
        self.batcher: Batcher[Question, bytes] = Batcher(
            self.answer,
            max_questions=limits.round_requests,
            max_size=limits.round_tokens,
            max_waiting=limits.waiting_tokens,
        )
        self.metrics.unanswered.set_function(lambda: self.batcher.unanswered)

    def load(self) -> None:
        """Loads the models and begins to answer; if that fails, stops the server and keeps the error."""
        try:
            self.models = load(self.run, self.index, self.limits, self.encoder)
        except Exception as error:
            self.error = error
            log("cannot load", level=logging.ERROR, error=error)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        self.batcher.start()
        log("ready")
        try:
            with at_interruption_points(self._stop_preparing):
                self.models.prepare()
        except _StoppedError:
            pass
        except Exception as error:
            log("cannot prepare", level=logging.ERROR, error=error)

    def _stop_preparing(self) -> None:
        if self.stopping.is_set():
            raise _StoppedError

    def ready(self) -> Models:
        """The models. Raises a `Problem` while they load."""
        if self.models is None:
            raise Problem(503, "The model is being loaded. Try again in a moment.", retry_after=1)
        return self.models

    def answer(self, questions: Sequence[Question]) -> list[bytes | Exception]:
        """The answers to the questions of a round."""
        self.metrics.round_sizes.observe(len(questions))
        models = self.ready()
        try:
            return answers(models, questions)
        finally:
            models.forget()

    async def ask(self, build: Callable[[Models, _Asked], Question], asked: _Asked) -> Response:
        """The answer to a request, whose question `build` makes in another thread."""
        try:
            question = await asyncio.to_thread(build, self.ready(), asked)
        except ValueError as error:
            raise Problem(422, str(error)) from None
        return Response(await self.batcher.ask(question, question.size), media_type="application/json")


def create(
    run: Path | None = None,
    index: Path | None = None,
    *,
    encoder: str | None = None,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
) -> FastAPI:
    """The app behind its rules; it loads the models when it starts."""
    limits = limits or Limits()
    service = Service(run, index, limits, encoder)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loading = Thread(target=service.load, name="loading", daemon=True)
        loading.start()
        yield
        service.stopping.set()
        await asyncio.to_thread(service.batcher.stop)
        await asyncio.to_thread(loading.join, _SECONDS_TO_STOP)

    app = FastAPI(
        title="whymatch",
        version=__version__,
        description="Do these two texts match, and which spans of one say so with which spans of the other?",
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    app.include_router(_ROUTES)
    app.include_router(file_routes(_FILES))
    add_problems(app)
    open_paths = frozenset({"/health", "/ready", *_FILES})
    rules = Rules(hosts, token, open_paths, limits.bytes, limits.body_seconds, limits.requests, limits.seconds)
    app.add_middleware(Guarded, rules=rules, watch=service.metrics.count)
    return app


async def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


_Service: TypeAlias = Annotated[Service, Depends(_service)]


@_ROUTES.post("/align", responses=openapi.ALIGNED | _REFUSALS, response_class=Response)
async def align(asked: schemas.AlignRequest, service: _Service) -> Response:
    """Which spans of two texts match, and why: the same JSON as `whymatch align --json`."""
    return await service.ask(pairing, asked)


@_ROUTES.post("/align/batch", responses=openapi.BATCH | _REFUSALS, response_class=Response)
async def align_batch(asked: schemas.BatchRequest, service: _Service) -> Response:
    """Many pairs: one result each, in order, an alignment or the problem of that pair."""
    return await service.ask(pairing, asked)


@_ROUTES.post("/check", responses=openapi.CHECKED | _REFUSALS | described(404), response_class=Response)
async def check(asked: schemas.CheckRequest, service: _Service) -> Response:
    """Whether every claim of an answer is supported by its sources: the same JSON as `whymatch check --json`."""
    return await service.ask(checking, asked)


@_ROUTES.post("/compare", responses=openapi.COMPARED | _REFUSALS | described(404), response_class=Response)
async def compare(asked: schemas.CompareRequest, service: _Service) -> Response:
    """What changed between two versions of a document: the same JSON as `whymatch compare --json`."""
    return await service.ask(comparing, asked)


@_ROUTES.post("/rank", responses=openapi.RANKED | _REFUSALS, response_class=Response)
async def rank(asked: schemas.RankRequest, service: _Service) -> Response:
    """Documents by their alignment with a query, best first: as `Ranker.rank`; untrained, by their p-values."""
    return await service.ask(ranking, asked)


@_ROUTES.post("/search", responses=openapi.FOUND | _REFUSALS | described(404), response_class=Response)
async def search(asked: schemas.SearchRequest, service: _Service) -> Response:
    """The documents of the index that match a text: the same JSON as `whymatch search --json`."""
    return await service.ask(searching, asked)


@_ROUTES.get("/health")
async def health() -> dict[str, bool]:
    """Whether the process is alive."""
    return {"alive": True}


@_ROUTES.get("/ready", responses=described(421, 503))
async def ready(service: _Service) -> dict[str, Any]:
    """Whether it can answer, and what it can answer: 503 while the model loads."""
    models = service.ready()
    documents = models.sentence_aligner is not None
    spans, search = [*models.aligners], models.index is not None
    return {"ready": True, "spans": spans, "check": documents, "compare": documents, "search": search}


@_ROUTES.get("/metrics", response_class=Response, responses=_PLAIN | described(401, 421))
async def metrics(service: _Service) -> Response:
    """Counts and times, for Prometheus."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
