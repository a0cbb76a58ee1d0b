"""Laws of `whymatch.reading`: what is written is read, every bad line is named, and no good line is lost."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.reading import (
    JsonObject,
    byte_lines,
    decoded,
    ending,
    find_file,
    json_lines,
    opened,
    read_json_lines,
    read_rows,
    tab_fields,
    write_json_lines,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
BAD_LINES = st.sampled_from(
    [
        *(b"nonsense", b'{"cut": "o', b"[1]", b"null", b'"text"', b'{"caf\xe9": 1}', b'{"a\x00": 1}', b"{'a': 1}"),
        *(b"[" * 100_000, b'{"number": ' + b"9" * 5000 + b"}", b"{} {}", b'{"long": "' + b"x" * 200_000 + b'"}'),
    ]
)
MAX_BYTES = 150_000


def encoded(row: JsonObject) -> bytes:
    return json.dumps(row, ensure_ascii=True).encode()


def numbered(row: JsonObject, number: int) -> tuple[int, JsonObject]:
    return number, row


@pytest.mark.parametrize("zipped", [False, True])
@given(rows=st.lists(OBJECTS, max_size=8))
def test_what_is_written_is_read(
    zipped: bool, rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    write_json_lines(file, rows)
    if zipped:
        data, file = file.read_bytes(), file.with_suffix(".jsonl.gz")
        file.write_bytes(gzip.compress(data))
    assert [*read_json_lines(file, numbered)] == [*enumerate(rows, start=1)]


@given(
    st.lists(OBJECTS.map(encoded) | BAD_LINES | st.sampled_from([b"", b" \t\r"]), max_size=12),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)
def test_every_bad_line_is_named_by_its_number_and_no_good_line_is_lost(
    lines: list[bytes], line_break: bytes, marked: bool
) -> None:
    data = (b"\xef\xbb\xbf" if marked else b"") + line_break.join(lines)
    good, bad = {}, []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line.decode()) if line.strip() and len(line) <= MAX_BYTES else None
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            good[number] = row
        elif line.strip():
            bad.append(number)
    lines_read = [*json_lines(io.BytesIO(data), max_bytes=MAX_BYTES)]
    assert [number for number, _ in lines_read] == sorted([*good, *bad])
    assert {number: row for number, row in lines_read if not isinstance(row, ValueError)} == good
    assert [number for number, row in lines_read if isinstance(row, ValueError)] == bad


@given(lines=st.lists(OBJECTS.map(encoded) | BAD_LINES, min_size=1, max_size=6))
def test_a_file_that_must_be_good_is_refused_with_its_first_bad_line(
    lines: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    file.write_bytes(b"\n".join(lines))
    with opened(file) as data:
        bad = [number for number, row in json_lines(data) if isinstance(row, ValueError)]
    if bad:
        with pytest.raises(ValueError, match=rf"rows\.jsonl, line {bad[0]}: "):
            [*read_json_lines(file, numbered)]
    else:
        assert len([*read_json_lines(file, numbered)]) == len(lines)


@pytest.mark.parametrize(
    "error", [KeyError("text"), TypeError("a"), ValueError("b"), OSError("c"), AttributeError("d")]
)
def test_what_a_caller_refuses_is_named_by_file_and_line(tmp_path: Path, error: Exception) -> None:
    write_json_lines(tmp_path / "rows.jsonl", [{"id": 1}, {"id": 2}])

    def refuse(row: JsonObject, number: int) -> None:
        if number == 2:
            raise error

    message = "there is no 'text'; the row has id" if isinstance(error, KeyError) else error
    with pytest.raises(ValueError, match=rf"rows\.jsonl, line 2: {message}"):
        [*read_json_lines(tmp_path / "rows.jsonl", refuse)]


def test_blank_lines_are_errors_where_lines_are_counted() -> None:
    lines = [*json_lines(io.BytesIO(b'{"a": 1}\n\n{"a": 2}'), skip_blank=False)]
    assert [(number, isinstance(row, ValueError)) for number, row in lines] == [(1, False), (2, True), (3, False)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[1]", 'a line is an object with "left" and "right", got list.'),
        (b"{", "this is not JSON: Expecting property name"),
        (b'{"caf\xe9": 1}', "the line is not utf-8: byte 5 fits nothing. Convert it to UTF-8"),
        (b"x" * 11 * 10**5, "the line is longer than 1 MB. Cut its texts, or raise the limit."),
    ],
)
def test_an_error_says_what_came_and_what_to_do(line: bytes, reason: str) -> None:
    ((_, error),) = json_lines(io.BytesIO(line), max_bytes=10**6, keys='"left" and "right"')
    assert reason in str(error)


def test_lines_are_in_the_encoding_that_is_named() -> None:
    assert [*json_lines(io.BytesIO('{"é": "ü"}'.encode("latin-1")), encoding="latin-1")] == [(1, {"é": "ü"})]


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.integers(1, 20))
def test_of_a_long_line_only_its_beginning_is_given(lines: list[bytes], max_bytes: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    assert [*byte_lines(io.BytesIO(data))] == [line + b"\n" for line in lines]
    assert [*byte_lines(io.BytesIO(data), max_bytes)] == [(line + b"\n")[: max_bytes + 1] for line in lines]


@pytest.mark.parametrize("lost", [1, 9, 30])
def test_a_file_that_ends_in_its_compression_is_called_damaged(tmp_path: Path, lost: int) -> None:
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:-lost])
    with pytest.raises(ValueError, match=r"rows\.jsonl\.gz is damaged"):
        [*read_json_lines(tmp_path / "rows.jsonl.gz", numbered)]


def test_a_file_is_found_plain_or_gzipped_in_the_first_folder_that_has_it(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, name in ((first, "b.tsv.gz"), (second, "a.tsv"), (second, "b.tsv")):
        folder.mkdir(exist_ok=True)
        (folder / name).touch()
    assert find_file([first, second], "b.tsv") == first / "b.tsv.gz"
    assert find_file([first, second], "a.tsv") == second / "a.tsv"
    assert find_file([first, second], "c.tsv") is None


def test_fields_between_tabs_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_bytes(b"\xef\xbb\xbfa\tb\r\n\nc\td\te\n")
    assert [*tab_fields(file, 2, 3)] == [(1, ["a", "b"]), (3, ["c", "d", "e"])]
    with pytest.raises(ValueError, match=r"rows\.tsv, line 3: a row has 2 fields between tabs, this one has 3"):
        [*tab_fields(file, 2)]


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
FORMATS = [".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".parquet"]


def write_table(file: Path, rows: list[tuple[str, str]]) -> None:
    if file.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        columns = {name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(("a", "b"))}
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), file)
        return
    if ending(file) == ".jsonl":
        text = "".join(json.dumps({"a": a, "b": b}) + "\n" for a, b in rows)
    else:
        lines = io.StringIO()
        csv.writer(lines, delimiter="\t" if ending(file) == ".tsv" else ",").writerows([("a", "b"), *rows])
        text = lines.getvalue()
    file.write_bytes(gzip.compress(text.encode()) if file.suffix == ".gz" else text.encode())


@pytest.mark.parametrize("name", FORMATS)
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6))
def test_every_format_has_the_same_rows(
    name: str, rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("rows") / f"rows{name}"
    write_table(file, rows)
    rows_read = [*read_rows(file, ("a", "b"))]
    assert [row.values for row in rows_read] == [{"a": a, "b": b} for a, b in rows]
    first = 2 if ending(file) in (".csv", ".tsv") else 1
    assert [row.number for row in rows_read] == [*range(first, first + len(rows))]
    assert rows_read[-1].bytes_read == pytest.approx(file.stat().st_size, abs=1)


@pytest.mark.parametrize("name", FORMATS)
def test_a_table_without_a_required_column_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"rows{name}"
    write_table(file, [("x", "y")])
    if ending(file) == ".jsonl":  # which has no columns: each row is its own
        assert [row.values for row in read_rows(file, ("a", "c"))] == [{"a": "x", "b": "y"}]
    else:
        with pytest.raises(ValueError, match="has no column 'c', only 'a', 'b'"):
            [*read_rows(file, ("a", "c"))]


def test_a_byte_order_mark_before_a_quoted_header_is_no_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "corpus.csv"
    file.write_bytes(b'\xef\xbb\xbf"id","text"\r\n1,x\r\n')
    assert [row.values for row in read_rows(file, ["id", "text"])] == [{"id": "1", "text": "x"}]
    with pytest.raises(ValueError, match="There is no encoding 'nope'"):
        list(read_rows(file, ["id", "text"], encoding="nope"))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-le"])
def test_tables_in_encodings_without_bytes_for_line_breaks_are_refused(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes("a,b\n1,2\n".encode(encoding))
    with pytest.raises(ValueError, match=f"a.csv cannot be read as {encoding}.* Convert it to UTF-8"):
        [*read_rows(file, encoding=encoding)]


@given(
    rows=st.lists(st.tuples(st.text('ab;,\t"\n é猫😀', min_size=1), st.text('ab;,\t"é猫')), min_size=1),
    separator=st.sampled_from(",;\t"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    ending_=st.sampled_from([".csv", ".csv.gz"]),
    line_break=st.sampled_from(["\n", "\r\n"]),
)
def test_csv_is_read_with_the_separator_of_its_header_and_by_its_byte_order_mark(
    rows: list[tuple[str, str]],
    separator: str,
    encoding: str,
    ending_: str,
    line_break: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    file = tmp_path_factory.mktemp("csv") / f"a{ending_}"
    lines = io.StringIO(newline="")
    csv.writer(lines, delimiter=separator, lineterminator=line_break).writerows([("id", "a,b;c\td"), *rows])
    data = lines.getvalue().encode(encoding)
    file.write_bytes(gzip.compress(data) if ending_.endswith(".gz") else data)
    assert [row.values for row in read_rows(file)] == [{"id": id_, "a,b;c\td": text} for id_, text in rows]


def test_a_text_in_utf_16_is_read_by_its_mark_unless_another_encoding_is_named() -> None:
    assert decoded("猫 é".encode("utf-16"), "it", "utf-8") == "猫 é"
    assert decoded("ÿþab".encode("latin-1"), "it", "latin-1") == "ÿþab"
