"""Documents from JSON lines, CSV, Parquet or a folder of text files, one after another; bad rows with their place."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from whymatch.datasets.markup import titled
from whymatch.files import inside
from whymatch.reading import JSON_ENDINGS, MEGABYTE, TABLE_ENDINGS, decoded, ending, opened, read_rows
from whymatch.text.document import Document
from whymatch.text.spans import is_blank

TEXTS = (".txt", ".text", ".md")
ROWS_CHECKED = 100


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
            known = ", ".join((*JSON_ENDINGS, *TABLE_ENDINGS, *TEXTS))
            raise ValueError(f"{self.path} holds no corpus: files end in {known}, or these and .gz.")
        return found

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self.files())

    def reader(self, file: Path) -> Reader | None:
        """What reads a file, by its ending."""
        if ending(file) in TEXTS:
            return self.read_text
        return self.read_rows if ending(file) in (*JSON_ENDINGS, *TABLE_ENDINGS) else None

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
            if ending(file) in TABLE_ENDINGS:
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

    def read_rows(self, file: Path, before: int) -> Iterator[Row]:
        """A row is a document."""
        max_bytes = int(self.max_mb * MEGABYTE)
        rows = read_rows(file, (self.id, self.text), ("title",), encoding=self.encoding, max_bytes=max_bytes)
        for number, values, bytes_read in rows:
            place = Place(file, number, before + bytes_read)
            yield bad(place, values) if isinstance(values, ValueError) else self.row(place, values, 0)

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
