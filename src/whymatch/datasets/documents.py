"""Documents from JSON lines, CSV, Parquet or a folder of text files, one by one; bad rows come with their place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from whymatch.datasets.markup import titled
from whymatch.datasets.office import MARKUP_ENDINGS, document_text
from whymatch.files import inside
from whymatch.reading import (
    JSON_ENDINGS,
    MEGABYTE,
    TABLE_ENDINGS,
    FileRow,
    JsonObject,
    decoded,
    ending,
    listed,
    opened,
    read_rows,
)
from whymatch.text.document import Document
from whymatch.text.spans import is_blank

_TEXT_ENDINGS = (".txt", ".text", ".md")
_ENDINGS = (*JSON_ENDINGS, *TABLE_ENDINGS, *_TEXT_ENDINGS)
_ROWS_CHECKED = 100
_MAX_NAMES = 100  # of fields that are remembered for a message
UNTYPED_ENDINGS = (".csv", ".tsv")
_FIELDS_ADVICE = "Name the fields: --id NAME, --text NAME."
_TITLE = "title"
"""The field whose text is put before that of a document, where no other one is named."""


class Cell(str):
    """A value of a table without types: a text that may be meant as a number, or as true or false."""

    __slots__ = ()


class CorpusRow(NamedTuple):
    """A document of a corpus, or why the row is none."""

    place: str
    """The file, and the line or row in it."""
    bytes_read: int
    """How much of the corpus was read to get here, of its compressed bytes where it is compressed."""
    id: str
    text: str
    error: ValueError | None = None
    metadata: Mapping[str, Any] = MappingProxyType({})
    """The values of the fields that are kept, where the row has them; cells of CSV are `Cell`s."""

    def repeating(self, place: str) -> "CorpusRow":
        """The same as a bad row, because its id stands in an earlier place."""
        return self._replace(error=ValueError(f"the id {self.id!r:.60} came before, in {place}."))


@dataclass(frozen=True)
class CorpusFiles:
    """A file or a folder of documents.

    Args:
        path: the file or the folder.
        id: the field with the id.
        text: the field with the text.
        title: the field whose text is put before that of the document, as a paragraph of its own; "title", where there
            is one, if none is named.
        keep: fields whose values come with each document.
        numbered: whether a row without an id is called by its line, such as "line 7".
        with_markup: whether HTML and DOCX are read too, a document each.
    """

    path: Path
    id: str = "id"
    text: str = "text"
    encoding: str = "utf-8"
    max_mb: float = 5.0
    title: str | None = None
    keep: tuple[str, ...] = ()
    numbered: bool = False
    with_markup: bool = False

    def files(self) -> list[Path]:
        """The files in the order in which they are read: of a folder, all whose ending is known; at least one."""
        if self.with_markup:
            return files_in(
                self.path, (*_ENDINGS, *MARKUP_ENDINGS), "documents", "JSON lines, CSV, Parquet, text or HTML"
            )
        return files_in(self.path, _ENDINGS, "documents", "JSON lines, CSV, Parquet or text")

    def unread_files(self) -> list[Path]:
        """The files of a folder that are not hidden and whose ending is not known."""
        read = {*self.files()}
        return [file for file in _visible_files(self.path) if file not in read] if self.path.is_dir() else []

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self.files())

    def is_text(self, file: Path) -> bool:
        """Whether a file is a single document."""
        return ending(file) in (*_TEXT_ENDINGS, *MARKUP_ENDINGS)

    def check(self) -> None:
        """Reads a little of every table and of the first rows, before slow work starts.

        Raises:
            ValueError: if a table lacks the columns, none of the first rows is a document, or no row at all has a field
                that is named as title or is kept.
        """
        for file in self.files():
            if ending(file) in TABLE_ENDINGS:
                next(self.rows(file), None)
        first = [*islice(self, _ROWS_CHECKED)]
        if first and all(row.error is not None for row in first):
            raise ValueError(f"No document can be read from {self.path}. {first[0].place}: {first[0].error}")
        self._check_named()

    @property
    def _named(self) -> tuple[str, ...]:
        """The fields that are asked for beside id and text."""
        return (*self.keep, *(() if self.title is None else (self.title,)))

    def _check_named(self) -> None:
        """Raises ValueError if no row has one of the fields that are named; reads until all of them were seen."""
        missing, there = {*self._named}, dict[str, None]()
        for fields in (row.values for file in self.files() if missing for row in self._read(file)):
            if not isinstance(fields, ValueError):
                there |= dict.fromkeys(fields) if len(there) < _MAX_NAMES else {}
                missing -= fields.keys()
            if not missing:
                return
        for name in sorted(missing):
            raise ValueError(f'No row of {self.path} has a field "{name}". There are: {listed(there)}.')

    def __iter__(self) -> Iterator[CorpusRow]:
        """Every document once, and every bad row; of several with one id, the first is the document."""
        decoded(b"", "A corpus", self.encoding)  # raises if there is no such encoding
        first: dict[str, str] = {}
        bytes_before = 0
        for file in self.files():
            for row in self.rows(file, bytes_before):
                repeats = row.error is None and first.setdefault(row.id, row.place) != row.place
                yield row.repeating(first[row.id]) if repeats else row
            bytes_before += file.stat().st_size

    def rows(self, file: Path, bytes_before: int = 0) -> Iterator[CorpusRow]:
        """The documents and bad rows of one of the `files`; a link that leads out of the folder is a bad row."""
        if self.path.is_dir():
            try:
                inside(self.path, file.relative_to(self.path).as_posix())
            except ValueError as error:
                yield CorpusRow(str(file), bytes_before, "", "", error)
                return
        unit = "row" if file.suffix == ".parquet" else "line"
        for number, fields, bytes_read in self._read(file):
            place = str(file) if number is None else f"{file}, {unit} {number}"
            try:
                if isinstance(fields, ValueError):
                    raise fields
                kept = self._kept(file, fields)
                name = self._name(file, f"{unit} {number}") if self.numbered else None
                yield CorpusRow(place, bytes_before + bytes_read, *self._document(fields, name), metadata=kept)
            except ValueError as error:
                yield CorpusRow(place, bytes_before + bytes_read, "", "", error)

    def _read(self, file: Path) -> Iterator[FileRow]:
        """The rows of a file; a text file is a single one, whose id is its path in the folder."""
        max_bytes = int(self.max_mb * MEGABYTE)
        if not self.is_text(file):
            yield from read_rows(
                file,
                required=(*dict.fromkeys((*((self.id,) * (not self.numbered)), self.text, *self._named)),),
                optional=(*((self.id,) * self.numbered), *((_TITLE,) * (self.title is None))),
                encoding=self.encoding,
                max_bytes=max_bytes,
                advice=_FIELDS_ADVICE,
            )
            return
        name = self._name(file) or file.name
        try:
            with opened(file) as data:
                content = data.read(max_bytes + 1)
            self._check_size(len(content))
            if ending(file) in MARKUP_ENDINGS:
                named = file.name.removesuffix(".gz")
                text = document_text(content, named, encoding=self.encoding, max_mb=self.max_mb, marked=True)
            else:
                text = decoded(content, "The file", self.encoding)
            yield FileRow(None, {self.id: name, self.text: text}, 0)
        except (OSError, ValueError) as error:
            yield FileRow(None, ValueError(str(error)), 0)

    def _name(self, file: Path, row: str = "") -> str:
        """A row by the path of its file in the folder; one of a single file has no path."""
        path = file.relative_to(self.path).as_posix() if self.path.is_dir() else ""
        return ", ".join(filter(None, (path, row)))

    def _check_size(self, size: int) -> None:
        if size > self.max_mb * MEGABYTE:
            raise ValueError(f"the text is larger than {self.max_mb:g} MB. Raise the limit (--max-mb), or cut it.")

    def _kept(self, file: Path, fields: JsonObject) -> Mapping[str, Any]:
        """The values of the fields that are kept, where there are such fields."""
        values = {name: fields[name] for name in self.keep if name in fields}
        if ending(file) not in UNTYPED_ENDINGS:
            return values
        return {name: Cell(value) for name, value in values.items()}

    def _document(self, fields: JsonObject, row_name: str | None = None) -> tuple[str, str]:
        """The id, or else the name of the row, and the text of a document.

        Raises:
            ValueError: if the fields make none.
        """
        title_name = self.title or _TITLE
        id_, text, title = fields.get(self.id), fields.get(self.text), fields.get(title_name) or ""
        if isinstance(id_, int) and not isinstance(id_, bool):
            id_ = str(id_)
        if row_name is not None and id_ in (None, ""):
            id_ = row_name
        if id_ is None or id_ == "":
            raise ValueError(_missing(self.id, fields))
        if not isinstance(id_, str):
            raise ValueError(f'"{self.id}" is a text or a whole number, got {type(id_).__name__}.')
        if text is None:
            raise ValueError(_missing(self.text, fields))
        for name, value in ((self.text, text), (title_name, title)):
            if not isinstance(value, str):
                raise ValueError(f'"{name}" is a text, got {type(value).__name__}.')
        whole = titled(title, text) if title else text
        Document(id_, ())  # raises where it is not valid Unicode
        Document(whole, ())
        if is_blank(whole):
            raise ValueError(f'"{self.text}" is empty.')
        self._check_size(len(whole))
        return id_, whole


def files_in(path: Path, endings: Sequence[str], contents: str, formats: str) -> list[Path]:
    """A file, or those of a folder that are not hidden, with one of the endings; raises ValueError if there is none."""
    if not path.exists():
        raise ValueError(f"There is no {path}. Give {formats}, or a folder of such files.")
    if path.is_file() and path.suffix.lower() == ".pdf":
        raise ValueError(f"{path} is a PDF. Make a text file of it first, such as with pdftotext.")
    files = [file for file in _visible_files(path) if ending(file) in endings]
    if not files:
        raise ValueError(f"{path} holds no {contents}: files end in {', '.join(endings)}, or these and .gz.")
    return files


def _visible_files(path: Path) -> list[Path]:
    """A file, or those of a folder that are not hidden."""
    paths = [path] if path.is_file() else sorted(path.rglob("*"))
    return [
        file
        for file in paths
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]


def _missing(field: str, fields: JsonObject) -> str:
    return f'there is no "{field}", only {listed(fields)}. {_FIELDS_ADVICE}'
