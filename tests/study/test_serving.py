"""The server of a study: what it acknowledges is kept, come what may, and it never names a model."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from urllib.parse import quote

import httpx
import pytest

from tests.study.studies import HACK, SECRETS, serving, written
from whymatch.serve.page import POLICY
from whymatch.serve.study import FILES
from whymatch.study.answers import Answer, Answers
from whymatch.study.items import Study

ENOUGH = 120  # answers that are acknowledged before the server is killed


def put(client: httpx.Client, item: str, question: str, **body: object) -> httpx.Response:
    path, kind = f"/api/answers/{quote(item)}/{quote(question)}", {"Content-Type": "application/json"}
    return client.put(path, content=json.dumps(body), headers=kind)


def judge(url: str, name: str, made: Study, acknowledged: list[Answer], enough: Event) -> None:
    """Answers everything in order, as far as the server lives."""
    with httpx.Client(base_url=url) as client:
        for item in made.order(name):
            for question, values in made.questions(item).items():
                try:
                    response = put(client, item.id, question, annotator=name, value=values[-1])
                except httpx.TransportError:
                    return
                assert response.status_code == 200
                acknowledged.append(Answer(**response.json()))
                if len(acknowledged) >= ENOUGH:
                    enough.set()


def test_every_acknowledged_answer_survives_a_kill_and_the_study_goes_on(tmp_path: Path) -> None:
    made = written(tmp_path, pairs=100)
    acknowledged: list[Answer] = []
    enough = Event()
    with serving(tmp_path, stop=False) as (url, process), ThreadPoolExecutor(3) as pool:
        people = [pool.submit(judge, url, name, made, acknowledged, enough) for name in ("Ada", "Ben", "Cy")]
        assert enough.wait(60)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for person in people:
            person.result()
    everything = sum(len(made.questions(item)) for item in made.items) * 3
    assert ENOUGH <= len(acknowledged) < everything  # it died in the middle
    assert {answer.annotator for answer in acknowledged} == {"Ada", "Ben", "Cy"}
    kept = Answers(made, tmp_path).all()
    assert {*acknowledged} <= {*kept}
    assert len(kept) <= len(acknowledged) + 3  # one each may have been on its way
    with serving(tmp_path) as (url, _), httpx.Client(base_url=url) as client:
        mine = client.get("/api/items", params={"annotator": "Ada"}).json()["answers"]
        assert sum(map(len, mine.values())) == sum(answer.annotator == "Ada" for answer in kept)
        assert put(client, made.items[-1].id, "overall", annotator="Ada", value=1).status_code == 200


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("study")
    made = written(folder)
    with serving(folder) as (url, _), httpx.Client(base_url=url) as client:
        yield client, made, folder


Served = tuple[httpx.Client, Study, Path]


def test_nothing_that_is_served_tells_a_model(served: Served) -> None:
    client, made, _ = served
    paths = [*FILES, "/api/study", "/api/items?annotator=Ada", "/openapi.json", "/health"]
    answers = [client.get(path) for path in [*paths, *(f"/api/items/{item.id}" for item in made.items)]]
    assert {answer.status_code for answer in answers} == {200}
    for answer in answers:
        assert not any(secret in answer.text for secret in (*SECRETS, "secret", '"models"'))
    item = client.get("/api/items/1").json()
    assert item.keys() == {"id", "columns", "blocks", "links"}
    assert [link.keys() for link in item["links"]] == [{"question", "at", "texts"}] * 2


def test_people_get_all_items_in_orders_of_their_own(served: Served) -> None:
    client, made, _ = served
    orders = [client.get("/api/items", params={"annotator": name}).json()["items"] for name in ("Ada", "Ben", "Eve")]
    assert len({tuple(item["id"] for item in order) for order in orders}) > 1
    for order in orders:
        assert sorted(item["id"] for item in order) == [item.id for item in made.items]


@pytest.mark.parametrize(
    ("item", "question", "body", "status", "says"),
    [
        ("99", "overall", {"annotator": "Ada", "value": 1}, 404, "no item"),
        (HACK, "overall", {"annotator": "Ada", "value": 1}, 404, ""),
        ("1", "1-1", {"annotator": "Ada", "value": 1}, 404, "no question"),
        ("1", "overall", {"annotator": "Ada", "value": 3}, 422, "one of 0, 1, 2"),
        ("1", "overall", {"annotator": "Ada", "value": True}, 422, "/value"),
        ("1", "overall", {"annotator": "Ada", "value": "1"}, 422, "/value"),
        ("1", "overall", {"annotator": " ", "value": 1}, 422, "A name has"),
        ("1", "overall", {"annotator": "\ud800", "value": 1}, 422, "A name has"),
        ("1", "overall", {"annotator": "x" * 5000, "value": 1}, 413, "bytes"),
        ("1", "overall", {"value": 1}, 422, "/annotator"),
    ],
)
def test_a_bad_answer_is_refused_in_words_and_not_kept(
    served: Served, item: str, question: str, body: dict[str, object], status: int, says: str
) -> None:
    client, made, folder = served
    before = Answers(made, folder).all()
    response = put(client, item, question, **body)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert says in response.json()["detail"]
    assert Answers(made, folder).all() == before


def test_pages_of_other_sites_and_other_hosts_are_kept_out(served: Served) -> None:
    client, _, _ = served
    body = {"annotator": "Ada", "value": 1}
    foreign = client.put("/api/answers/1/overall", json=body, headers={"Origin": "https://elsewhere.example"})
    assert foreign.status_code == 403
    assert client.get("/api/study", headers={"Host": "elsewhere.example"}).status_code == 421
    page = client.get("/")
    assert page.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert page.headers["x-content-type-options"] == "nosniff"
    assert client.get("/api/study").headers["cache-control"] == "no-store"


def test_with_a_token_only_the_bare_page_is_open(tmp_path: Path) -> None:
    written(tmp_path)
    token = tmp_path / "token"
    token.write_text("a-token-of-some-length")
    with serving(tmp_path, "--token-file", str(token)) as (url, _), httpx.Client(base_url=url) as client:
        assert {client.get(path).status_code for path in FILES} == {200}
        for path in ("/api/study", "/api/items?annotator=Ada", "/api/items/1"):
            assert client.get(path).status_code == 401
        assert put(client, "1", "overall", annotator="Ada", value=1).status_code == 401
        client.headers["Authorization"] = "Bearer a-token-of-some-length"
        assert put(client, "1", "overall", annotator="Ada", value=1).status_code == 200
    assert "Ada" not in (tmp_path / "server.log").read_text()  # names do not go into logs
