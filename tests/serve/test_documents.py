"""Checks and comparisons over HTTP are those of the library."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import whymatch as wm
from tests.serve.serving import answered

EXAMPLES = Path(__file__).parents[2] / "examples"
ANSWER = (EXAMPLES / "answer.txt").read_text()
SOURCES = {file.stem: file.read_text() for file in sorted((EXAMPLES / "sources").iterdir())}
OLD, NEW = ((EXAMPLES / f"contract-{name}.txt").read_text() for name in ("old", "new"))


def test_an_answer_is_checked_as_the_library_checks_it(client: TestClient) -> None:
    sources = [{"id": name, "text": text} for name, text in SOURCES.items()]
    results = answered(client.post("/check", json={"answer": ANSWER, "sources": sources, "page": True}))
    check = wm.check(ANSWER, SOURCES)
    assert results.pop("page") == check.to_html()
    assert results.keys() == check.to_dict().keys()
    for key in ("verdict", "counts", "answer", "sources", "background", "notes"):
        assert results[key] == check.to_dict()[key]
    expected = [
        (claim.verdict, claim.text, claim.reason, [one.text for one in claim.citations]) for claim in check.claims
    ]
    assert expected == [
        (claim["verdict"], claim["text"], claim["reason"], [one["text"] for one in claim["citations"]])
        for claim in results["claims"]
    ]
    assert [claim["verdict"] for claim in results["claims"]].count("contradicted") == 1


def test_sources_without_a_name_get_a_number_and_empty_ones_a_note(client: TestClient) -> None:
    results = answered(
        client.post("/check", json={"answer": "It rains.", "sources": ["It rains.", " ", {"text": "No."}]})
    )
    assert [source["name"] for source in results["sources"]] == ["source 1", "source 3"]
    assert results["notes"] == ["source 2 is empty."]


def test_versions_are_compared_as_the_library_compares_them(client: TestClient) -> None:
    results = answered(client.post("/compare", json={"old": OLD, "new": NEW, "page": True}))
    comparison = wm.compare(OLD, NEW)
    assert results.pop("page") == comparison.to_html()
    values = comparison.to_dict()
    assert results.keys() == values.keys()
    for key in ("verdict", "counts", "left", "right", "remarks"):
        assert results[key] == values[key]
    for change, expected in zip(results["changes"], values["changes"], strict=True):
        assert {**change, "relation": None} == {**expected, "relation": None}
    kinds = {change["kind"] for change in results["changes"]}
    assert kinds == {"same", "changed", "moved", "missing", "new", "split"}


def test_versions_are_compared_by_other_spans_and_without_relations_where_that_is_asked_for(client: TestClient) -> None:
    asked = {"old": "It rains.\nIt snows.", "new": "It rains.\nIt does not snow.", "spans": "line", "relations": False}
    results = answered(client.post("/compare", json=asked))
    assert results["left"]["spans"] == [[0, 9], [10, 19]]
    assert not any(change["relation"] or change["conflicts"] for change in results["changes"])


def test_checks_and_comparisons_are_described_as_they_are(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for path, asked in {
        "/check": {"answer": ANSWER, "sources": [*SOURCES.values()]},
        "/compare": {"old": OLD, "new": NEW},
    }.items():
        results = answered(client.post(path, json=asked))
        (schema,) = paths[path]["post"]["responses"]["200"]["content"].values()
        assert {*schema["schema"]["required"]} == {*results}


def test_checks_and_comparisons_that_arrive_together_get_their_own_answers(client: TestClient) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []
    for number in range(12):
        asked.append(("/check", {"answer": f"Tea costs {number} euros.", "sources": ["Tea costs 5 euros."]}))
        asked.append(("/compare", {"old": "Tea costs 5 euros.", "new": f"Tea costs {number} euros."}))
    with ThreadPoolExecutor(24) as people:
        results = [answered(one) for one in people.map(lambda one: client.post(one[0], json=one[1]), asked)]
    for number in range(12):
        check, comparison = results[2 * number : 2 * number + 2]
        assert check["claims"][0]["verdict"] == ("supported" if number == 5 else "contradicted")
        assert [change["matters"] for change in comparison["changes"]] == [number != 5]
