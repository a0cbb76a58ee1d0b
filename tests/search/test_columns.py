"""What an index keeps beside texts comes back as it was given, whatever its columns are called."""

import json
import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whymatch as wm
from tests.search.encoding import WordSums, aligner, post, posts
from whymatch.datasets.documents import Cell, CorpusFiles
from whymatch.search.building import build, kept_columns
from whymatch.search.columns import Columns
from whymatch.search.index import Index
from whymatch.text.spans import SPLITTERS, Span

KINDS: dict[type, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
}
ODD_NAMES = ["ID", "Text", "digest", "vectors", "_rowid", "kept_0", "../../etc/passwd", "'; DROP TABLE documents; --"]
ODD_NAMES += ["user.name", "<script>alert(1)</script>", "=1+1", "in", "Größe (m²)", '"quoted"', "a\\b", "year" * 50]
NAMES = st.one_of(
    st.sampled_from(ODD_NAMES),
    st.text(st.characters(codec="utf-8", exclude_characters="`"), min_size=1, max_size=20).filter(
        lambda name: name.isprintable() and name.strip() and name not in ("id", "text")
    ),
)


@settings(max_examples=8)
@given(data=st.data(), kinds=st.dictionaries(NAMES, st.sampled_from([*KINDS]), max_size=6))
def test_values_come_back_after_reopening_replacing_and_compaction(
    data: st.DataObject, kinds: dict[str, type], tmp_path_factory: pytest.TempPathFactory
) -> None:
    values = st.fixed_dictionaries({name: st.none() | KINDS[kind] for name, kind in kinds.items()})
    metadata = {id_: data.draw(values) for id_ in posts(4)}
    folder = tmp_path_factory.mktemp("columns") / "index"
    index = Index.create(folder, aligner(), keep=kinds)
    index.add(posts(4), metadata)
    assert kept(Index.open(folder, aligner())) == metadata
    changed = {"post-1": data.draw(values)}
    index.replace({"post-1": "Another text", "post-2": "A third one"}, changed)  # of post-2 everything is kept
    index.compact()
    assert kept(Index.open(folder, aligner())) == {**metadata, **changed}
    assert {path.name for path in folder.parent.iterdir()} == {"index"}  # no name leads out of the folder
    hits = index.search(post(3), 4)
    assert {hit.id: hit.metadata for hit in hits} == {**metadata, **changed}
    assert json.loads(json.dumps(hits.to_dict()))["hits"][0]["metadata"] == hits[0].metadata


def kept(index: Index) -> dict[str, Any]:
    return {entry.id: entry.metadata for entry in index.entries(index.ids())}


@pytest.mark.parametrize("name", ["", "  ", "a`b", "a\nb", "a\0b", "\ud800", "id", "text", "x" * 201, 3])
def test_names_that_cannot_be_kept_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name of a column|Every index has"):
        Index.create(tmp_path / "index", aligner(), keep={name: str})
    assert not (tmp_path / "index").exists()


def test_what_an_index_keeps_cannot_change(tmp_path: Path) -> None:
    Index.create(tmp_path, aligner(), keep={"year": int})
    assert Index.create(tmp_path, aligner()).columns == Columns.of({"year": int})
    for other in ({}, {"year": str}, {"year": int, "topic": str}):
        with pytest.raises(ValueError, match=r"keeps year \(whole number\), and not .*another folder"):
            Index.create(tmp_path, aligner(), keep=other)
    with pytest.raises(ValueError, match="one of str, int, float, bool"):
        Index.create(tmp_path / "new", aligner(), keep={"year": date})


@pytest.mark.parametrize(
    ("documents", "metadata", "message"),
    [
        ({"a": "A text"}, {"a": {"topic": "x"}}, r"Document 'a': The index keeps no column 'topic'. It keeps: year"),
        ({"a": "A text"}, {"a": {"year": "soon"}}, "Document 'a': .*whole numbers, got 'soon'"),
        ({"a": "A text"}, {"a": {"year": 2**63}}, "whole numbers, got"),
        ({"a": "A text"}, {"a": {"year": True}}, "whole numbers, got True"),
        ({"a": "A text"}, {"a": {"year": b"1"}}, "bytes"),
        ({"a": "A text"}, {"b": {"year": 1}}, "metadata of 'b', which is not among the documents"),
    ],
)
def test_metadata_that_cannot_be_kept_are_refused_before_anything_is_encoded(
    documents: dict[str, str], metadata: dict[str, Any], message: str, tmp_path: Path
) -> None:
    encoder = Counting()
    index = Index.create(tmp_path, wm.Aligner("line", encoder), keep={"year": int})
    before = encoder.texts
    with pytest.raises(ValueError, match=message):
        index.add(documents, metadata)
    assert (len(index), encoder.texts) == (0, before)


class Counting(WordSums):
    """Counts the texts that it encodes."""

    texts = 0

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        self.texts += len(texts)
        return super().encode(texts, spans)


RAW = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=3,
)
CELLS = st.sampled_from(["", "0", "7", "-3", "007", "1.50", "1e3", "1e999", "nan", "2019", "x", " 7", "12" * 12, "٣"])


@given(
    rows=st.lists(st.fixed_dictionaries({}, optional={"a": RAW | CELLS.map(Cell), "b": CELLS.map(Cell)}), max_size=6)
)
def test_the_types_that_are_inferred_hold_every_value(rows: list[dict[str, Any]]) -> None:
    columns = Columns.inferred(["a", "b"], rows)
    for row in rows:
        for name, value in columns.metadata(row).items():
            given = row.get(name)
            assert value is None or type(value) in KINDS
            missing = given in (None, "") or (isinstance(given, float) and not math.isfinite(given))
            assert (value is None) == missing
            if isinstance(given, int) and isinstance(value, int):
                assert value == given


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["2019", "", "-7"], int),
        (["2019", "3.5", "1e3"], float),
        (["007", "12"], str),
        (["2019", "n/a"], str),
        (["true", "", "FALSE"], bool),
        (["true", "no"], str),
        (["true", "1"], str),
        (["1e999"], str),
        (["9" * 19], str),
        (["", ""], str),
    ],
)
def test_cells_are_numbers_or_truth_values_where_all_of_them_are(cells: list[str], kind: type) -> None:
    (column,) = Columns.inferred(["c"], [{"c": Cell(cell)} for cell in cells])
    assert column.kind is kind
    read = {"true": True, "FALSE": False}.__getitem__ if kind is bool else kind
    assert [column.value(Cell(cell)) for cell in cells] == [read(cell) if cell else None for cell in cells]


def test_strings_of_typed_files_stay_text_and_other_types_have_a_written_form() -> None:
    assert [column.kind for column in Columns.inferred(["zip"], [{"zip": "12345"}])] == [str]
    texts = Columns.of({"c": str})
    for value, expected in [
        (date(2019, 3, 1), "2019-03-01"),
        (datetime(2019, 3, 1, 12), "2019-03-01T12:00:00"),
        ([1, "ä"], '[1, "ä"]'),
        (True, "true"),
        (np.str_("x"), "x"),
    ]:
        assert texts.metadata({"c": value}) == {"c": expected}
    numbers = Columns.of({"c": float})
    assert [numbers.metadata({"c": n})["c"] for n in (Decimal("1.5"), np.float32(2), np.int64(3))] == [1.5, 2.0, 3.0]
    assert Columns.of({"c": int}).metadata({"c": 3.0}) == {"c": 3}


def write(folder: Path, rows: list[dict[str, Any]]) -> CorpusFiles:
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return CorpusFiles(folder / "corpus.jsonl", keep=("views", "topic"))


def test_a_document_whose_metadata_changed_is_not_encoded_again(tmp_path: Path) -> None:
    encoder = Counting()
    rows: list[dict[str, Any]] = [
        {"id": id_, "text": text, "views": n, "topic": "a"} for n, (id_, text) in enumerate(posts(60).items())
    ]
    corpus = write(tmp_path, rows)
    keep = {column.name: column.kind for column in kept_columns(corpus)}
    index = Index.create(tmp_path / "index", wm.Aligner("line", encoder), keep=keep)
    build(index, corpus, pytest.fail)
    before, entries = encoder.texts, {entry.id: entry for entry in index.entries(posts(60))}
    changed = [row | {"views": 1000 + n} if n % 3 == 0 else row for n, row in enumerate(rows)]
    changed[5] |= {"text": "Another text"}
    report = build(index, write(tmp_path, changed), pytest.fail)
    assert (report.written, report.unchanged) == (21, 39)
    assert encoder.texts == before + 1
    again = Index.open(tmp_path / "index", aligner())
    for row, entry in zip(changed, again.entries(posts(60)), strict=True):
        assert (entry.text, entry.metadata) == (row["text"], {"views": row["views"], "topic": "a"})
        if row["text"] != "Another text":
            assert np.array_equal(entry.vectors, entries[entry.id].vectors)
    assert build(index, write(tmp_path, changed), pytest.fail).unchanged == 60


def test_a_row_whose_value_does_not_fit_is_reported_and_the_rest_is_indexed(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": id_, "text": text, "views": 1} for id_, text in posts(3).items()]
    rows[1] |= {"views": "many"}
    index, complaints = Index.create(tmp_path / "index", aligner(), keep={"views": int, "topic": str}), list[str]()
    report = build(index, write(tmp_path, rows), complaints.append)
    assert (report.written, report.bad) == (2, 1)
    assert complaints == [f"{tmp_path}/corpus.jsonl, line 2: The column 'views' holds whole numbers, got 'many'."]


@pytest.mark.parametrize("name", sorted({*SPLITTERS} - {"text", "punkt"}))
@given(title=st.text("aB .,?\n", max_size=30), text=st.text("cD .,?\n", max_size=60))
def test_no_span_reaches_from_a_title_into_the_text(name: str, title: str, text: str) -> None:
    row = {"id": "x", "text": text, "subject": title}
    try:
        _, whole = CorpusFiles(Path(), title="subject")._document(row)
    except ValueError:  # both are blank
        return
    for start, end in SPLITTERS[name](whole):
        assert not ({*whole[start:end]} & {*"aB"} and {*whole[start:end]} & {*"cD"})


def test_an_index_is_opened_and_searched_with_the_spans_that_it_was_written_with(minilm: Path, tmp_path: Path) -> None:
    texts = {"a": "The cat sat. It rained\nWine is red. Prices rose", "b": "My disk is full\nThe kernel panics"}
    index = Index.create(tmp_path, wm.Aligner("line"))
    index.add(texts)
    for again in (Index.open(tmp_path), Index.create(tmp_path)):
        assert again.identity.spans == "line"
        assert again["a"].pieces == texts["a"].split("\n")
        assert again.split("One. Two.\nThree.").pieces == ["One. Two.", "Three."]
        assert again.search("Red wine, higher prices")[0].id == "a"
    with pytest.raises(ValueError, match=r"'line'.*'sentence'"):
        Index.create(tmp_path, wm.Aligner())
