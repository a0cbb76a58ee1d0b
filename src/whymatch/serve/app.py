"""The server: alignment, ranking and search over HTTP, and a page for people."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request, Response

from whymatch import __version__
from whymatch.serve import metrics, page
from whymatch.serve.answering import answers
from whymatch.serve.batching import Batcher
from whymatch.serve.limits import Limits
from whymatch.serve.logs import note
from whymatch.serve.models import Models, load
from whymatch.serve.problems import Problem, add_problems, described
from whymatch.serve.questions import Question, pairing, ranking, searching
from whymatch.serve.requests import AlignRequest, BatchRequest, Choice, RankRequest, SearchRequest, size
from whymatch.serve.safety import LOOPBACK, Guarded, Rules
from whymatch.serve.schemas import ALIGNMENT, BATCH, RANKING, RESULTS, answered_with

Asked = TypeVar("Asked", bound=Choice)
JSON = "application/json"
PLAIN: dict[int | str, dict[str, Any]] = {200: {"description": "OK", "content": {"text/plain": {}}}}
ROUTES = APIRouter()
REFUSALS = described(400, 401, 403, 408, 413, 421, 422, 503)


class Service:
    """What the routes share: models once they are loaded, the thread that answers, and the figures."""

    def __init__(self, run: Path | None, index: Path | None, limits: Limits) -> None:
        self.run, self.index, self.limits = run, index, limits
        self.models: Models | None = None
        self.error: Exception | None = None
        self.metrics = metrics.Metrics()
        self.batcher: Batcher[Question, bytes] = Batcher(
            self.answer, most=limits.together, budget=limits.round, waiting=limits.waiting
        )
        self.metrics.unanswered.set_function(lambda: self.batcher.unanswered)

    def load(self) -> None:
        """Loads the models and begins to answer; a server that cannot is stopped, and says why."""
        try:
            self.models = load(self.run, self.index, self.limits)
        except Exception as error:
            self.error = error
            note("cannot load", level=logging.ERROR, error=error)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        self.batcher.start()
        note("ready")

    def ready(self) -> Models:
        """The models, or a refusal while they load."""
        if self.models is None:
            raise Problem(503, "The model is being loaded. Try again in a moment.", retry_after=1)
        return self.models

    def answer(self, questions: Sequence[Question]) -> list[bytes | Exception]:
        """What the thread does in a round."""
        self.metrics.together.observe(len(questions))
        models = self.ready()
        try:
            return answers(models, questions)
        finally:
            models.forget()

    async def ask(self, build: Callable[[Models, Asked], Question], asked: Asked, *texts: str | list[str]) -> Response:
        """The answer to a request with these texts, whose question `build` makes in a thread of its own."""
        characters = size(*texts)
        if characters > self.limits.characters:
            most = f"this server takes {self.limits.characters:,} a request"
            raise Problem(413, f"The texts have {characters:,} characters, and {most}. Send less at a time.")
        try:
            question = await asyncio.to_thread(build, self.ready(), asked)
        except ValueError as error:
            raise Problem(422, str(error)) from None
        return Response(await self.batcher.ask(question, question.size), media_type=JSON)


def create(
    run: Path | None = None,
    index: Path | None = None,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
) -> FastAPI:
    """The app, behind its rules; models load when it starts."""
    limits = limits or Limits()
    service = Service(run, index, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loading = Thread(target=service.load, name="loading", daemon=True)
        loading.start()
        yield
        await asyncio.to_thread(service.batcher.stop)

    app = FastAPI(
        title="whymatch",
        version=__version__,
        description="Do these two texts match, and which spans of one say so with which spans of the other?",
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    app.include_router(ROUTES)
    app.include_router(page.ROUTES)
    add_problems(app)
    rules = Rules(
        hosts=hosts,
        token=token,
        open_paths=frozenset({"/health", "/ready"} | page.PATHS),
        most_bytes=limits.bytes,
        body_seconds=limits.body_seconds,
        most_requests=limits.requests,
        seconds=limits.seconds,
    )
    app.add_middleware(Guarded, rules=rules, watch=service.metrics.answered)
    return app


def service_of(request: Request) -> Service:
    found = request.app.state.service
    assert isinstance(found, Service)
    return found


@ROUTES.post("/align", responses=answered_with(ALIGNMENT) | REFUSALS, response_class=Response)
async def align(asked: AlignRequest, request: Request) -> Response:
    """Which spans of two texts match, and why: the same JSON as `whymatch align --json`."""
    return await service_of(request).ask(pairing, asked, asked.left, asked.right)


@ROUTES.post("/align/batch", responses=answered_with(BATCH) | REFUSALS, response_class=Response)
async def align_batch(asked: BatchRequest, request: Request) -> Response:
    """Many pairs: one result each, in order, an alignment or the problem of that pair."""
    service = service_of(request)
    if len(asked.pairs) > service.limits.pairs:
        raise Problem(413, f"{len(asked.pairs):,} pairs came, and this server takes {service.limits.pairs} a request.")
    return await service.ask(pairing, asked, *(text for pair in asked.pairs for text in (pair.left, pair.right)))


@ROUTES.post("/rank", responses=answered_with(RANKING) | REFUSALS, response_class=Response)
async def rank(asked: RankRequest, request: Request) -> Response:
    """Documents by their alignment with a query, best first, as `Ranker.rank`; untrained: by exactly:2, clipped."""
    service = service_of(request)
    if len(asked.documents) > service.limits.documents:
        most = f"this server takes {service.limits.documents} a request"
        raise Problem(413, f"{len(asked.documents):,} documents came, and {most}.")
    return await service.ask(ranking, asked, asked.query, *asked.documents)


@ROUTES.post("/search", responses=answered_with(RESULTS) | REFUSALS | described(404), response_class=Response)
async def search(asked: SearchRequest, request: Request) -> Response:
    """The documents of the index that match a text: the same JSON as `whymatch search --json`."""
    return await service_of(request).ask(searching, asked, asked.query)


@ROUTES.get("/health")
async def health() -> dict[str, bool]:
    """Whether the process is alive."""
    return {"alive": True}


@ROUTES.get("/ready", responses=described(421, 503))
async def ready(request: Request) -> dict[str, Any]:
    """Whether it can answer, and what it can answer: 503 while the model loads."""
    models = service_of(request).ready()
    return {"ready": True, "spans": [*models.aligners], "search": bool(models.indices)}


@ROUTES.get("/metrics", response_class=Response, responses=PLAIN | described(401, 421))
async def figures(request: Request) -> Response:
    """Counts and times, for Prometheus."""
    return Response(service_of(request).metrics.text(), media_type=metrics.MEDIA)
