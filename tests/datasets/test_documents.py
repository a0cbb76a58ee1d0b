"""Every format is read the same way, and bad rows come with their place."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from whymatch.datasets.documents import CorpusFiles

ROWS = [("a", "The first text."), ("b", 'Two lines,\nand "quotes".'), ("ü", "Ünïcödé 日本語")]


def json_lines(folder: Path) -> Path:
    file = folder / "c.jsonl"
    file.write_text("\n".join(json.dumps({"id": id_, "text": text}) for id_, text in ROWS), "utf-8")
    return file


def gzipped(folder: Path) -> Path:
    file = folder / "c.jsonl.gz"
    file.write_bytes(gzip.compress(json_lines(folder).read_bytes()))
    return file


def comma_separated(folder: Path) -> Path:
    quoted = "\n".join('{},"{}"'.format(id_, text.replace('"', '""')) for id_, text in ROWS)
    file = folder / "c.csv"
    file.write_bytes(f"\ufeffid,text\n{quoted}\n".encode())
    return file


def columns(folder: Path) -> Path:
    file = folder / "c.parquet"
    parquet.write_table(pa.table({"text": [text for _, text in ROWS], "id": [id_ for id_, _ in ROWS]}), file)
    return file


@pytest.mark.parametrize("write", [json_lines, gzipped, comma_separated, columns])
def test_every_format_gives_the_same_documents(write: Callable[[Path], Path], tmp_path: Path) -> None:
    file = write(tmp_path)
    rows = [*CorpusFiles(file)]
    assert [row.error for row in rows] == [None] * 3
    assert [(row.id, row.text) for row in rows] == ROWS
    assert rows[-1].bytes_read == pytest.approx(file.stat().st_size, abs=1)


def test_a_folder_of_text_files_has_paths_as_ids(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_text("Second.")
    (tmp_path / "sub" / "a.md").write_text("Third.")
    (tmp_path / ".hidden.txt").write_text("Not this.")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "a.txt").write_text("\ufeffFirst.", "utf-8")
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    found = [(row.id, row.text) for row in CorpusFiles(tmp_path) if row.error is None]
    assert found == [("a.txt", "First."), ("b.txt", "Second."), ("sub/a.md", "Third.")]
    (bad,) = (row for row in CorpusFiles(tmp_path) if row.error is not None)
    assert bad.place == str(tmp_path / "bad.txt")
    assert "not utf-8" in str(bad.error)


BAD = [
    (b'{"text": "no id"}', "no .id"),
    (b'{"id": "good", "text": "again"}', "came before, in .*line 1"),
    (b'{"id": "x", "text": " \\u200b"}', "empty"),
    (b'{"id": "x"}', 'there is no "text"'),
    (b'{"id": "x", "text": 3}', "is a text, got int"),
    (b'{"id": 1.5, "text": "x"}', "whole number, got float"),
    (b'{"id": "x", "text": "' + b"y" * 2_100_000 + b'"}', "longer than 2 MB"),
    (b'{"id": "x", "text": "' + b"y" * 1_100_000 + b'"}', "larger than 1 MB"),
    (b'{"id": "x", "text": "caf\xe9"}', "not utf-8"),
    (b'{"id": "x", "text": "half \\ud800"}', "Unicode"),
    (b'{"id": "x", ', "not JSON"),
    (b"[1]", "an object"),
    (b"[" * 100_000, "not JSON|nested"),
]


@pytest.mark.parametrize(("line", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_bad_line_is_reported_with_its_place_and_the_rest_is_read(line: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    file.write_bytes(b'{"id": "good", "text": "A text."}\n\n' + line + b'\n{"id": 2, "title": "T", "text": "Last."}\n')
    good, bad, last = CorpusFiles(file, max_mb=1)
    assert (good.error, last.error) == (None, None)
    assert (last.id, last.text) == ("2", "T\n\nLast.")
    assert bad.place == f"{file}, line 3"
    with pytest.raises(ValueError, match=reason):
        raise bad.error or AssertionError


def test_bad_rows_of_a_table_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    rows = [b"id,text", b'a,"two\nlines"', b"only", b"b,caf\xe9", b'c,"x" y', b"d,good", b"e," + b"z" * 1_200_000]
    file.write_bytes(b"\n".join(rows) + b"\nf,last\n")
    found = [*CorpusFiles(file, max_mb=1)]
    assert [row.id for row in found if row.error is None] == ["a", "d", "f"]
    assert [row.place for row in found if row.error is not None] == [f"{file}, line {n}" for n in (4, 5, 6, 8)]


def test_a_quote_that_is_never_closed_is_an_error_and_no_document(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    file.write_text('id,text\na,good\nb,"open\nc,x\n')
    found = [*CorpusFiles(file)]
    assert [row.id for row in found if row.error is None] == ["a"]
    assert found[1].place == f"{file}, line 3"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("c.csv", b"a,b\n1,2\n", "no column 'id', only 'a', 'b'"),
        ("c.xml", b"<a/>", "holds no documents"),
        ("missing.jsonl", None, "There is no"),
    ],
)
def test_what_is_no_corpus_is_refused(name: str, content: bytes | None, reason: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        [*CorpusFiles(tmp_path / name)]


def test_a_damaged_parquet_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and nothing else")
    (row,) = CorpusFiles(tmp_path / "c.parquet")
    assert "not Parquet" in str(row.error)


@pytest.mark.parametrize("name", ["link.txt", "link.jsonl", "folder/secret.txt"])
def test_a_link_that_leads_out_of_the_folder_is_a_bad_row(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "here.txt").write_text("A text.")
    (tmp_path / "secret.txt").write_text("A secret.")
    (tmp_path / "secret.jsonl").write_text('{"id": "s", "text": "A secret."}')
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(tmp_path / f"secret{Path(name).suffix}")
    good, bad = [*CorpusFiles(folder)]
    if good.error is not None:
        good, bad = bad, good
    assert (good.id, good.text) == ("here.txt", "A text.")
    assert bad.text == ""
    assert "leads out of" in str(bad.error)
    assert [row.text for row in CorpusFiles(tmp_path / "corpus" / "here.txt")] == ["A text."]
