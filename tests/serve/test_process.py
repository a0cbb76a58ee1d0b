"""The server as it runs: what slow, broken and large requests do to others, how it stops, and what it logs."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.serve.serving import LEFT, RIGHT, Served, answer, indexed, serving, until
from tests.serve.test_safety import problem
from whymatch.cli import main

ASKED = {"left": LEFT, "right": RIGHT, "constraint": "exactly:2"}
TOKEN = "a-token-of-some-length"
TRAINS = " ".join(f"Train number {number} to York is late by {number + 1} minutes." for number in range(150))


def test_slow_requests_hurt_nobody(served: Served) -> None:
    with ExitStack() as stack:
        for head in (b"POST /al", b"POST /align HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"):
            for _ in range(80):  # more than the requests that are worked on at once
                stack.enter_context(served.connect()).sendall(head)
        for _ in range(3):
            assert served.post("/align", ASKED).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),  # TLS
        b"GET / HTTP/1.1\r\n\r\n",  # no host
        b"POST /align HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /align HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"POST /align HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
    ],
    ids=["garbage", "tls", "hostless", "length", "chunks", "huge"],
)
def test_broken_requests_are_refused_and_the_server_lives_on(served: Served, sent: bytes) -> None:
    with served.connect() as connection:
        connection.sendall(sent)
        found = answer(connection)
    assert found.startswith(b"HTTP/1.1 4")
    assert b"Traceback" not in found
    assert served.post("/align", ASKED).status_code == 200


def test_a_client_that_does_not_read_is_hung_up_on() -> None:
    """A server in this process, whose patience is a tenth of a second: a client asks for files and reads none."""
    program = """
import socket, sys, threading, time
from whymatch.serve import running
running.MAX_SILENCE = 0.1
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"90000000")]})
        for _ in range(9):
            await send({"type": "http.response.body", "body": bytes(10_000_000), "more_body": True})
        await send({"type": "http.response.body"})
    elif (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
def ask(url):
    def client():
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as found:
            found.sendall(b"GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
            time.sleep(2)  # and then reads
            size = 0
            try:
                while some := found.recv(2**20):
                    size += len(some)
            except ConnectionResetError:
                pass
            print("cut" if size < 90_000_000 else "whole", flush=True)
        import os, signal; os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=client, daemon=True).start()
running.run(app, "127.0.0.1", 0, ask)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "cut\n"), ran.stderr


def test_a_signal_before_the_server_has_begun_stops_it() -> None:
    program = """
import os, signal
from whymatch.serve import running
async def app(scope, receive, send):
    while (message := await receive())["type"].startswith("lifespan"):
        await send({"type": message["type"] + ".complete"})
        if message["type"].endswith("shutdown"):
            return
running.run(app, "127.0.0.1", 0, lambda url: os.kill(os.getpid(), signal.SIGTERM))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_client_that_leaves_hurts_nobody(served: Served) -> None:
    body = b'{"left": "One. Two.", "right": "Two. Three."}'
    head = b"POST /align HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    for _ in range(20):
        with served.connect() as connection:
            connection.sendall(head + str(len(body)).encode() + b"\r\n\r\n" + body)
    assert served.post("/align", ASKED).status_code == 200


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/align", {"left": "." * 12_000, "right": "!" * 12_000}),
        ("/check", {"answer": TRAINS, "sources": [TRAINS.replace("late", "early")] * 2}),
        ("/compare", {"old": TRAINS, "new": TRAINS.replace("Train", "Bus")}),
    ],
)
def test_a_client_that_leaves_before_its_answer_is_not_worked_for(
    served: Served, path: str, asked: dict[str, object]
) -> None:
    body = json.dumps(asked).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ".encode()

    def left_in_time() -> bool:
        """Asks, and leaves once the question is counted, which may be after the answer was sent."""
        before = counted(served, path)
        with served.connect() as connection:
            connection.sendall(head + str(len(body)).encode() + b"\r\n\r\n" + body)
            until(lambda: sum(counted(served, path)) > sum(before))
        until(lambda: (now := counted(served, path))[0] == 0 and now[1] > before[1])
        return any((line.get("status"), line.get("route")) == (499, path) for line in served.said())

    until(left_in_time)
    assert served.post("/align", ASKED).status_code == 200


@pytest.mark.parametrize("sign", [".", "!", "漢", "a "])
def test_limits_count_tokens(served: Served, sign: str) -> None:
    found = problem(served.post("/align", {"left": sign * (99_000 // len(sign)), "right": "b"}))
    assert found["status"] == 413
    tokens = 99_000 // len(sign) + 1
    assert f"{tokens:,} tokens" in found["detail"]
    assert "25,000 tokens a request" in found["detail"]


def test_a_body_that_is_too_large_is_refused_with_an_answer(served: Served) -> None:
    found = httpx.post(f"{served.url}/align", content=b"x" * (2**20 + 1), timeout=None)
    assert problem(found)["status"] == 413


def test_the_log_is_json_and_holds_no_text(served: Served) -> None:
    secret = "The password of the safe is swordfish."
    served.post("/align", {"left": secret, "right": secret})
    served.post("/search", {"query": secret})
    served.post("/check", {"answer": secret, "sources": [{"id": secret, "text": secret}]})
    served.post("/compare", {"old": secret, "new": secret})
    served.post("/align", {"left": secret, "right": secret, secret: secret})
    httpx.get(f"{served.url}/{secret}?{secret}", timeout=None)
    until(lambda: any(line.get("status") == 404 for line in served.said()))
    lines = served.said()
    assert {"/align", "/check", "/compare", "/search", "-"} <= {
        line["route"] for line in lines if line["event"] == "answered"
    }
    assert "swordfish" not in served.log.read_text()


def test_requests_that_were_accepted_finish_when_the_server_is_stopped(tmp_path: Path, minilm: Path) -> None:
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as people:
        text = " ".join(f"Sentence {number} speaks of the wifi and of the driver." for number in range(60))
        work = [people.submit(server.post, "/align", {"left": f"{text} {n}", "right": text}) for n in range(6)]
        until(lambda: sum(counted(server, "/align")) >= 6)
        server.process.send_signal(signal.SIGTERM)
        assert [some.result().status_code for some in work] == [200] * 6
        assert server.process.wait() == 0
        assert server.said()[-1]["event"] == "stopped"


def counted(server: Served, route: str) -> tuple[int, int]:
    """How many questions wait or are being answered, and how many requests of a route were answered."""
    rows = httpx.get(f"{server.url}/metrics", timeout=None).text.splitlines()
    waiting = [row for row in rows if row.startswith("whymatch_unanswered_questions ")]
    done = [row for row in rows if row.startswith("whymatch_requests_total{") and f'route="{route}"' in row]
    return sum(int(float(row.split()[-1])) for row in waiting), sum(int(float(row.split()[-1])) for row in done)


def test_a_token_keeps_others_out(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0", wait=False, WHYMATCH_TOKEN=TOKEN) as server:
        local = server.url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{local}/health", timeout=None).status_code == 200
        assert httpx.get(f"{local}/", timeout=None).status_code == 200
        assert problem(httpx.get(f"{local}/metrics", timeout=None))["status"] == 401
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.get(f"{local}/metrics", headers=headers, timeout=None).status_code == 200
        assert TOKEN not in server.log.read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "0.0.0.0"], "a token is needed"),
        (["--index", "nowhere"], "nowhere"),
        (["--model", "nowhere"], "nowhere"),
        (["--port", "99999"], "0 to 65535"),
        (["--requests", "0"], "requests must be above 0"),
        (["--token-file", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["serve", "--port", "0", *arguments])
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("{")]
    assert status == 2
    assert len(lines) == 1
    assert lines[0].startswith("whymatch: ")
    assert told in lines[0]


def test_an_address_that_is_taken_is_named(served: Served) -> None:
    port = served.url.rpartition(":")[2]
    command = [sys.executable, "-m", "whymatch", "serve", "--port", port]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert f"Cannot listen at http://127.0.0.1:{port}" in ran.stderr


def test_an_index_of_another_model_stops_the_server(
    tmp_path: Path, minilm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import whymatch as wm
    from whymatch.learning import Projected

    wm.Ranker(wm.Aligner("sentence", Projected(wm.SentenceEncoder(), 384)), wm.Exactly(1)).save_pretrained(
        tmp_path / "run"
    )
    indexed(tmp_path / "index")
    assert main(["serve", "--port", "0", "--model", str(tmp_path / "run"), "--index", str(tmp_path / "index")]) == 2
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    assert printed.splitlines()[-1].startswith("whymatch: ")


def test_without_the_extra_the_verb_says_what_to_install() -> None:
    block = "import sys, importlib.machinery as m; f = m.PathFinder.find_spec"
    hide = "m.PathFinder.find_spec = lambda name, *rest: None if name == 'fastapi' else f(name, *rest)"
    code = f"{block}; {hide}; from whymatch.cli import main; sys.exit(main(['serve']))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr == "whymatch: Serving needs fastapi: pip install 'whymatch[serve]'.\n"
