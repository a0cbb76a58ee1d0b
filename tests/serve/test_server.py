"""The server's answers are the library's; what it cannot answer costs nobody else anything."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import whymatch as wm
from tests.serve.serving import CORPUS, LEFT, RIGHT, answered, until
from tests.serve.test_safety import problem
from whymatch.learning import Projected
from whymatch.matching.alignment import Alignment
from whymatch.serve.app import create


@pytest.fixture(scope="module")
def library() -> wm.Aligner:
    return wm.Aligner()


def same(found: dict[str, Any], expected: Alignment) -> bool:
    """Whether an answer is an alignment, but for what batches of other sizes do to the last bits of a cost."""
    values = expected.to_dict()
    for key in ("left", "right", "unmatched", "constraint", "by_default", "encoder", "cost", "verdict", "notes"):
        assert found[key] == values[key], key
    assert [link["at"] for link in found["links"]] == [[*link["at"]] for link in values["links"]]
    for key in ("score", "bits", "probability"):
        assert found[key] == pytest.approx(values[key], abs=1e-3), key
    return Alignment.from_dict(found).constraint == expected.constraint


@pytest.mark.parametrize(
    ("asked", "constraint"),
    [
        ({}, None),
        ({"constraint": "exactly:2"}, wm.Exactly(2)),
        ({"constraint": {"name": "Exactly", "k": 2}}, wm.Exactly(2)),
        ({"constraint": "up-to:2"}, wm.UpTo(2, below=0.0)),
        ({"constraint": "up-to:1", "below": -3}, wm.UpTo(1, below=-3.0)),
        ({"constraint": {"name": "UpTo", "k": 1, "below": -3}}, wm.UpTo(1, below=-3.0)),
        ({"below": -3}, wm.UpTo(1, below=-3.0)),
        ({"constraint": "one-to:1"}, wm.OneTo(1)),
        ({"constraint": "balanced"}, wm.Balanced()),
    ],
)
def test_an_answer_is_what_the_library_says(
    client: TestClient, library: wm.Aligner, asked: dict[str, Any], constraint: wm.Constraint | None
) -> None:
    found = answered(client.post("/align", json={"left": LEFT, "right": RIGHT, **asked}))
    assert same(found, library.align(LEFT, RIGHT, constraint))


@pytest.mark.parametrize("spans", ["word", "line", "paragraph", "text"])
def test_spans_are_what_was_asked_for(client: TestClient, spans: str) -> None:
    left, right = "One cat slept.\nIt rained.\n\nAll day.", "It rained all day.\nA cat was asleep."
    asked = {"left": left, "right": right, "spans": spans}
    until(lambda: client.post("/align", json=asked).status_code != 503)  # their background may still be encoded
    found = answered(client.post("/align", json=asked))
    assert same(found, wm.Aligner(spans).align(left, right))


def test_a_list_is_a_text_that_is_split_already(client: TestClient, library: wm.Aligner) -> None:
    left, right = ["I reinstalled the driver. It failed.", "My wifi drops"], ["Wifi is gone", "The driver is new"]
    found = answered(client.post("/align", json={"left": left, "right": right, "constraint": "exactly:2"}))
    assert same(found, library.align(left, right, wm.Exactly(2)))


def test_requests_that_arrive_together_get_their_own_answers(client: TestClient, library: wm.Aligner) -> None:
    texts = [f"The number {number} train is late. Wine {number} is red." for number in range(24)]
    constraints = ["exactly:1", "exactly:2", "balanced"]
    asked = [
        {"left": text, "right": "A train came late. Prices rose.", "constraint": constraints[number % 3]}
        for number, text in enumerate(texts)
    ]
    with ThreadPoolExecutor(24) as people:
        found = [*people.map(lambda values: client.post("/align", json=values), asked)]
    kinds: list[wm.Constraint] = [wm.Exactly(1), wm.Exactly(2), wm.Balanced()]
    for number, response in enumerate(found):
        assert same(answered(response), library.align(texts[number], asked[number]["right"], kinds[number % 3]))


def test_a_bad_pair_fails_alone(client: TestClient, library: wm.Aligner) -> None:
    pairs: list[dict[str, Any]] = [{"left": LEFT, "right": RIGHT} for _ in range(5)]
    pairs[1] = {"left": "", "right": RIGHT}
    pairs[2] = {"left": "One span.", "right": RIGHT}  # too few for two links
    pairs[3] = {"left": "word. " * 100, "right": RIGHT}
    body = {"pairs": pairs, "constraint": "exactly:2"}
    found = answered(client.post("/align/batch", json=body))["results"]
    assert [("problem" in some) for some in found] == [False, True, True, True, False]
    assert "empty" in found[1]["problem"]["detail"]
    assert "Exactly(k=2)" in found[2]["problem"]["detail"]
    assert "100 spans" in found[3]["problem"]["detail"]
    for some in (found[0], found[4]):
        assert same(some, library.align(LEFT, RIGHT, wm.Exactly(2)))


def test_half_a_surrogate_pair_fails_alone_in_a_batch_and_is_refused_elsewhere(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    batch = rb'{"pairs": [{"left": "A \ud800 b.", "right": "C."}, {"left": "A.", "right": "A."}]}'
    first, second = answered(client.post("/align/batch", content=batch, headers=headers))["results"]
    assert "surrogate" in first["problem"]["detail"]
    assert second["links"]
    for path, body in {
        "/align": rb'{"left": "\ud800", "right": "A."}',
        "/check": rb'{"answer": "A.", "sources": ["\ud800"]}',
        "/compare": rb'{"old": "A.", "new": "\ud800"}',
        "/rank": rb'{"query": "A.", "documents": ["\udfff"]}',
        "/search": rb'{"query": ["\ud800"]}',
    }.items():
        found = problem(client.post(path, content=body, headers=headers))
        assert found["status"] == 422
        assert "surrogate" in found["detail"]


def test_an_answer_says_verdict_probability_and_bits_first(client: TestClient, library: wm.Aligner) -> None:
    found = answered(client.post("/align", json={"left": LEFT, "right": RIGHT}))
    assert [*found][1:5] == ["verdict", "probability", "bits", "p_value"]
    assert found["judgement"]["background"] == "texts of many kinds"
    assert found["judgement"]["notes"] == found["notes"] == []
    (schema,) = client.get("/openapi.json").json()["paths"]["/align"]["post"]["responses"]["200"]["content"].values()
    assert {*schema["schema"]["required"]} <= {*found} <= {*schema["schema"]["properties"], *library_only(found)}


def library_only(found: dict[str, Any]) -> set[str]:
    """What an answer has and its description leaves out: words for what other fields say."""
    return {*found} & {"constraint_in_words", "zero", "zooms"}


def test_texts_of_other_requests_are_no_background(client: TestClient, library: wm.Aligner) -> None:
    pairs = [
        {
            "left": f"Train {number} is late. Wine {number} is red. Milk is white.",
            "right": f"Bus {number} came. It rained.",
        }
        for number in range(40)
    ]
    with ThreadPoolExecutor(6) as people:
        found = [*people.map(lambda _: client.post("/align/batch", json={"pairs": pairs}), range(6))]
    for response in found:
        backgrounds = {result["judgement"]["background"] for result in answered(response)["results"]}
        assert backgrounds == {"texts of many kinds"}


def test_documents_are_ranked_by_their_p_values_and_equal_texts_come_first(
    client: TestClient, library: wm.Aligner
) -> None:
    documents = [*CORPUS.values(), "Wine is red."]
    found = answered(client.post("/rank", json={"query": LEFT, "documents": documents, "top_k": 3}))["results"]
    whys = library.align_many([(LEFT, text) for text in documents])
    order = sorted(range(len(documents)), key=lambda number: whys[number].p_value or 0.0)[:3]
    assert [row["corpus_id"] for row in found] == order
    assert [row["text"] for row in found] == [documents[number] for number in order]
    for row in found:
        why = whys[row["corpus_id"]]
        assert row["verdict"] == why.verdict
        assert [row[key] for key in ("probability", "bits", "p_value")] == pytest.approx(
            [why.probability, why.bits, why.p_value], rel=1e-3, abs=1e-3
        )
        assert row["score"] == pytest.approx(sum(link["share"] for link in row["links"]))
    equal = answered(client.post("/rank", json={"query": "Ok.", "documents": [RIGHT, LEFT, "Ok."]}))["results"]
    assert equal[0]["corpus_id"] == 2
    assert equal[0]["probability"] == 1


def test_words_are_ranked_by_their_p_values(client: TestClient) -> None:
    documents = ["The driver is old.", "I reinstalled the driver.", "Wine."]
    asked = {"query": "I reinstalled the driver today.", "documents": documents, "spans": "word"}
    found = answered(client.post("/rank", json=asked))["results"]
    whys = wm.Aligner("word").align_many([(asked["query"], text) for text in documents])
    assert [row["corpus_id"] for row in found] == sorted(range(3), key=lambda number: whys[number].p_value or 0.0)
    for row in found:
        assert row["probability"] == pytest.approx(whys[row["corpus_id"]].probability, abs=0.01)


def test_a_search_finds_what_the_index_finds(client: TestClient, index: Path) -> None:
    found = answered(client.post("/search", json={"query": LEFT, "top_k": 2}))
    expected = wm.Index.open(index).search(LEFT, top_k=2)
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in expected]
    assert [hit["score"] for hit in found["hits"]] == pytest.approx([hit.score for hit in expected], abs=1e-5)
    alone = answered(client.post("/search", json={"query": LEFT, "top_k": 2, "constraint": "up-to:1"}))
    assert alone["hits"][0]["alignment"]["constraint"] == {"name": "UpTo", "k": 1, "below": 0.0}
    for hit, best in zip(found["hits"], expected, strict=True):
        assert {*hit} == {*best.to_dict()}
        assert hit["probability"] == pytest.approx(best.probability, abs=1e-3)


def test_a_filter_chooses_the_documents_that_are_searched(client: TestClient, index: Path) -> None:
    (last, *_) = wm.Index.open(index).search(LEFT, top_k=9)[::-1]
    found = answered(client.post("/search", json={"query": LEFT, "top_k": 2, "where": f"id = '{last.id}'"}))
    assert [hit["id"] for hit in found["hits"]] == [last.id]
    assert found["documents"] == 1


def test_what_was_written_after_the_start_is_found(client: TestClient, index: Path) -> None:
    wm.Index.open(index).add({"late": "A zebra crossed the motorway at midnight."})
    asked = {"query": "At midnight a zebra walked over the motorway.", "top_k": 1}
    until(lambda: answered(client.post("/search", json=asked))["hits"][0]["id"] == "late")
    wm.Index.open(index).delete(["late"])


def test_the_page_of_an_answer_is_the_export(client: TestClient, library: wm.Aligner) -> None:
    found = answered(client.post("/align", json={"left": LEFT, "right": RIGHT, "page": True}))
    assert found["page"].startswith("<!doctype html>")
    assert "Content-Security-Policy" in found["page"]
    assert same(found, library.align(LEFT, RIGHT))


@pytest.mark.parametrize(
    ("path", "asked", "status", "told"),
    [
        ("/check", {"answer": "x" * 2000, "sources": ["y" * 1001]}, 413, "3,009 characters"),
        ("/check", {"answer": "A.", "sources": [{"id": "x" * 3000, "text": "B."}]}, 413, "3,004 characters"),
        ("/check", {"answer": "." * 301, "sources": ["!"]}, 413, "1,205 tokens"),
        ("/check", {"answer": "." * 201, "sources": ["!"] * 3}, 413, "read with up to five of them"),
        ("/check", {"answer": "A", "sources": ["B"] * 6}, 413, "6 sources"),
        ("/check", {"answer": "One. " * 21, "sources": ["Two."]}, 422, "21 spans"),
        ("/check", {"answer": "Two.", "sources": ["One. " * 21]}, 422, "21 spans"),
        ("/check", {"answer": "One. " * 18, "sources": ["Two. " * 15, "Three. " * 15]}, 422, "540 pairs of spans"),
        ("/check", {"answer": " \n", "sources": ["Two."]}, 422, "answer is empty"),
        ("/check", {"answer": "Two.", "sources": ["", {"text": " "}]}, 422, "Every source is empty"),
        ("/check", {"answer": "Two.", "sources": []}, 422, "/sources"),
        ("/check", {"answer": "Two.", "sources": {"a": "Two."}}, 422, "/sources"),
        ("/check", {"answer": ["Two."], "sources": ["Two."]}, 422, "/answer"),
        ("/compare", {"old": "x" * 2000, "new": "y" * 1001}, 413, "3,001 characters"),
        ("/compare", {"old": "." * 600, "new": "!" * 600}, 413, "1,200 tokens"),
        ("/compare", {"old": "One.\n\n" * 61, "new": "Two."}, 422, "61 blocks"),
        (
            "/compare",
            {"old": "".join(f"Old {n}.\n\n" for n in range(30)), "new": "".join(f"New {n}.\n\n" for n in range(30))},
            422,
            "900 pairs of edited blocks",
        ),
        ("/compare", {"old": "One."}, 422, "/new"),
        ("/compare", {"old": "One.", "new": "Two.", "spans": "word"}, 422, "/spans"),
        ("/align", {"left": "x" * 2000, "right": "y" * 1001}, 413, "3,001 characters"),
        ("/align", {"left": "." * 600, "right": "!" * 600}, 413, "1,200 tokens"),
        ("/align", {"left": ["."] * 1001, "right": "A", "spans": "word"}, 413, "tokens"),
        ("/align/batch", {"pairs": [{"left": "." * n, "right": "!"} for n in (300, 301, 401)]}, 413, "1,003 tokens"),
        ("/rank", {"query": "A", "documents": ["." * 500, "!" * 501]}, 413, "1,002 tokens"),
        ("/search", {"query": "." * 1001, "top_k": 1}, 413, "1,001 tokens"),
        ("/align", {"left": "One. " * 21, "right": "Two."}, 422, "21 spans"),
        ("/align", {"left": "One. " * 20, "right": "Two. " * 8}, 422, "20 × 8 pairs of spans"),
        ("/align", {"left": " \n", "right": "Two."}, 422, "empty"),
        ("/align", {"left": [], "right": "Two."}, 422, "empty"),
        ("/align", {"left": [" "], "right": "Two."}, 422, "blank"),
        ("/align", {"left": LEFT}, 422, "/right"),
        ("/align", {"left": LEFT, "right": 3}, 422, "/right"),
        ("/align", {"left": LEFT, "right": RIGHT, "spans": "punkt"}, 422, "/spans"),
        ("/align", {"left": LEFT, "right": RIGHT, "constraint": "exactly:0"}, 422, "/constraint"),
        ("/align", {"left": LEFT, "right": RIGHT, "constraint": "exactly:9"}, 422, "Exactly(k=9)"),
        ("/align", {"left": LEFT, "right": RIGHT, "constraint": "exactly:1", "below": 0.5}, 422, "below"),
        ("/align", {"left": LEFT, "right": RIGHT, "below": -2e6}, 422, "/below"),
        ("/align", {"left": LEFT, "right": RIGHT, "more": 1}, 422, "/more"),
        ("/align/batch", {"pairs": [{"left": "A", "right": "B"}] * 41}, 413, "41 pairs"),
        ("/align/batch", {"pairs": [{"left": "One. " * 20, "right": "Two. " * 7}] * 4}, 422, "560 pairs of spans"),
        ("/align/batch", {"pairs": []}, 422, "/pairs"),
        ("/rank", {"query": "A", "documents": ["B"] * 6}, 413, "6 documents"),
        ("/rank", {"query": "A", "documents": ["B", ""]}, 422, "empty"),
        ("/rank", {"query": "One. " * 20, "documents": ["Two. " * 6] * 5}, 422, "600 pairs of spans"),
        ("/search", {"query": "A", "top_k": 3}, 422, "top_k = 3"),
        ("/search", {"query": "", "top_k": 1}, 422, "empty"),
        ("/search", {"query": "A", "top_k": 1, "where": "year > 1"}, 422, "there is no column 'year'"),
        ("/search", {"query": "A", "top_k": 1, "where": "1" + "+1" * 1500 + " = 1"}, 422, "signs and words of SQL"),
    ],
)
def test_what_is_too_much_or_makes_no_sense_is_refused(
    client: TestClient, path: str, asked: dict[str, Any], status: int, told: str
) -> None:
    found = problem(client.post(path, json=asked))
    assert found["status"] == status
    assert told in found["detail"]


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/align", {"left": [1] * 1000, "right": "A"}),
        ("/align/batch", {"pairs": [{}] * 1000}),
        ("/align/batch", {"pairs": [{"left": [1] * 1000, "right": "A"}]}),
        ("/check", {"answer": "A", "sources": [1] * 1000}),
        ("/check", {"answer": "A", "sources": [{"id": 1, "text": 1}] * 1000}),
        ("/compare", {"old": 1, "new": 2} | {f"field {number}": 1 for number in range(1000)}),
        ("/rank", {"query": "A", "documents": [1] * 1000}),
        ("/rank", {"query": "A", "documents": [[1] * 1000]}),
        ("/search", {"query": "A"} | {f"field {number}": 1 for number in range(1000)}),
        ("/align", {"left": "A", "right": "A", "constraint": {f"field {number}": 1 for number in range(1000)}}),
    ],
)
def test_a_thousand_mistakes_are_not_a_thousand_errors(client: TestClient, path: str, asked: dict[str, Any]) -> None:
    found = problem(client.post(path, json=asked))
    assert found["status"] == 422
    assert len(found["errors"]) <= 3
    assert "more)" not in found["detail"]


def test_a_number_that_is_none_is_refused(client: TestClient) -> None:
    for word in ("NaN", "Infinity", "1e999"):
        body = f'{{"left": "A.", "right": "B.", "below": {word}}}'
        found = problem(client.post("/align", content=body, headers={"Content-Type": "application/json"}))
        assert found["status"] == 422


def test_figures_count_what_was_answered(client: TestClient) -> None:
    line = 'whymatch_requests_total{method="POST",route="/rank",status="200"}'

    def count() -> float:
        rows = [row for row in client.get("/metrics").text.splitlines() if row.startswith(line)]
        return float(rows[0].split()[-1]) if rows else 0.0

    before = count()
    client.post("/rank", json={"query": "A.", "documents": ["B."]})
    assert count() == before + 1


def test_without_an_index_there_is_nothing_to_search(minilm: Path) -> None:
    with TestClient(create(), base_url="http://localhost") as client:
        assert client.get("/health").json() == {"alive": True}
        refused = client.post("/align", json={"left": LEFT, "right": RIGHT})
        if refused.status_code != 200:  # the model is still loading
            assert problem(refused)["status"] == 503
            assert refused.headers["retry-after"] == "1"
        until(lambda: client.get("/ready").status_code == 200)
        assert client.get("/ready").json()["search"] is False
        assert problem(client.post("/search", json={"query": LEFT}))["status"] == 404


def test_a_trained_ranker_ranks_and_aligns(minilm: Path, tmp_path: Path) -> None:
    ranker = wm.Ranker(wm.Aligner("sentence", Projected(wm.SentenceEncoder(), 384)), wm.Exactly(1))
    ranker.save_pretrained(tmp_path)
    documents = [*CORPUS.values()]
    with TestClient(create(tmp_path), base_url="http://localhost") as client:
        until(lambda: client.get("/ready").status_code == 200)
        assert client.get("/ready").json()["spans"] == ["sentence"]
        found = answered(client.post("/rank", json={"query": LEFT, "documents": documents}))["results"]
        expected = ranker.eval().rank(LEFT, documents)
        assert [row["corpus_id"] for row in found] == [row["corpus_id"] for row in expected]
        assert [row["score"] for row in found] == pytest.approx([row["score"] for row in expected], abs=1e-5)
        assert answered(client.post("/align", json={"left": LEFT, "right": RIGHT}))["constraint"]["name"] == "Exactly"
        refused = problem(client.post("/align", json={"left": LEFT, "right": RIGHT, "spans": "word"}))
        assert "sentence; got word" in refused["detail"]
        model = client.app.state.service.models.ranker  # type: ignore[attr-defined]
        assert [*model.encoder.known] == []  # texts of requests are not kept


def test_relations_are_those_of_the_library_and_only_where_they_are_asked_for(client: TestClient) -> None:
    left, right = "Take 5 mg twice a day. My wifi drops every few minutes.", "Take 50 mg twice a day."
    links = wm.Aligner(relations=True).align(left, right).links
    expected = [link.relation.name for link in links if link.relation is not None]
    assert len(expected) == len(links) == 1
    pair = {"left": left, "right": right}
    alone = answered(client.post("/align", json=pair | {"relations": True}))
    batch = answered(client.post("/align/batch", json={"pairs": [pair, pair], "relations": True}))["results"]
    for found in (alone, *batch):
        assert [link["relation"]["name"] for link in found["links"]] == expected
        assert [conflict["kind"] for conflict in found["links"][0]["conflicts"]] == ["number"]
        assert Alignment.from_dict(found).verdict == found["verdict"]
        assert "contradict each other in 1 place" in found["verdict"]
    for asked in ({}, {"page": True, "relations": False}):
        found = answered(client.post("/align", json=pair | asked))
        assert [link["relation"] for link in found["links"]] == [None]
    assert answered(client.post("/align", json=pair | {"page": True}))["links"][0]["relation"] is not None
