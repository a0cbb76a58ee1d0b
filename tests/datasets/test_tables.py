"""Corpora as tables: rows stay what they were, each with its id, and a spreadsheet takes nothing new for a formula."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.datasets.documents import CorpusFiles
from whymatch.datasets.tables import CorpusTable, as_cell, write_table

CELLS = st.text(
    st.sampled_from("ab \"',;\t\r\n=+-@é日\u2028\x0b")
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    max_size=8,
)


def read(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as data:
        return [*csv.reader(data, delimiter="\t" if file.suffix == ".tsv" else ",", strict=True)]


@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6),
    names=st.tuples(CELLS, CELLS).filter(lambda names: not {"id", "text", "title"} & {*names}),
    ending=st.sampled_from(["csv", "tsv"]),
)
def test_what_was_csv_is_written_as_it_was(
    rows: list[tuple[str, str, str]], names: tuple[str, str], ending: str
) -> None:
    with TemporaryDirectory() as folder:
        before, after = Path(folder) / f"before.{ending}", Path(folder) / f"after.{ending}"
        ids = [f"{number} {cell}" for number, (cell, *_) in enumerate(rows)]
        cells = [[id_, f"A text. {text}", one, one] for id_, (_, text, one) in zip(ids, rows, strict=True)]
        write_table(before, ["id", "text", *names], cells)
        table = CorpusTable(CorpusFiles(before))
        kept = [*table.rows()]
        write_table(after, table.header, (row for _, row in kept))
        assert read(after) == read(before) == [["id", "text", *names], *cells]
        assert after.read_bytes() == before.read_bytes()
        assert [id_ for id_, _ in kept] == ids


def test_rows_that_are_no_documents_stay_without_an_id_and_broken_lines_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "posts.csv"
    file.write_text('id,text\na,One.\na,Two.\nb,\n,Three.\nc,"Four",more\n\nd,Five.\ne,"never closed\n')
    table = CorpusTable(CorpusFiles(file))
    assert [*table.rows()] == [
        ("a", ["a", "One."]),
        ("", ["a", "Two."]),
        ("", ["b", ""]),
        ("", ["", "Three."]),
        ("d", ["d", "Five."]),
    ]


def test_rows_without_ids_are_called_by_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "posts.csv"
    file.write_text('text,id\n"One,\nand one.",\nTwo.,own\nThree.,\n')
    assert [row.id for row in CorpusFiles(file, numbered=True)] == ["line 2", "own", "line 5"]
    file.write_text("text\nOne.\n")
    (tmp_path / "more.jsonl").write_text('{"text": "Two."}\n{"text": "Three.", "id": 3}\n')
    ids = [row.id for row in CorpusFiles(tmp_path, numbered=True)]
    assert ids == ["more.jsonl, line 1", "3", "posts.csv, line 2"]
    with pytest.raises(ValueError, match="has no column 'id'"):
        CorpusFiles(file).check()


def test_other_corpora_become_ids_texts_and_what_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "posts.jsonl"
    file.write_text('{"id": 1, "title": "=A", "text": "1+1", "tags": ["x"], "n": -5}\n{}\n{"id": "@b", "text": "-5"}\n')
    table = CorpusTable(CorpusFiles(file, keep=("n", "tags")))
    assert table.header == ["id", "text", "n", "tags"]
    assert [*table.rows()] == [
        ("1", ["1", "'=A\n\n1+1", "-5", '["x"]']),
        ("@b", ["'@b", "-5", "", ""]),
    ]


@given(text=st.text(max_size=8))
def test_no_cell_begins_as_a_formula_but_a_number(text: str) -> None:
    cell = as_cell(text)
    assert cell in (text, f"'{text}")
    if cell.lstrip()[:1] in tuple("=+-@"):
        float(cell)


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_a_table_without_a_row_of_names_is_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "posts.csv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="no row with the names of its columns"):
        [*CorpusFiles(file)]


@pytest.mark.parametrize("name", ["id", "text", "title"])
def test_columns_of_one_name_are_refused_where_they_are_read(name: str, tmp_path: Path) -> None:
    file = tmp_path / "posts.csv"
    file.write_text(f"id,text,title,x,x,{name}\na,One.,A,1,2,b\n")
    with pytest.raises(ValueError, match=f"2 columns '{name}'"):
        [*CorpusFiles(file)]
    file.write_text("id,text,x,x\na,One.,1,2\n")
    assert [*CorpusTable(CorpusFiles(file)).rows()] == [("a", ["a", "One.", "1", "2"])]
