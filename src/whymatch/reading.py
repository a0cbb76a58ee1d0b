"""Files read row by row, plain or gzipped: text, JSON lines, CSV and Parquet; errors name the file and the line."""

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, TypeVar, cast

from whymatch.files import whole_file

MEGABYTE = 10**6
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
TABLE_ENDINGS = (".csv", ".tsv", ".parquet")
MAX_ROW_BYTES = 16 * MEGABYTE
JsonObject: TypeAlias = dict[str, Any]
Record = TypeVar("Record")
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_QUOTED = re.compile(r'"[^"]*"')
_CUT = "\ud800"  # marks a line that was cut off: no decoded text holds half a surrogate pair
_BAD_ROW = (KeyError, TypeError, AttributeError, ValueError, OSError, RecursionError)


def find_file(folders: Iterable[Path], *names: str) -> Path | None:
    """The first file of one of these names, plain or gzipped, in any of the folders."""
    files = (folder / f"{name}{end}" for folder in folders for name in names for end in ("", ".gz"))
    return next((file for file in files if file.is_file()), None)


def required_file(folders: Sequence[Path], name: str) -> Path:
    """The file of this name, plain or gzipped, in the first of the folders that has it.

    Raises:
        ValueError: if none of them does.
    """
    file = find_file(folders, name)
    if file is None:
        raise ValueError(f"{', '.join(map(str, folders))} has no {name}, plain or gzipped.")
    return file


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed where its name ends in .gz.

    Raises:
        ValueError: if the compressed data are damaged or end too early.
    """
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as data:
            yield cast(BinaryIO, data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{file} is damaged: {error}.") from None


@contextmanager
def errors_at(file: Path, number: int | None, row: Iterable[str] = ()) -> Iterator[None]:
    """Raises what goes wrong with a row again, as a ValueError with its file and line.

    A missing key is reported beside the keys that `row` has.
    """
    try:
        yield
    except _BAD_ROW as error:
        message = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        if isinstance(error, KeyError) and row:
            message += f"; the row has {', '.join(row)}."
        raise ValueError(f"{file}, line {number}: {message}") from error


def decoded(data: bytes, name: str, encoding: str) -> str:
    """Bytes as text; a byte order mark at their start is dropped, and one of UTF-16 is believed in place of UTF-8.

    Raises:
        ValueError: if there is no such encoding or the bytes are not in it; `name` is what the message calls them.
    """
    try:
        known = codecs.lookup(encoding).name  # one name for all spellings
    except (LookupError, ValueError):
        raise ValueError(f"There is no encoding {encoding!r}. Try utf-8 or latin-1.") from None
    if known == "utf-8" and data.startswith(_UTF16_MARKS):
        known = "utf-16"
    if data.startswith(b"%PDF-"):
        raise ValueError(f"{name} is a PDF. Make a text file of it first, such as with pdftotext.")
    if b"\0" in data and not known.startswith(("utf-16", "utf-32")):
        raise ValueError(f"{name} is a binary file: it holds zero bytes. Give a text file.")
    try:
        return data.decode("utf-8-sig" if known == "utf-8" else known)
    except LookupError:
        raise ValueError(f"{encoding!r} is no encoding of texts. Try utf-8 or latin-1.") from None
    except UnicodeError as error:
        place = f"byte {error.start} fits nothing" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ValueError(f"{name} is not {encoding}: {place}. Convert it to UTF-8, or name its encoding.") from None


def byte_lines(data: BinaryIO, max_bytes: int | None = None) -> Iterator[bytes]:
    """The lines of a file with their line breaks; of a line longer than `max_bytes`, its first `max_bytes` + 1 bytes.

    No more than that of a long line is ever in memory.
    """
    if max_bytes is None:
        yield from data
        return
    while line := data.readline(max_bytes + 1):
        yield line
        while line and not line.endswith(b"\n"):
            line = data.readline(MEGABYTE)


def text_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, from 1, without their line breaks."""
    with opened(file) as data:
        for number, line in enumerate(data, start=1):
            with errors_at(file, number):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            yield number, text


def tab_fields(file: Path, *counts: int) -> Iterator[tuple[int, list[str]]]:
    """The number and the tab-separated fields of every line that is not empty.

    Raises:
        ValueError: if the number of a line's fields is not among `counts`.
    """
    for number, line in text_lines(file):
        fields = line.split("\t")
        if line and len(fields) not in counts:
            expected = " or ".join(map(str, counts))
            raise ValueError(
                f"{file}, line {number}: a row has {expected} fields between tabs, this one has {len(fields)}."
            )
        if line:
            yield number, fields


def json_lines(
    data: BinaryIO,
    *,
    encoding: str = "utf-8",
    max_bytes: int | None = None,
    keys: str = "names and values",
    skip_blank: bool = True,
) -> Iterator[tuple[int, JsonObject | ValueError]]:
    """The number of every line, from 1, and its object, or the error that says why it has none.

    A bad line loses no other: whoever reads decides whether to raise the error or to report it and go on. `keys` says
    in that error what an object has. Blank lines are skipped, or else are errors.
    """
    for number, line in enumerate(byte_lines(data, max_bytes), start=1):
        if skip_blank and not line.removeprefix(codecs.BOM_UTF8).strip():
            continue
        if max_bytes is not None and len(line) > max_bytes:
            limit = f"{max_bytes / MEGABYTE:g} MB"
            yield number, ValueError(f"the line is longer than {limit}. Cut its texts, or raise the limit.")
        else:
            yield number, _json_object(line, encoding, keys)


def _json_object(line: bytes, encoding: str, keys: str) -> JsonObject | ValueError:
    try:
        text = decoded(line, "the line", encoding)
    except ValueError as error:
        return error
    try:
        value = json.loads(text)
    except RecursionError:
        return ValueError("the line is nested too deeply.")
    except ValueError as error:
        return ValueError(f"this is not JSON: {error}.")
    if not isinstance(value, dict):
        return ValueError(f"a line is an object with {keys}, got {type(value).__name__}.")
    return value


def read_json_lines(file: Path, read: Callable[[JsonObject, int], Record]) -> Iterator[Record]:
    """What `read` makes of the object and the number of every line of a file.

    Raises:
        ValueError: for the first line that is bad or that `read` refuses, with its file and number.
    """
    with opened(file) as data:
        for number, row in json_lines(data):
            if isinstance(row, ValueError):
                raise ValueError(f"{file}, line {number}: {row}") from None
            with errors_at(file, number, row):
                record = read(row, number)
            yield record


def write_json_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes one object per line, the whole file or nothing of it."""
    with whole_file(file) as draft, draft.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class FileRow(NamedTuple):
    """A row of a file, with its line, or its number in a Parquet file; None where the file as a whole is bad."""

    number: int | None
    values: JsonObject | ValueError
    """Values by column, or what is wrong with the row."""
    bytes_read: int
    """How much of the file was read to get here, of its compressed bytes where it is compressed."""


def ending(file: Path) -> str:
    """The ending of a file's name, without .gz after it."""
    return Path(file.stem).suffix if file.suffix == ".gz" else file.suffix


def read_rows(
    file: Path,
    required: Sequence[str] = (),
    optional: Sequence[str] = (),
    *,
    encoding: str = "utf-8",
    max_bytes: int = MAX_ROW_BYTES,
    advice: str = "Name the columns to read.",
) -> Iterator[FileRow]:
    """The rows of a file that ends in one of `JSON_ENDINGS` or `TABLE_ENDINGS`, good ones and bad ones.

    Of a Parquet file, only the required and the optional columns are read. A row has at most `max_bytes`; JSON may have
    twice as many, since escapes take room.

    Raises:
        ValueError: with the advice, if a table has no column of a required name.
    """
    if ending(file) in JSON_ENDINGS:
        keys = " and ".join(f'"{name}"' for name in required) or "names and values"
        with opened(file) as data:
            for number, values in json_lines(data, encoding=encoding, max_bytes=2 * max_bytes, keys=keys):
                yield FileRow(number, values, _position(data))
    elif ending(file) == ".parquet":
        yield from _parquet_rows(file, required, optional, advice)
    else:
        yield from _table_rows(file, required, optional, encoding, max_bytes, advice)


def _table_rows(
    file: Path, required: Sequence[str], optional: Sequence[str], encoding: str, max_bytes: int, advice: str
) -> Iterator[FileRow]:
    header: list[str] | None = None
    for number, cells, position in table_cells(file, encoding=encoding, max_bytes=max_bytes):
        if isinstance(cells, ValueError):
            yield FileRow(number, cells, position)
        elif header is None:
            header = cells
            _check_columns(file, header, required, optional, advice)
        else:
            yield FileRow(number, dict(zip(header, cells, strict=True)), position)


def table_cells(
    file: Path, *, encoding: str = "utf-8", max_bytes: int = MAX_ROW_BYTES
) -> Iterator[tuple[int, list[str] | ValueError, int]]:
    """The rows of a CSV or TSV file that are not blank: line, cells, and how much was read; the header comes first.

    In place of its cells, a bad row has what is wrong with it. All others have as many cells as the header.

    Raises:
        ValueError: if there is no such encoding, or no header in it.
    """
    csv.field_size_limit(max_bytes)
    decoded(b"", str(file), encoding)  # raises for an encoding that does not exist
    with opened(file) as data:
        content, known = data, codecs.lookup(encoding).name
        if known in ("utf-8", "utf-16") and cast(io.BufferedReader, data).peek(2).startswith(_UTF16_MARKS):
            content, encoding = cast(BinaryIO, io.BufferedReader(_AsUtf8(data))), "utf-8"
        if "\n".encode(encoding) != b"\n":
            advice = "Convert it to UTF-8."
            raise ValueError(f"{file} cannot be read as {encoding}, whose line breaks are not a byte. {advice}")
        lines = (
            _marked_text(line if number else line.removeprefix(codecs.BOM_UTF8), encoding, max_bytes)
            for number, line in enumerate(byte_lines(content, max_bytes))
        )
        first = [*islice(lines, 1)]
        rows = csv.reader(chain(first, lines), delimiter=_separator(file, "".join(first)), strict=True)
        columns = 0
        while True:
            number = rows.line_num + 1
            try:
                values = next(rows, None)
            except csv.Error as error:
                yield number, ValueError(f"this is not CSV: {error}."), _position(data)
                continue
            if values is None:
                break
            if values:
                bad = _bad_cells(values, columns or len(values), encoding, max_bytes)
                if bad and not columns:
                    raise ValueError(f"{file}, line {number}: {bad}")
                columns = columns or len(values)
                yield number, bad or values, _position(data)
        if not columns:
            raise ValueError(f"{file} has no row with the names of its columns.")


def delimiter(file: Path) -> str:
    """What is written between the cells of a table: a tab in TSV, else a comma."""
    return "\t" if ending(file) == ".tsv" else ","


def _separator(file: Path, header: str) -> str:
    """What stands between the cells of a table: a tab in TSV, else a comma.

    Of a header without a comma outside of quotes, a semicolon or a tab, of which it has more.

    >>> [_separator(Path("a.csv"), header) for header in ("id,a;b;c", "id;text", "id\\ttext", '"a,b";c', "text")]
    [',', ';', '\\t', ';', ',']
    """
    if ending(file) == ".tsv":
        return "\t"
    bare = _QUOTED.sub("", header)
    return "," if "," in bare else max(",;\t", key=bare.count)


class _AsUtf8(io.RawIOBase):
    """The bytes of a UTF-16 file, which begins with a byte order mark, as UTF-8."""

    def __init__(self, data: BinaryIO) -> None:
        self._data, self._decoder, self._left = data, codecs.getincrementaldecoder("utf-16")("replace"), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer as far as there is something left; 0 at the end."""
        while not self._left and (part := self._data.read(MEGABYTE)):
            self._left = self._decoder.decode(part).encode()
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


def _marked_text(line: bytes, encoding: str, max_bytes: int) -> str:
    """A line with marks for what is no text in it, and for an end that was cut off."""
    return line.decode(encoding, errors="surrogateescape") + (_CUT if len(line) > max_bytes else "")


def _bad_cells(values: list[str], columns: int, encoding: str, max_bytes: int) -> ValueError | None:
    """What is wrong with the cells of a row, if anything is."""
    if values[-1].endswith(_CUT):
        return ValueError(f"the line is longer than {max_bytes / MEGABYTE:g} MB. Cut its texts, or raise the limit.")
    if len(values) != columns:
        return ValueError(f"a row has {columns} fields, this one has {len(values)}.")
    if any("\udc80" <= character <= "\udcff" for value in values for character in value):
        return ValueError(f"the row is not {encoding}. Convert it to UTF-8, or name its encoding.")
    return None


def _parquet_rows(file: Path, required: Sequence[str], optional: Sequence[str], advice: str) -> Iterator[FileRow]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        table = ParquetFile(file)
        names = table.schema_arrow.names
        _check_columns(file, names, required, optional, advice)
        number, size, total = 0, file.stat().st_size, max(1, table.metadata.num_rows)
        columns = [name for name in (*required, *optional) if name in names]
        for batch in table.iter_batches(batch_size=256, columns=columns):
            for values in batch.to_pylist():
                number += 1
                yield FileRow(number, values, size * number // total)
    except (ArrowException, OSError) as error:
        yield FileRow(None, ValueError(f"this is not Parquet, or damaged: {error}"), 0)


def _check_columns(
    file: Path, names: Sequence[str], required: Sequence[str], optional: Sequence[str], advice: str
) -> None:
    missing = [name for name in required if name not in names]
    if missing:
        raise ValueError(f"{file} has no column {missing[0]!r}, only {listed(names)}. {advice}")
    repeated = [name for name in (*required, *optional) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{file} has {names.count(repeated[0])} columns {repeated[0]!r}. Rename all but one of them.")


def listed(names: Iterable[object], most: int = 10) -> str:
    """Names for a message, which may be many and long.

    >>> listed(["id", "text", "x" * 50], 2), listed([])
    ("'id', 'text' and 1 more", 'none')
    """
    shown = [f"{name!r:.40}" for name in names]
    more = f" and {len(shown) - most:,} more" if len(shown) > most else ""
    return (", ".join(shown[:most]) or "none") + more


def _position(data: BinaryIO) -> int:
    inner = getattr(data, "fileobj", None)  # the compressed file
    return int((inner or data).tell())
