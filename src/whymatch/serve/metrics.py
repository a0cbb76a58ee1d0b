"""Counts and times for Prometheus: what was answered, how fast, and how much was answered together."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from whymatch.serve.safety import Answered, known

MEDIA = CONTENT_TYPE_LATEST


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "whymatch_requests", "Requests that were answered", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "whymatch_request_seconds",
            "From the head of a request to the end of its answer",
            ["route"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=self.registry,
        )
        self.together = Histogram(
            "whymatch_round_questions",
            "Questions that were answered in one round",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=self.registry,
        )
        self.unanswered = Gauge(
            "whymatch_unanswered_questions", "Questions that wait or are being answered", registry=self.registry
        )

    def answered(self, some: Answered) -> None:
        """Counts an answer."""
        self.requests.labels(known(some.method), some.route, str(some.status)).inc()
        self.seconds.labels(some.route).observe(some.seconds)

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)
