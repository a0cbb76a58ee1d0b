"""The rows of tables as Markdown writes them, with the header of their table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from whymatch.text.spans import Span

_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_BAR = re.compile(r"(?<!\\)\|")  # between cells; one behind a backslash is a character of its cell


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
        span, cells = Span(start, start + len(line)), _cells(stripped)
        is_header = _is_rule(after) and not (follows and header)
        if is_header:
            header = Row(span, cells, None, True)
        follows = True
        fits = header is not None and len(cells) <= len(header.cells)  # or cells would stand under wrong headers
        yield header if is_header and header else Row(span, cells, header if fits else None)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _is_rule(line: str) -> bool:
    return "|" in line and _RULE.fullmatch(line) is not None


def _cells(line: str) -> tuple[str, ...]:
    inner = line.removeprefix("|")
    inner = inner if inner.endswith("\\|") else inner.removesuffix("|")
    return tuple(cell.replace("\\|", "|").strip(" \t*_`") for cell in _BAR.split(inner))
