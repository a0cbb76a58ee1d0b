"""Documents as text: plain text and Markdown as they are, HTML and DOCX as a reader sees them."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from xml.parsers import expat

from whymatch.datasets.markup import html_text
from whymatch.reading import MEGABYTE, decoded

_DOCUMENT = "word/document.xml"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_STRICT_WORD = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_MAX_SHARE = 20  # megabytes of XML for each megabyte of text that is allowed: markup is longer than what it marks
_MAX_DEPTH = 200
_ROWS = (
    (re.compile(r"</t[dh]\s*>\s*<t[dh]\b[^<>]*>", re.IGNORECASE), " | "),
    (re.compile(r"(<tr\b[^<>]*>\s*<t[dh]\b[^<>]*>)", re.IGNORECASE), r"\1| "),
    (re.compile(r"(</t[dh]\s*>\s*</tr\s*>)", re.IGNORECASE), r" |\1"),
    (re.compile(r"(<li\b[^<>]*>\s*(?:<p\b[^<>]*>\s*)?)(?=[^<\s\d(§•*–-])", re.IGNORECASE), r"\1- "),
)
_MARKS = (
    (re.compile(r"<h([1-6])\b[^<>]*>", re.IGNORECASE), lambda match: f"{match[0]}{'#' * int(match[1])} "),
    (re.compile(r"</th\s*>\s*</tr\s*>", re.IGNORECASE), lambda match: f"{match[0]}<p>|---|</p>"),
)
_LOOKS_LIKE_HTML = re.compile(r"\s*(?:<!doctype html|<html[\s>]|<\?xml[^>]*>\s*<!doctype html)", re.IGNORECASE)


MARKUP_ENDINGS = (".html", ".htm", ".xhtml", ".docx")
"""The endings of files whose text is not what stands in them."""


def document_text(data: bytes, name: str, *, encoding: str = "utf-8", max_mb: float = 5, marked: bool = False) -> str:
    """The text of a file: of a DOCX by its content, of HTML by its name or its first tag, else as it stands.

    With `marked`, the headings and header rows of HTML are marked as in Markdown.

    Raises:
        ValueError: if it is in another encoding, no document of Word, or too large once it is unpacked.
    """
    if data[:4] == b"PK\x03\x04":
        return docx_text(data, name, max_mb)
    text = decoded(data, name, encoding)
    if name.lower().endswith(MARKUP_ENDINGS) or _LOOKS_LIKE_HTML.match(text):
        return html_text(_with_rows(_with_marks(text) if marked else text))
    return text


def _with_marks(html: str) -> str:
    """HTML with the marks of Markdown before headings, and a rule after each row that ends in a header cell."""
    for pattern, written in _MARKS:
        html = pattern.sub(written, html)
    return html


def _with_rows(html: str) -> str:
    """HTML in which the cells of a row are one block, with a bar around each, and items have a number or a bullet."""
    for pattern, written in _ROWS:
        html = pattern.sub(written, html)
    return html


def docx_text(data: bytes, name: str, max_mb: float = 5) -> str:
    """The paragraphs of a document of Word, with an empty line between them; a row of a table is one line.

    Text that is marked as deleted is left out. Numbers that Word makes itself are not in the file.

    Raises:
        ValueError: if it is no such document, declares entities, or is too large.
    """
    limit = int(max_mb * MEGABYTE)
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive, archive.open(_DOCUMENT) as file:
            xml = file.read(_MAX_SHARE * limit + 1)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise ValueError(f"{name} is no document of Word that can be read: {error}.") from None
    advice = "Raise the limit with --max-mb, or cut the document."
    if len(xml) > _MAX_SHARE * limit:
        raise ValueError(f"{name} holds more than {_MAX_SHARE * max_mb:g} MB of XML. {advice}")
    reader = _WordReader()
    try:
        reader.read(xml)
    except (expat.ExpatError, ValueError) as error:
        raise ValueError(f"{name} is no document of Word that can be read: {error}.") from None
    text = "\n\n".join(reader.paragraphs())
    if len(text.encode()) > limit:
        raise ValueError(f"{name} holds more than {max_mb:g} MB of text. {advice}")
    return text


class _WordReader:
    """Collects the paragraphs of WordprocessingML. It refuses declarations, so that no entity is ever resolved."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._pieces: list[str] = []
        self._cells: list[list[str]] = []  # of the rows that are open, one inside another
        self._found: list[str] = []

    def read(self, xml: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.Parse(xml, True)

    def paragraphs(self) -> Iterator[str]:
        """The paragraphs and rows that were read."""
        yield from self._found

    def _refuse(self, *_: object) -> None:
        raise ValueError("it declares a document type or entities")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
        self._open.append(name)
        if len(self._open) > _MAX_DEPTH:
            raise ValueError(f"its elements are nested more than {_MAX_DEPTH} deep")
        if name in ("tab", "br", "cr") and "r" in self._open:
            self._pieces.append("\t" if name == "tab" else "\n")
        elif name == "noBreakHyphen":
            self._pieces.append("-")
        elif name == "tr":
            self._cells.append([])
        elif name == "tc" and self._cells:
            self._cells[-1].append("")

    def _end(self, tag: str) -> None:
        name = self._open.pop()
        if name == "p":
            text = "".join(self._pieces).strip()
            self._pieces.clear()
            if self._cells and self._cells[-1]:
                self._cells[-1][-1] = " ".join(filter(None, [self._cells[-1][-1], *text.split()]))
            elif text:
                self._found.append(text)
        elif name == "tr":
            row = self._cells.pop()
            if self._cells and self._cells[-1]:  # a table inside a cell
                self._cells[-1][-1] = " ".join(filter(None, [self._cells[-1][-1], *row]))
            elif any(row):
                self._found.append(f"| {' | '.join(row)} |")

    def _characters(self, text: str) -> None:
        if self._open and self._open[-1] == "t" and "del" not in self._open:
            self._pieces.append(text)


def _local(tag: str) -> str:
    """The name of an element of Word; "" for those of others, whose text is not the document's."""
    space, _, name = tag.rpartition(" ")
    return name if space in (_WORD, _STRICT_WORD) else ""
