"""What a server lets in, and what it tells browsers: a middleware around any app.

It checks, in this order: the Host header, the origin, the token, the body, and how many requests are worked on at once.
The app then has a limited time. Whatever happens, the client gets a response or a problem, and the log gets one line.
"""

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whymatch.serve.monitoring import Answered, log
from whymatch.serve.problems import Problem

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS = _SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
_CLOSE = {"Connection": "close"}
_DRAINED = 8  # times the limit of a body that is read and thrown away, so that the client gets the refusal


@dataclass(frozen=True)
class Rules:
    """What is let in: sizes in bytes, times in seconds."""

    hosts: frozenset[str] | None = LOOPBACK
    """Names that a Host header may have; None allows any. Numeric addresses are safe: nobody can redirect them."""
    token: str | None = None
    open_paths: frozenset[str] = frozenset({"/health", "/ready"})
    """Paths that need no token."""
    max_bytes: int = 2**20
    body_seconds: float = 10.0
    max_requests: int = 64
    """POST requests that are worked on at once."""
    seconds: float = 30.0


class _ClientGone(Exception):  # noqa: N818 (it is no error)
    """The client left before its request was complete or answered."""


class Guarded:
    """An app behind the rules; `watch` is called with each answered request."""

    def __init__(self, app: ASGIApp, rules: Rules, watch: Callable[[Answered], None] = lambda answered: None) -> None:
        self.app, self.rules, self.watch = app, rules, watch
        self.working = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends a response or a problem, and writes a line to the log."""
        start, status, request_id = time.perf_counter(), 0, secrets.token_hex(8)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for key, value in HEADERS.items():
                    headers.setdefault(key, value)
            await send(message)

        try:
            await self._admit(scope, receive, send_with_headers)
        except Problem as problem:
            if not status:
                await problem.response()(scope, receive, send_with_headers)
        except _ClientGone:
            status = 499  # nginx's status for requests that nobody waits for
        except Exception as error:
            log("failed", level=logging.ERROR, error=error, request=request_id)
            if not status:
                detail = f"Something went wrong on this side. The log has it as {request_id}."
                await Problem(500, detail).response()(scope, receive, send_with_headers)
        seconds = time.perf_counter() - start
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = str(getattr(scope.get("route"), "path", "-"))  # as the app declares it
        log("answered", request=request_id, method=method, route=route, status=status, ms=round(1000 * seconds, 1))
        self.watch(Answered(method, route, status, seconds))

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the app answer if the request keeps the rules."""
        _check_headers(self.rules, scope["method"], scope["path"], Headers(scope=scope))
        if scope["method"] in _SAFE_METHODS:
            await self.app(scope, receive, send)
            return
        body = await _read_body(scope, receive, self.rules.max_bytes, self.rules.body_seconds)
        if self.working >= self.rules.max_requests:
            detail = f"{self.rules.max_requests} requests are being worked on, which is the limit. Try again soon."
            raise Problem(503, detail, retry_after=1)
        self.working += 1
        try:
            async with asyncio.timeout(self.rules.seconds):
                await self._answer_unless_gone(scope, body, receive, send)
        except TimeoutError:
            detail = f"There was no answer within {self.rules.seconds:g} seconds. Send less at a time, or try again."
            raise Problem(503, detail, headers=_CLOSE) from None  # no Retry-After: the same would take as long again
        finally:
            self.working -= 1

    async def _answer_unless_gone(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Lets the app answer; cancels it and raises `_ClientGone` if the client leaves before the answer begins."""
        begun = False

        async def begin(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        answer = asyncio.ensure_future(self.app(scope, _replayed(body, receive), begin))
        leaving = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((answer, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and not begun:
                raise _ClientGone
            await answer
        finally:
            answer.cancel()
            leaving.cancel()
            await asyncio.gather(answer, leaving, return_exceptions=True)


def _check_headers(rules: Rules, method: str, path: str, headers: Headers) -> None:
    """Raises a `Problem` unless the host, the origin and the token are allowed."""
    host = headers.get("host", "")
    name = _host_name(host)
    if rules.hosts is not None and name not in rules.hosts and not _is_address(name):
        raise Problem(421, "This server does not answer for that host. Name it with --allow-host.")
    origin = headers.get("origin")
    if origin is not None and method not in _SAFE_METHODS and origin.lower().partition("://")[2] != host.lower():
        raise Problem(403, "This server takes no requests from pages of other sites.")
    if rules.token is not None and path not in rules.open_paths:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), rules.token.encode()):
            detail = "This server needs its token: send it as Authorization: Bearer TOKEN."
            raise Problem(401, detail, headers={"WWW-Authenticate": "Bearer"})


def _host_name(host: str) -> str:
    """The name in a Host header, without its port.

    >>> _host_name("LocalHost:8000"), _host_name("[::1]:80"), _host_name("a b")
    ('localhost', '::1', '')
    """
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "") if parts.netloc == host and "@" not in host and " " not in host else ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    """
    >>> _is_address("192.168.0.7"), _is_address("::1"), _is_address("evil.example")
    (True, True, False)
    """
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


async def _read_body(scope: Scope, receive: Receive, max_bytes: int, seconds: float) -> bytes:
    """The whole body of a request; raises a `Problem` for one that is too large or takes too long."""
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"0")
    announced = int(length) if length.isdigit() and len(length) < 20 else 10**20
    refusal = Problem(413, f"A request holds at most {max_bytes:,} bytes. Send less at a time.", headers=_CLOSE)
    if announced > _DRAINED * max_bytes or (announced > max_bytes and b"expect" in headers):
        raise refusal
    parts, size, more = [], 0, True
    try:
        async with asyncio.timeout(seconds):
            while more and size <= _DRAINED * max_bytes:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _ClientGone
                part, more = message.get("body", b""), message.get("more_body", False)
                size += len(part)
                if size <= max_bytes:
                    parts.append(part)
    except TimeoutError:
        detail = f"The request was not complete after {seconds:g} seconds. Send it again."
        raise Problem(408, detail, headers=_CLOSE) from None
    if size > max_bytes:
        raise refusal
    return b"".join(parts)


async def _disconnected(receive: Receive) -> None:
    """Returns when the client has left, or has its answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives the app the body that was read already, and then whatever comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
