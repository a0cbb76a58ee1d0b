"""What any server of ours lets in: a small app behind the rules."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from whymatch.serve.monitoring import Answered
from whymatch.serve.problems import MEDIA_TYPE, add_problems
from whymatch.serve.running import hosts_for, token_for
from whymatch.serve.safety import HEADERS, LOOPBACK, Guarded, Rules

TOKEN = "a-token-of-some-length"


class Word(BaseModel):
    word: str


def app_behind(rules: Rules, seen: list[Answered]) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None)

    @app.post("/word")
    async def word(asked: Word) -> dict[str, str]:
        return {"word": asked.word}

    @app.post("/wait")
    async def wait(asked: Word) -> dict[str, str]:
        await asyncio.sleep(3600)
        return {}

    @app.post("/fail")
    async def fail(asked: Word) -> dict[str, str]:
        raise RuntimeError(f"failed on {asked.word}")

    @app.get("/health")
    async def health() -> dict[str, bool]:
        return {"alive": True}

    add_problems(app)
    app.add_middleware(Guarded, rules=rules, watch=seen.append)
    return app


class Client:
    """Asks an app without a network."""

    def __init__(self, rules: Rules) -> None:
        self.seen: list[Answered] = []
        self.app = app_behind(rules, self.seen)

    def ask(self, *requests: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
        """The answers to requests that are sent at once."""

        async def all_of_them() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8000") as client:
                work = [client.request(method, path, **options) for method, path, options in requests]
                return [*await asyncio.gather(*work)]

        return asyncio.run(all_of_them())

    def post(self, path: str = "/word", **options: Any) -> httpx.Response:
        return self.ask(("POST", path, {"json": {"word": "yes"}} | options))[0]


def problem(response: Any) -> dict[str, Any]:
    """The problem that a response is, with all that RFC 9457 wants."""
    assert response.headers["content-type"] == MEDIA_TYPE
    found = response.json()
    assert found["status"] == response.status_code
    assert {"type", "title", "detail"} <= found.keys()
    return dict(found)


def test_every_answer_has_the_headers_that_browsers_need() -> None:
    client = Client(Rules())
    for response in client.ask(("GET", "/health", {}), ("GET", "/nowhere", {}), ("POST", "/word", {"content": b"{"})):
        assert {name: response.headers[name] for name in HEADERS} == HEADERS
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8000", "a@localhost", "", "["]
)
def test_another_host_gets_nothing(host: str) -> None:
    assert problem(Client(Rules()).post(headers={"Host": host}))["status"] == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000"])
def test_this_machine_is_let_in_by_all_its_names(host: str) -> None:
    assert Client(Rules()).post(headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:9999", "http://localhost"])
def test_pages_of_other_sites_cannot_post(origin: str) -> None:
    assert problem(Client(Rules()).post(headers={"Origin": origin}))["status"] == 403
    assert Client(Rules()).post(headers={"Origin": "http://localhost:8000"}).status_code == 200


def test_a_token_is_needed_for_all_but_what_is_open() -> None:
    client = Client(Rules(token=TOKEN))
    for given in (None, TOKEN, f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer \xff"):
        headers = {} if given is None else {"Authorization": given.encode("latin-1")}
        found = client.post(headers=headers)
        assert problem(found)["status"] == 401
        assert found.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in found.text
    assert client.post(headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.ask(("GET", "/health", {}))[0].status_code == 200


@pytest.mark.parametrize("size", [101, 800, 10**5])
@pytest.mark.parametrize("chunked", [False, True])
def test_large_bodies_are_refused_with_and_without_a_length(size: int, chunked: bool) -> None:
    async def parts() -> Any:
        for _ in range(size):
            yield b"x"

    content = parts() if chunked else b"x" * size
    assert problem(Client(Rules(max_bytes=100)).post(json=None, content=content))["status"] == 413


def test_a_body_that_does_not_end_is_given_up() -> None:
    async def parts() -> Any:
        yield b'{"word": '
        await asyncio.sleep(3600)

    found = Client(Rules(body_seconds=0.1)).post(json=None, content=parts())
    assert problem(found)["status"] == 408
    assert found.headers["connection"] == "close"


def test_work_beyond_the_limit_is_refused_and_work_below_is_not() -> None:
    client = Client(Rules(max_requests=3, seconds=1))
    slow = ("POST", "/wait", {"json": {"word": "slow"}})
    *found, last = client.ask(slow, slow, slow, slow, ("GET", "/health", {}))
    assert last.status_code == 200
    assert [problem(some)["status"] for some in found] == [503] * 4
    reasons = [some.json()["detail"] for some in found]
    assert sum("which is the limit" in reason for reason in reasons) == 1
    assert sum("no answer within 1 seconds" in reason for reason in reasons) == 3
    for some, reason in zip(found, reasons, strict=True):  # what took too long would take as long again
        assert ("retry-after" in some.headers) == ("which is the limit" in reason)
    assert client.post().status_code == 200  # their places are free again


def test_a_failure_says_nothing_of_the_insides(caplog: pytest.LogCaptureFixture) -> None:
    found = Client(Rules()).post("/fail", json={"word": "secret"})
    assert problem(found)["status"] == 500
    for inside in ("secret", "RuntimeError", "Traceback", ".py"):
        assert inside not in found.text


def test_what_a_client_made_up_is_not_repeated_in_the_figures() -> None:
    client = Client(Rules())
    client.ask(("GET", "/secret/path?q=secret", {}), ("POST", "/word", {"json": {"word": "secret"}}))
    assert sorted((some.route, some.status) for some in client.seen) == [("-", 404), ("/word", 200)]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"word": "x"', 400),
        (b"\xff\xfe", 400),
        (b"[" * 10**5, 400),
        (b'{"word": 3}', 422),
        (b"{}", 422),
        (b"", 422),
        (b"9" * 5000, 400),
    ],
)
def test_what_cannot_be_read_is_a_problem_of_the_sender(body: bytes, status: int) -> None:
    headers = {"Content-Type": "application/json"}
    found = problem(Client(Rules()).post(json=None, content=body, headers=headers))
    assert found["status"] == status
    assert json.dumps(found).isascii()


@pytest.fixture
def no_token(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("WHYMATCH_TOKEN", raising=False)
    return monkeypatch


def test_an_address_that_others_reach_needs_a_token_unless_it_is_switched_off(
    no_token: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="a token is needed"):
        token_for("0.0.0.0", None, switched_off=False)
    assert token_for("0.0.0.0", None, switched_off=True) is None
    assert token_for("127.0.0.1", None, switched_off=False) is None
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert token_for("0.0.0.0", file, switched_off=False) == TOKEN
    no_token.setenv("WHYMATCH_TOKEN", TOKEN)
    assert token_for("::", None, switched_off=False) == TOKEN
    no_token.delenv("WHYMATCH_TOKEN")
    with pytest.raises(ValueError, match="by the names of --allow-host"):
        token_for("127.0.0.1", None, switched_off=False, proxied=True)
    assert token_for("127.0.0.1", None, switched_off=True, proxied=True) is None
    file.write_text("short")
    with pytest.raises(ValueError, match="16 or more"):
        token_for("127.0.0.1", file, switched_off=False)


def test_hosts_are_checked_on_this_machine_and_where_they_are_named() -> None:
    assert hosts_for("127.0.0.1", ["Why.Example"]) == LOOPBACK | {"why.example"}
    assert hosts_for("0.0.0.0", ["why.example"]) == frozenset({"why.example"})
    assert hosts_for("0.0.0.0") is None
    assert hosts_for("0.0.0.0", token=False) == LOOPBACK | {"0.0.0.0"}  # nothing else keeps other sites out


def test_without_a_token_only_numeric_addresses_and_known_names_are_hosts() -> None:
    client = Client(Rules(hosts=hosts_for("0.0.0.0", ["why.example"], token=False)))
    for host, status in (("192.168.0.7:80", 200), ("why.example", 200), ("[::1]:9", 200), ("evil.example", 421)):
        assert client.post(headers={"Host": host}).status_code == status
    assert client.post(headers={"Origin": "http://["}).status_code == 403
