"""Runs an app at an address until it is told to stop; requests that were accepted then finish."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from whymatch.serve.monitoring import log, start_log
from whymatch.serve.problems import MEDIA_TYPE, Problem, phrase
from whymatch.serve.safety import LOOPBACK

MAX_SILENCE = 10.0  # seconds that a client has for the head of a request, and to read what was sent
_MAX_CONNECTIONS = 200  # more than requests, since browsers keep some open
_GRACE = 30  # seconds that accepted requests have to finish
_MIN_TOKEN = 16  # characters


def run(app: ASGIApp, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM; port 0 takes one that is free. `announce` is called with the URL."""
    start_log()
    listening = _listen(host, port)
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=5,
    )
    server = uvicorn.Server(config)

    def stop(*_: object) -> None:
        """Handles signals before uvicorn does, and those that it raises again at its end."""
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        announce(_url(host, listening.getsockname()[1]))
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    log("stopped")


class LimitedProtocol(H11Protocol):
    """uvicorn's protocol with limits: on connections, and on the time to send a head and to read an answer."""

    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # `pause_writing` is called for everything that is not read at once
        if len(self.connections) > _MAX_CONNECTIONS:
            self._refuse(Problem(503, "Too many connections are open. Try again soon.", retry_after=1))
        else:
            self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel_head_timer()
        elif self._head_timer is None:
            self._expect_head()

    def on_response_complete(self) -> None:
        self._cancel_head_timer()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(MAX_SILENCE, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuses what is no HTTP as a problem, where uvicorn would answer with plain text."""
        self._refuse(Problem(400, "This is not an HTTP request."))

    def _expect_head(self) -> None:
        if not self.transport.is_closing():
            self._head_timer = self.loop.call_later(MAX_SILENCE, self._give_up)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self._refuse(Problem(408, f"No request came within {MAX_SILENCE:g} seconds."))

    def _refuse(self, problem: Problem) -> None:
        """Answers in place of the app, unless the app has begun to, and closes the connection."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = problem.body()
            headers: dict[str, Any] = {"Content-Type": MEDIA_TYPE, "Content-Length": len(body), "Connection": "close"}
            lines = "".join(f"{name}: {value}\r\n" for name, value in (headers | problem.headers).items())
            head = f"HTTP/1.1 {problem.status} {phrase(problem.status)}\r\n{lines}\r\n"
            self.transport.write(head.encode() + body)
        self.transport.close()


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address. Raises ValueError, naming the address, if that cannot be."""
    if not 0 <= port < 2**16:
        raise ValueError(f"A port is a number from 0 to 65535, got {port}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)  # asyncio sets TCP_NODELAY only where TCP is named
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(256)
    except OSError as error:
        advice = "Give another --host or --port."
        raise ValueError(f"Cannot listen at {_url(host, port)}: {error.strerror}. {advice}") from None
    return listening


def _url(host: str, port: int) -> str:
    """
    >>> _url("::1", 8000)
    'http://[::1]:8000'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> _is_loopback("localhost"), _is_loopback("127.0.0.2"), _is_loopback("0.0.0.0"), _is_loopback("::1")
    (True, True, False, True)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_for(host: str, allowed: Iterable[str] = (), *, token: bool = True) -> frozenset[str] | None:
    """Names that the Host header of requests may have, beside numeric addresses; None for any name.

    A server for this machine alone answers only to its own names, so that a page elsewhere whose name is made to point
    here (DNS rebinding) gets nothing. A token keeps such pages out as well: with one, other addresses answer to any
    name unless some are named.
    """
    names = frozenset(name.lower() for name in allowed)
    return LOOPBACK | {host} | names if _is_loopback(host) or not token else names or None


def token_for(host: str, file: Path | None, *, switched_off: bool, proxied: bool = False) -> str | None:
    """The token of a server, from a file or WHYMATCH_TOKEN. One is needed where others, or a proxy, can reach it."""
    token = file.read_text(encoding="utf-8").strip() if file is not None else os.environ.get("WHYMATCH_TOKEN", "")
    if switched_off:
        if file is not None:
            raise ValueError("--token-file and --no-token exclude each other.")
        return None
    if file is None and not token:
        if _is_loopback(host) and not proxied:
            return None
        advice = "Set WHYMATCH_TOKEN or --token-file, or switch it off on purpose with --no-token."
        where = "this server by the names of --allow-host" if proxied else host
        raise ValueError(f"Others can reach {where}, so a token is needed. {advice}")
    if len(token) < _MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(f"A token has {_MIN_TOKEN} or more ASCII characters without blanks; this one does not.")
    return token
