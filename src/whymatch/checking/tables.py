"""The rows of tables as Markdown writes them, with the header of their table."""

from collections.abc import Iterator
from dataclasses import dataclass

from whymatch.text.spans import Span


@dataclass(frozen=True)
class Row:
    """A row of a table: its line, and the texts of its cells."""

    span: Span
    cells: tuple[str, ...]
    header: "Row | None" = None
    is_header: bool = False


def rows(text: str) -> Iterator[Row]:
    """The rows of the tables of a text; the rules between headers and rows are left out.

    A row stands between bars, or in the lines after a rule. Empty lines may stand between rows with bars around them.

    >>> mini, = (row for row in rows("Model | Price\\n---|---\\nMini | 99") if not row.is_header)
    >>> mini.cells, mini.header.cells
    (('Mini', '99'), ('Model', 'Price'))
    """
    if "|" not in text:
        return
    lines = [*_lines(text)]
    header, follows = None, False  # the header that holds, and whether the line before is of its table
    for number, (start, line) in enumerate(lines):
        stripped = line.strip()
        if not stripped:
            follows = False
            continue
        if _is_rule(stripped) and (follows or header):
            continue
        after = next((other.strip() for _, other in lines[number + 1 : number + 3] if other.strip()), "")
        barred = len(stripped) > 2 and stripped[0] == stripped[-1] == "|"
        if not barred and ("|" not in stripped or not (follows or _is_rule(after))):
            header, follows = None, False
            continue
        row = Row(Span(start, start + len(line)), _cells(stripped), header, _is_rule(after))
        if row.is_header:
            header = row = Row(row.span, row.cells, None, True)
        follows = True
        yield row


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _is_rule(line: str) -> bool:
    return "|" in line and "--" in line and {*line} <= {*"|:- \t"}


def _cells(line: str) -> tuple[str, ...]:
    inner = line.removeprefix("|").removesuffix("|")
    return tuple(cell.strip(" \t*_`") for cell in inner.split("|"))
