"""Documents from JSON lines, CSV, Parquet or a folder of text files, one after another; bad rows with their place."""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from whymatch.datasets.corpora import titled
from whymatch.files import inside
from whymatch.reading import MEGABYTE, byte_lines, decoded, json_lines, opened
from whymatch.text.document import Document
from whymatch.text.spans import is_blank

TEXTS = (".txt", ".text", ".md")
JSON_LINES = (".jsonl", ".ndjson", ".json")
CUT = "\ud800"  # no text has it
ROWS_CHECKED = 100
TABLES = {".csv": ",", ".tsv": "\t"}


class Place(NamedTuple):
    """Where a row stands, and how many bytes of the corpus were read to get there."""

    file: Path
    line: int | None
    read: int

    def __str__(self) -> str:
        unit = "row" if self.file.suffix == ".parquet" else "line"
        return str(self.file) if self.line is None else f"{self.file}, {unit} {self.line}"


class Row(NamedTuple):
    """A document of a corpus, or why it is none."""

    place: Place
    id: str
    text: str
    error: ValueError | None = None


Reader: TypeAlias = Callable[[Path, int], Iterator[Row]]


@dataclass(frozen=True)
class Corpus:
    """Documents in files; `id` and `text` are the names of their fields, and a "title" is put before its text."""

    path: Path
    id: str = "id"
    text: str = "text"
    encoding: str = "utf-8"
    max_mb: float = 5.0

    def files(self) -> list[Path]:
        """What is read, in order: of a folder all files whose ending is known."""
        if not self.path.exists():
            raise ValueError(f"There is no {self.path}. Give JSON lines, CSV, Parquet or a folder of text files.")
        if self.path.is_dir():
            every = sorted(path for path in self.path.rglob("*") if path.is_file())
            found = [path for path in every if not hidden(path.relative_to(self.path)) and self.reader(path)]
        else:
            found = [self.path] if self.reader(self.path) else []
        if not found:
            known = ", ".join((*JSON_LINES, *TABLES, ".parquet", *TEXTS))
            raise ValueError(f"{self.path} holds no corpus: files end in {known}, or these and .gz.")
        return found

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self.files())

    def reader(self, file: Path) -> Reader | None:
        """What reads a file, by its ending."""
        ending = Path(file.stem).suffix if file.suffix == ".gz" else file.suffix
        if ending in TEXTS:
            return self.read_text
        if ending in JSON_LINES:
            return self.read_json
        if ending in TABLES:
            return self.read_table
        return self.read_parquet if file.suffix == ".parquet" else None

    def __iter__(self) -> Iterator[Row]:
        """Every document once, and every bad row; of several with one id, the first is the document."""
        decoded(b"", "A corpus", self.encoding)  # there is such an encoding
        first: dict[str, Place] = {}
        before = 0
        for file in self.files():
            for row in self.rows(file, before):
                if row.error is None and row.id in first:
                    error = ValueError(f"the id {row.id!r:.60} came before, in {first[row.id]}.")
                    yield row._replace(error=error)
                else:
                    if row.error is None:
                        first[row.id] = row.place
                    yield row
            before += file.stat().st_size

    def check(self) -> None:
        """Reads a little of every table and of the first rows, before slow work starts.

        Raises:
            ValueError: if a table lacks the columns, or none of the first rows is a document.
        """
        for file in self.files():
            if self.reader(file) in (self.read_table, self.read_parquet):
                next(self.rows(file, 0), None)
        first = [*islice(self, ROWS_CHECKED)]
        if first and all(row.error is not None for row in first):
            raise ValueError(f"No document can be read from {self.path}. {first[0].place}: {first[0].error}")

    def rows(self, file: Path, before: int) -> Iterator[Row]:
        """The documents and bad rows of one of the `files`; a link that leads out of the folder is a bad row."""
        reader = self.reader(file)
        assert reader is not None
        try:
            if self.path.is_dir():
                inside(self.path, file.relative_to(self.path).as_posix())
        except ValueError as error:
            yield bad(Place(file, None, before), error)
            return
        yield from reader(file, before)

    def read_text(self, file: Path, before: int) -> Iterator[Row]:
        """A file is a document, its path in the folder is the id."""
        name = file.relative_to(self.path).as_posix() if self.path.is_dir() else file.name
        place = Place(file, None, before)
        try:
            with opened(file) as data:
                content = data.read(int(self.max_mb * MEGABYTE) + 1)
            yield self.row(place, {self.id: name, self.text: decoded(content, "The file", self.encoding)}, len(content))
        except (OSError, ValueError) as error:
            yield bad(place, error)

    def read_json(self, file: Path, before: int) -> Iterator[Row]:
        """An object a line."""
        max_bytes = int(2 * self.max_mb * MEGABYTE)  # escapes take room
        keys = f'"{self.id}" and "{self.text}"'
        with opened(file) as data:
            for number, values in json_lines(data, encoding=self.encoding, max_bytes=max_bytes, keys=keys):
                place = Place(file, number, before + position(data))
                yield bad(place, values) if isinstance(values, ValueError) else self.row(place, values, 0)

    def read_table(self, file: Path, before: int) -> Iterator[Row]:
        """A row a document, under a row of names."""
        most = int(self.max_mb * MEGABYTE)
        csv.field_size_limit(most)
        ending = Path(file.stem).suffix if file.suffix == ".gz" else file.suffix
        with opened(file) as data:
            texts = (self.field_text(line, most) for line in byte_lines(data, most))
            rows = csv.reader(texts, delimiter=TABLES[ending], strict=True)
            header: list[str] | None = None
            while True:
                start = rows.line_num + 1
                try:
                    values = next(rows, None)
                except csv.Error as error:
                    yield bad(Place(file, start, before + position(data)), ValueError(f"this is not CSV: {error}."))
                    continue
                if values is None:
                    return
                if header is None:
                    header = [name.removeprefix("\ufeff") for name in values]
                    self.need(header, file)
                elif values:
                    yield self.fields(Place(file, start, before + position(data)), header, values)

    def field_text(self, line: bytes, most: int) -> str:
        """A line with marks for what is no text in it, and for an end that was cut off."""
        return line.decode(self.encoding, errors="surrogateescape") + (CUT if len(line) > most else "")

    def fields(self, place: Place, header: list[str], values: list[str]) -> Row:
        if values[-1].endswith(CUT):
            return bad(place, ValueError(f"the line is longer than {self.max_mb:g} MB (--max-mb)."))
        if len(values) != len(header):
            return bad(place, ValueError(f"a row has {len(header)} fields, this one has {len(values)}."))
        if any("\udc80" <= character <= "\udcff" for value in values for character in value):
            return bad(place, ValueError(f"the row is not {self.encoding}. Convert it to UTF-8, or name its encoding."))
        return self.row(place, dict(zip(header, values, strict=True)), 0)

    def read_parquet(self, file: Path, before: int) -> Iterator[Row]:
        """A row a document."""
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        try:
            table = ParquetFile(file)
            names = table.schema_arrow.names
            self.need(names, file)
            number, size, total = 0, file.stat().st_size, max(1, table.metadata.num_rows)
            columns = [name for name in (self.id, self.text, "title") if name in names]
            for batch in table.iter_batches(batch_size=256, columns=columns):
                for values in batch.to_pylist():
                    number += 1
                    yield self.row(Place(file, number, before + size * number // total), values, 0)
        except (ArrowException, OSError) as error:
            yield bad(Place(file, None, before), ValueError(f"this is not Parquet, or damaged: {error}"))

    def need(self, names: list[str], file: Path) -> None:
        """Raises where the fields of a table are not there at all."""
        missing = [name for name in (self.id, self.text) if name not in names]
        if missing:
            advice = "Name the columns: --id NAME, --text NAME"
            raise ValueError(f"{file} has no column {missing[0]!r}, only {', '.join(names)}. {advice}.")

    def row(self, place: Place, values: Mapping[str, Any], size: int) -> Row:
        """A document out of named values, or what is wrong with them."""
        id_, text, title = values.get(self.id), values.get(self.text), values.get("title") or ""
        if isinstance(id_, int) and not isinstance(id_, bool):
            id_ = str(id_)
        try:
            if id_ is None or id_ == "":
                raise ValueError(missing(self.id, values))
            if not isinstance(id_, str):
                raise ValueError(f'"{self.id}" is a text or a whole number, got {type(id_).__name__}.')
            if text is None:
                raise ValueError(missing(self.text, values))
            if not isinstance(text, str) or not isinstance(title, str):
                raise ValueError(f'"{self.text}" is a text, got {type(text).__name__}.')
            whole = titled(title, text) if title else text
            Document(id_, ())  # valid Unicode, both
            Document(whole, ())
            if is_blank(whole):
                raise ValueError(f'"{self.text}" is empty.')
            if max(size, len(whole)) > self.max_mb * MEGABYTE:
                raise ValueError(f"the text is larger than {self.max_mb:g} MB. Raise the limit (--max-mb), or cut it.")
        except ValueError as error:
            return bad(place, error)
        return Row(place, id_, whole)


def bad(place: Place, error: Exception) -> Row:
    return Row(place, "", "", error if isinstance(error, ValueError) else ValueError(str(error)))


def missing(field: str, values: Mapping[str, Any]) -> str:
    """What to say of a row without a field."""
    names = ", ".join(f"{name!r:.40}" for name in [*values][:10])
    return f'there is no "{field}", only {names or "an empty row"}. Name the fields: --id NAME, --text NAME.'


def hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def position(data: BinaryIO) -> int:
    """How many bytes of a file were read, of its compressed ones where it is compressed."""
    inner = getattr(data, "fileobj", None)
    return int((inner or data).tell())
