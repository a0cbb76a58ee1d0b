"""The body of a request, read whole before any work begins: within its size and its time, or refused."""

import asyncio

from starlette.types import Message, Receive, Scope

from whymatch.serve.problems import Problem

DRAINED = 8  # times the limit that is read and thrown away, so that a client hears the refusal
CLOSE = {"Connection": "close"}


class Gone(Exception):  # noqa: N818 (it is no error)
    """The client left before its request was complete."""


async def read_body(scope: Scope, receive: Receive, most: int, seconds: float) -> bytes:
    """The whole body; raises for one that is too large, or that takes too long."""
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"0")
    announced = int(length) if length.isdigit() and len(length) < 20 else 10**20
    refusal = Problem(413, f"A request holds at most {most:,} bytes. Send less at a time.", headers=CLOSE)
    if announced > DRAINED * most or (announced > most and b"expect" in headers):
        raise refusal
    try:
        async with asyncio.timeout(seconds):
            found, size = await collect(receive, most)
    except TimeoutError:
        detail = f"The request was not complete after {seconds:g} seconds. Send it again."
        raise Problem(408, detail, headers=CLOSE) from None
    if size > most:
        raise refusal
    return found


async def collect(receive: Receive, most: int) -> tuple[bytes, int]:
    """What came, as far as it is within the limit, and how much it was."""
    parts, size = [], 0
    while size <= DRAINED * most:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        part = message.get("body", b"")
        size += len(part)
        if size <= most:
            parts.append(part)
        if not message.get("more_body", False):
            break
    return b"".join(parts), size


async def left(receive: Receive) -> None:
    """Returns when the client has left, or has its answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


def replayed(body: bytes, receive: Receive) -> Receive:
    """Gives the body to the app, and then whatever comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again
