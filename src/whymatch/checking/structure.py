"""The structure of a source: which spans are headings, rows of tables and questions, and what stands above each."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from whymatch.checking.tables import Row, rows
from whymatch.checking.units import TITLE, claims_nothing, cut_spans, unit_ends
from whymatch.text.document import Document
from whymatch.text.spans import Span, words

PlaceKind: TypeAlias = Literal["statement", "heading", "row", "question"]

_QUESTION_END = re.compile(r"[?？؟][\"”’»)*_]{0,4}(?:[ \t]*\n|[ \t]+(?=[\"“‘«(*_]{0,4}[A-Z]))")
_ASKS_WHAT = re.compile(
    r"\W*(?:q(?:uestion)?\s?\d{0,3}\s?[:.)]\W*)?(?:\d{1,3}[.)]\s?)?(?:how|what|when|where|which|who|whom|whose|why)\b",
    re.IGNORECASE,
)
_BE_OR_DO = "am|is|are|was|were|do|does|did|can|could|will|would|shall|should|may|might|must|have|has|had"
_INVERTED = re.compile(
    rf"^\W*(?:if|{_BE_OR_DO})\b|[,:;–—-]\s(?:and |but |or |so )?(?:{_BE_OR_DO}) "
    r"(?:i|you|we|he|she|it|they|there|the|an?|my|your|our|this|that|these|those|one|any|all)\b",
    re.IGNORECASE,
)
_MAX_BARE_QUESTION = 12  # words of a question that need not begin as one, such as "Capsules returnable?"
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)  # opens or closes a block of code
_YES_OR_NO = frozenset(str.split("yes no y n true false x ✓ ✔ ✗ ✘ ✅ ❌ - – —"))
_BOLD_LEVEL = 7  # of a title in bold letters: below all six levels of headings


_MIN_HEADLINE = 7  # words and marks from which on a heading is a statement, as those of newspapers are


@dataclass(frozen=True)
class Place:
    """What a span of a source is, and where it stands.

    Args:
        above: the numbers of the spans that complete it with their words: the headings of its section, the header of
            its table, and the question that it answers, where that asks for more than yes or no.
        cells: of a row, each with the header of its column, "" where there is none.
    """

    kind: PlaceKind
    above: frozenset[int] = frozenset()
    cells: tuple[tuple[str, str], ...] = ()

    @property
    def reading(self) -> str:
        """A row in words, "Model: Mini; Price: 99 euros"; "" for other spans."""
        return "; ".join(f"{head}: {cell}" if head else cell for head, cell in self.cells)

    @property
    def yes_or_no(self) -> Iterator[tuple[str, str]]:
        """The headers and texts of cells that only say yes or no."""
        return ((head, cell) for head, cell in self.cells if cell.lower() in _YES_OR_NO)


def cut_by_structure(document: Document) -> Document:
    """A document whose spans end where a heading, a row of a table, a question, or a unit with a point does.

    A row is one span, whatever sentences are in it.
    """
    text = document.text
    in_rows = [row.span for row in _table_rows(text)]
    edges = {edge for match in _titles(text) for edge in match.span()} | {edge for span in in_rows for edge in span}
    edges |= {match.end() for match in _QUESTION_END.finditer(text)} | unit_ends(text)
    spans = tuple(_joined(cut_spans(text, document.spans, sorted(edges)), in_rows))
    return Document(text, spans) if edges and spans else document


def _joined(spans: Iterable[Span], places: Sequence[Span]) -> Iterator[Span]:
    """Spans in ascending order, those within one of these places as one."""
    starts = [place.start for place in places]
    for number, group in groupby(spans, lambda span: _place_of(span, starts, places)):
        own = [*group]
        yield from own if number is None else [Span(own[0].start, own[-1].end)]


def _place_of(span: Span, starts: Sequence[int], places: Sequence[Span]) -> int | None:
    """The number of the place, among these in ascending order, that a span starts in."""
    number = bisect_right(starts, span.start) - 1
    return number if number >= 0 and span.start < places[number].end else None


def _titles(text: str) -> list[re.Match[str]]:
    """The headings of a text; what begins with # in a block of code is none."""
    fences = _fences(text)
    return [match for match in TITLE.finditer(text) if not _in_code(match.start(), fences)]


def _table_rows(text: str) -> list[Row]:
    """The rows of the tables of a text, without those in blocks of code."""
    fences = _fences(text)
    return [row for row in rows(text) if not _in_code(row.span.start, fences)]


def _fences(text: str) -> list[int]:
    """Where the lines begin that open and close blocks of code, in turn."""
    return [match.start() for match in _FENCE.finditer(text)]


def _in_code(place: int, fences: Sequence[int]) -> bool:
    """Whether a place of a text is in a block of code."""
    return bisect_right(fences, place) % 2 == 1


def structure(document: Document) -> list[Place]:
    """What each span of a document is, and what stands above it."""
    reader = _Reader(document)
    return [reader.read(number) for number in range(len(document))]


class _Reader:
    """Reads the spans of a document in their order."""

    def __init__(self, document: Document) -> None:
        self.document, self._pieces = document, document.pieces
        self._levels = {match.start(): _level(match[0]) for match in _titles(document.text)}
        self._rows = {row.span.start: row for row in _table_rows(document.text)}
        self._numbers = {self._line(number): number for number in reversed(range(len(document)))}
        self._sections: list[tuple[int, int]] = []  # levels and numbers of the headings that a span stands under
        self._asked: int | None = None  # the question that the next spans answer
        self._answered = False

    def read(self, number: int) -> Place:
        """What the span of this number is; those before it have been read."""
        piece, line = self._pieces[number], self._line(number)
        level, asks = self._levels.get(line), _asks(piece)
        if level is not None:
            self._sections = [section for section in self._sections if section[0] < level]
        if level is not None or asks or line in self._rows or self._answer_ends(number):
            self._asked = None
        self._answered = self._asked is not None
        above = frozenset(section for _, section in self._sections)
        if self._asked is not None:
            above |= {self._asked}
        lends = not asks or _ASKS_WHAT.match(piece) is not None
        if level is not None and lends:
            self._sections.append((level, number))
        elif asks and lends:
            self._asked, self._answered = number, False
        if line in self._rows and not asks:
            return self._row(self._rows[line], above)
        is_label = level is not None and len(words(piece)) < _MIN_HEADLINE
        return Place("question" if asks else "heading" if is_label else "statement", above)

    def _line(self, number: int) -> int:
        """Where the line of a span starts, if nothing but blanks is before it, and else where the span does."""
        start = self.document.spans[number].start
        before = self.document.spans[number - 1].end if number else 0
        line = self.document.text.rfind("\n", before, start) + 1
        first = line > 0 or not number
        return line if first and not self.document.text[line:start].strip() else start

    def _answer_ends(self, number: int) -> bool:
        """Whether a paragraph ended between the first span of an answer and this one."""
        before, start = self.document.spans[number - 1].end, self.document.spans[number].start
        return self._answered and "\n\n" in self.document.text[before:start]

    def _row(self, row: Row, above: frozenset[int]) -> Place:
        if row.is_header:
            return Place("heading", above)
        heads = row.header.cells if row.header else ()
        if row.header and row.header.span.start in self._numbers:
            above |= {self._numbers[row.header.span.start]}
        cells = tuple((heads[n] if n < len(heads) else "", cell) for n, cell in enumerate(row.cells))
        return Place("row", above, cells)


def _asks(text: str) -> bool:
    """Whether a span is a question: a long one begins as one, and is no statement that ends in a doubt or a title."""
    if claims_nothing(text) != "question":
        return False
    return bool(_ASKS_WHAT.match(text) or _INVERTED.search(text)) or len(text.split()) <= _MAX_BARE_QUESTION


def _level(title: str) -> int:
    """The level of a heading: how many marks it has."""
    marks = len(title.lstrip()) - len(title.lstrip().lstrip("#"))
    return marks or (1 if title.rstrip().endswith("=") else _BOLD_LEVEL)
