"""Connections that neither stay silent for ever nor grow without end."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from whymatch.serve.problems import MEDIA, Problem, phrase

SILENCE = 10.0  # seconds that a client has for the head of a request, and to read what was sent
MOST = 200  # connections at once: more than requests, since browsers keep some open


class Patient(H11Protocol):
    """uvicorn's protocol, with limits: on connections, and on the time to send a head and to read an answer."""

    waiting: asyncio.TimerHandle | None = None
    unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that we hear of everything that a client does not read
        if len(self.connections) > MOST:
            self.refuse(Problem(503, "Too many connections are open. Try again soon.", retry_after=1))
        else:
            self.expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self.stop_waiting()
        elif self.waiting is None:
            self.expect()

    def on_response_complete(self) -> None:
        self.stop_waiting()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self.unread is None:
            self.unread = self.loop.call_later(SILENCE, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def expect(self) -> None:
        """Starts the time for the head of a request."""
        if not self.transport.is_closing():
            self.waiting = self.loop.call_later(SILENCE, self.give_up)

    def stop_waiting(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None

    def give_up(self) -> None:
        self.waiting = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.refuse(Problem(408, f"No request came within {SILENCE:g} seconds."))

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP; uvicorn would answer in another format."""
        self.refuse(Problem(400, "This is not an HTTP request."))

    def refuse(self, problem: Problem) -> None:
        """Answers in the place of the app, unless it has begun to, and hangs up."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(raw(problem))
        self.transport.close()


def raw(problem: Problem) -> bytes:
    """A problem as it goes over the wire."""
    body = problem.body()
    headers: dict[str, Any] = {"Content-Type": MEDIA, "Content-Length": len(body), "Connection": "close"}
    head = "".join(f"{name}: {value}\r\n" for name, value in (headers | problem.headers).items())
    return f"HTTP/1.1 {problem.status} {phrase(problem.status)}\r\n{head}\r\n".encode() + body
