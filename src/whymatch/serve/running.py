"""Runs an app until it is told to stop; requests that were accepted then finish."""

import os
import signal
import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from whymatch.serve import logs
from whymatch.serve.connections import Patient
from whymatch.serve.safety import LOOPBACK

GRACE = 30  # seconds that accepted requests have to finish
SHORTEST = 16  # characters of a token


def run(app: ASGIApp, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serves at an address until SIGINT or SIGTERM; port 0 takes one that is free. `announce` is told the URL."""
    logs.start()
    listening = bound(host, port)
    config = uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=5,
    )
    server = uvicorn.Server(config)

    def stop(*_: object) -> None:
        """For signals before uvicorn listens to them, and those that it raises again when it is done."""
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        announce(url(host, listening.getsockname()[1]))
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    logs.note("stopped")


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there, or an error that names the address."""
    if not 0 <= port < 2**16:
        raise ValueError(f"A port is a number from 0 to 65535, got {port}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)  # asyncio sends small packets at once only where TCP is named
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(256)
    except OSError as error:
        raise ValueError(
            f"Cannot listen at {url(host, port)}: {error.strerror}. Give another --host or --port."
        ) from None
    return found


def url(host: str, port: int) -> str:
    """
    >>> url("::1", 8000)
    'http://[::1]:8000'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0"), is_loopback("::1")
    (True, True, False, True)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_for(host: str, allowed: Iterable[str] = (), *, token: bool = True) -> frozenset[str] | None:
    """Names that requests may give as their host; numeric addresses may always.

    On this machine alone, its own names: a page elsewhere whose name is made to point here gets nothing. A token keeps
    such pages out too, so with one other addresses answer to any name unless some are named.
    """
    names = frozenset(name.lower() for name in allowed)
    if is_loopback(host) or not token:
        return LOOPBACK | {host} | names
    return names or None


def token_for(host: str, file: Path | None, *, switched_off: bool, proxied: bool = False) -> str | None:
    """The token of a server: from a file or WHYMATCH_TOKEN; one is needed where others can reach it, or by a proxy."""
    given = file.read_text(encoding="utf-8").strip() if file is not None else os.environ.get("WHYMATCH_TOKEN", "")
    if switched_off:
        if file is not None:
            raise ValueError("--token-file and --no-token exclude each other.")
        return None
    if file is None and not given:
        if is_loopback(host) and not proxied:
            return None
        advice = "Set WHYMATCH_TOKEN or --token-file, or switch it off on purpose with --no-token."
        where = "this server by the names of --allow-host" if proxied else host
        raise ValueError(f"Others can reach {where}, so a token is needed. {advice}")
    if len(given) < SHORTEST or not given.isascii() or not given.isprintable() or " " in given:
        raise ValueError(f"A token has {SHORTEST} or more ASCII characters without blanks; this one does not.")
    return given
