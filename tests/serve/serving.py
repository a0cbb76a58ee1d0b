"""A server in a process of its own, and raw connections to it."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import urlsplit

import httpx

from whymatch.serve.models import Limits

LEFT = "My wifi drops every few minutes. I use a Dell laptop. I reinstalled the driver."
RIGHT = "Hello everybody. The wireless connection keeps failing. Installing the driver again did not help."
HACK = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
LIMITS = Limits(
    characters=3000,
    tokens=1000,
    spans=20,
    matrix=150,
    matrices=500,
    pairs=40,
    documents=5,
    sources=5,
    blocks=60,
    results=2,
)
CORPUS = {
    "disk": "My disk is full. The kernel panics when I mount it.",
    "wifi": "The wireless connection keeps failing. Installing the driver again did not help.",
    f"post {HACK}": f"My wifi drops {HACK}. The driver is new {HACK}.",
}


@dataclass(frozen=True)
class Served:
    """A server that runs: where it is, its process, and the file of its log."""

    url: str
    process: "subprocess.Popen[str]"
    log: Path

    def post(self, path: str, values: Any, **options: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=values, timeout=None, **options)

    def ready(self) -> bool:
        return httpx.get(f"{self.url}/ready", timeout=None).status_code == 200

    def connect(self) -> socket.socket:
        return socket.create_connection((urlsplit(self.url).hostname, urlsplit(self.url).port))

    def said(self) -> list[dict[str, Any]]:
        """The lines of its log."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def indexed(folder: Path) -> Path:
    """An index of a few documents."""
    from whymatch.search.index import Index

    Index.create(folder).add(CORPUS)
    return folder


@contextmanager
def serving(folder: Path, *arguments: object, wait: bool = True, **environment: str) -> Iterator[Served]:
    """Runs `whymatch serve` at a free port, until it is ready."""
    command = [sys.executable, "-m", "whymatch", "serve", "--port", "0", *map(str, arguments)]
    log = folder / "log.jsonl"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **environment}
        )
        assert process.stdout is not None
        with process:
            try:
                line = process.stdout.readline()
                assert line, log.read_text()
                served = Served(line.split()[-1], process, log)
                if wait:
                    until(served.ready)
                yield served
            finally:
                process.terminate()
                process.wait()


def until(condition: Any) -> None:
    """Waits for a condition, for as long as a test may take."""
    while not condition():
        sleep(0.05)


def answer(connection: socket.socket) -> bytes:
    """Everything that comes until the other side hangs up."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def answered(response: Any) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    return dict(response.json())
