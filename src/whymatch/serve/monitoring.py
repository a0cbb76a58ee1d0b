"""The log, as JSON lines on standard error, and metrics for Prometheus. Neither repeats what came with a request."""

import json
import logging
import sys
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

_LOGGER = logging.getLogger("whymatch.serve")


@dataclass(frozen=True)
class Answered:
    """A request that was answered: what a client made up is left out, so `method` may be "other" and `route` "-"."""

    method: str
    route: str
    status: int
    seconds: float


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        labels = ["method", "route", "status"]
        self.requests = Counter("whymatch_requests", "Requests that were answered", labels, registry=registry)
        self.seconds = Histogram(
            "whymatch_request_seconds",
            "From the head of a request to the end of its answer",
            ["route"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=registry,
        )
        round_help, buckets = "Questions that were answered in one round", (1, 2, 4, 8, 16, 32, 64)
        self.round_sizes = Histogram("whymatch_round_questions", round_help, buckets=buckets, registry=registry)
        unanswered_help = "Questions that wait or are being answered"
        self.unanswered = Gauge("whymatch_unanswered_questions", unanswered_help, registry=registry)

    def count(self, answered: Answered) -> None:
        self.requests.labels(answered.method, answered.route, str(answered.status)).inc()
        self.seconds.labels(answered.route).observe(answered.seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self.registry)


class _JsonLines(logging.Formatter):
    """One JSON object per record; of an error its type and where it was raised, since its message may quote a text."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values: dict[str, Any] = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        values |= getattr(record, "values", {})
        error = record.exc_info and record.exc_info[1]
        if error:
            frames = traceback.extract_tb(error.__traceback__)[-6:]
            values["error"] = type(error).__name__
            values["places"] = [f"{frame.filename}:{frame.lineno}" for frame in frames]
        return json.dumps(values, ensure_ascii=True, default=str)


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **values: object) -> None:
    """Writes one line."""
    _LOGGER.log(level, event, extra={"values": values}, exc_info=error)


def start_log() -> None:
    """Sends our lines, and uvicorn's warnings, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    for logger, level in ((_LOGGER, logging.INFO), (logging.getLogger("uvicorn"), logging.WARNING)):
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
