"""What a server lets in, and what it tells browsers: around any app, as one middleware.

In order: the Host header, the origin, the token, the body, and how many requests are worked on at once; then the app,
for a limited time. Whatever happens, the answer is a response or a problem, and the log has one line.
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

from whymatch.serve.bodies import CLOSE, Gone, left, read_body, replayed
from whymatch.serve.logs import note
from whymatch.serve.problems import Problem

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
PRIVATE = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
HEADERS = {
    "Content-Security-Policy": PRIVATE,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Rules:
    """What is let in: sizes in bytes, times in seconds."""

    hosts: frozenset[str] | None = LOOPBACK
    """Names that a Host header may have, beside numeric addresses, which nobody can point elsewhere; None lets any."""
    token: str | None = None
    open_paths: frozenset[str] = frozenset({"/health", "/ready"})
    """What needs no token."""
    most_bytes: int = 2**20
    body_seconds: float = 10.0
    most_requests: int = 64
    """POST requests that are worked on at once."""
    seconds: float = 30.0


@dataclass(frozen=True)
class Answered:
    """A request that was answered; `route` is the path as the app declares it, "-" where it declares none."""

    method: str
    route: str
    status: int
    seconds: float


class Guarded:
    """The app behind the rules; `watch` hears of each answer."""

    def __init__(self, app: ASGIApp, rules: Rules, watch: Callable[[Answered], None] | None = None) -> None:
        self.app, self.rules, self.watch = app, rules, watch
        self.working = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self.answer(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, its response or its problem, and its line in the log."""
        began, status, name = time.perf_counter(), 0, secrets.token_hex(8)

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = name
                for key, value in HEADERS.items():
                    headers.setdefault(key, value)
            await send(message)

        try:
            await self.enter(scope, receive, answered)
        except Problem as problem:
            if not status:
                await problem.response()(scope, receive, answered)
        except Gone:
            status = 499  # as nginx calls it: nobody is there to answer
        except Exception as error:
            note("failed", level=logging.ERROR, error=error, request=name)
            if not status:
                detail = f"Something went wrong on this side. The log has it as {name}."
                await Problem(500, detail).response()(scope, receive, answered)
        self.tell(Answered(scope["method"], route_of(scope), status, time.perf_counter() - began), name)

    async def enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app's answer, if the request is let in."""
        check(self.rules, scope["method"], scope["path"], Headers(scope=scope))
        if scope["method"] in READING:
            await self.app(scope, receive, send)
            return
        body = await read_body(scope, receive, self.rules.most_bytes, self.rules.body_seconds)
        if self.working >= self.rules.most_requests:
            detail = f"{self.rules.most_requests} requests are being worked on, which is the limit. Try again soon."
            raise Problem(503, detail, retry_after=1)
        self.working += 1
        try:
            async with asyncio.timeout(self.rules.seconds):
                await self.work_while_wanted(scope, body, receive, send)
        except TimeoutError:
            detail = f"There was no answer within {self.rules.seconds:g} seconds. Send less at a time, or try again."
            raise Problem(503, detail, headers=CLOSE) from None  # the same again would take as long
        finally:
            self.working -= 1

    async def work_while_wanted(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """The app's answer; cancels the app, and raises `Gone`, if the client leaves before the answer begins."""
        begun = False

        async def begin(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        work = asyncio.ensure_future(self.app(scope, replayed(body, receive), begin))
        leaving = asyncio.ensure_future(left(receive))
        try:
            await asyncio.wait((work, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not begun:
                raise Gone
            await work
        finally:
            work.cancel()
            leaving.cancel()
            await asyncio.gather(work, leaving, return_exceptions=True)

    def tell(self, answered: Answered, name: str) -> None:
        """One line in the log, and a word to who watches."""
        took = round(1000 * answered.seconds, 1)
        method = known(answered.method)
        note("answered", request=name, method=method, route=answered.route, status=answered.status, ms=took)
        if self.watch is not None:
            self.watch(answered)


def check(rules: Rules, method: str, path: str, headers: Headers) -> None:
    """Raises unless the host, the origin and the token are as they should be."""
    host = headers.get("host", "")
    name = name_of(host)
    if rules.hosts is not None and name not in rules.hosts and not is_address(name):
        raise Problem(421, "This server does not answer for that host. Name it with --allow-host.")
    origin = headers.get("origin")
    if origin is not None and method not in READING and origin.lower().partition("://")[2] != host.lower():
        raise Problem(403, "This server takes no requests from pages of other sites.")
    if rules.token is not None and path not in rules.open_paths:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), rules.token.encode()):
            detail = "This server needs its token: send it as Authorization: Bearer TOKEN."
            raise Problem(401, detail, headers={"WWW-Authenticate": "Bearer"})


def name_of(host: str) -> str:
    """The name in a Host header, without its port.

    >>> name_of("LocalHost:8000"), name_of("[::1]:80"), name_of("a b")
    ('localhost', '::1', '')
    """
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "") if parts.netloc == host and "@" not in host and " " not in host else ""
    except ValueError:
        return ""


def is_address(name: str) -> bool:
    """
    >>> is_address("192.168.0.7"), is_address("::1"), is_address("evil.example")
    (True, True, False)
    """
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


def known(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"


def route_of(scope: Scope) -> str:
    """The path as the app declares it: what a client made up is not repeated."""
    return str(getattr(scope.get("route"), "path", "-"))
