"""Blocks of a document: headings, rows of tables, and the sentences of paragraphs, list items and numbered clauses."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whymatch.text.spans import Span, is_blank, sentences

_LABEL = re.compile(
    r"""[ \t]*(?:[#>]+[ \t]+)?(?:\*\*|__)?(?P<label>
        (?:§§?|article|section|clause|chapter|part|schedule|annex|appendix|exhibit)[ \t]*
            (?:\d+(?:\.\d+)*[a-z]?|[ivxlc]+|[a-z])(?:\([\da-z]+\))*\b
        | \d{1,3}(?:\.\d{1,3})+[.)]? | \d{1,3}[.)] | [a-z][.)] | [ivxlc]{1,6}[.)]
        | \((?:\d{1,3}|[a-z]|[ivxlc]{1,6})\)
    )(?=[ \t\r\n]|\*\*|__|$|[:.–—-])[:.–—-]*(?:\*\*|__)?[ \t]*""",
    re.VERBOSE | re.IGNORECASE,
)
_BULLET = re.compile(r"[ \t]*[-*+•–·‣◦][ \t]+")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+\S")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_RULE = re.compile(r"[ \t]*(?:[-=*_~]{3,}[ \t]*$|`{3,})|(?=.*--)[ \t:|-]+$")  # takes time linear in a line's length
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_ENDS = re.compile(r"[.!?:;,…\"'”’)\]]\s*$")
_OPENING = " \t\"'“‘([*_"
_SHORT_LINE = 60  # characters: a shorter line without a mark at its end is a heading, or a line of its own


@dataclass(frozen=True)
class Block:
    """A piece of a document that is compared as a whole.

    Args:
        span: its place in the text, its number or bullet included.
        body: where its own words begin, after a number such as "3.2" or a bullet.
        label: its number, without the mark behind it; "" where it has none.
        heading: whether it is a heading.
    """

    span: Span
    body: int
    label: str
    heading: bool


def blocks(text: str) -> list[Block]:
    """The blocks of plain text or Markdown, in order.

    A number such as "3." or "3.2" belongs to the first sentence after it. Rules between rows and fences of code are
    no blocks.

    >>> text = "# Lease\\n\\n1. Rent\\n1.1 The tenant pays 900 EUR. It is due on\\nthe third day.\\n- gas\\n- water\\n"
    >>> [text[block.span.start : block.span.end] for block in blocks(text)]
    ['# Lease', '1. Rent', '1.1 The tenant pays 900 EUR.', 'It is due on\\nthe third day.', '- gas', '- water']
    """
    return [block for start, end in _items(text) for block in _of_item(text, start, end)]


def of_spans(text: str, spans: Iterable[Span]) -> list[Block]:
    """Spans of any splitter as blocks, with the numbers that some of them begin with."""
    return [_block(text, span) for span in spans]


def _block(text: str, span: Span) -> Block:
    body, label = _after_label(text, *span)
    return Block(span, body, label, bool(_HEADING.match(text[span.start : span.end])))


def _items(text: str) -> Iterator[tuple[int, int]]:
    """Lines, with those that go on where they were broken: a paragraph, an item, a heading or a row."""
    begin, end, last = -1, -1, ""
    for match in _LINE.finditer(text):
        line, (start, stop) = match[0].rstrip("\r\n"), match.span()
        if is_blank(line) or _RULE.match(line):
            if begin >= 0:
                yield begin, end
            begin = -1
        elif begin < 0:
            begin, end = start, stop
        elif _starts(line) or _complete(last, line):
            yield begin, end
            begin, end = start, stop
        else:
            end = stop
        last = "" if is_blank(line) else line.splitlines()[-1]
    if begin >= 0:
        yield begin, end


def _starts(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_LABEL, _BULLET, _HEADING, _ROW))


def _complete(last: str, line: str) -> bool:
    """Whether the line before this one is a heading or a row, or a short one without a mark at its end."""
    if _HEADING.match(last) or _ROW.match(last):
        return True
    return len(last.strip()) < _SHORT_LINE and not _ENDS.search(last) and line.lstrip(_OPENING)[:1].isupper()


def _of_item(text: str, start: int, end: int) -> Iterator[Block]:
    """The blocks of an item: one of a heading or a row, else its sentences, the first with its number or bullet."""
    piece = text[start:end]
    start, end = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    piece = text[start:end]
    body, label = _after_label(text, start, end)
    heading = bool(_HEADING.match(piece)) or _is_title(text[body:end])
    if heading or _ROW.match(piece):
        yield Block(Span(start, end), _after_marks(text, body, end), label, heading)
        return
    for number, one in enumerate(sentences(text[body:end])):
        span = Span(body + one.start if number else start, body + one.end)
        yield Block(span, body + one.start, "" if number else label, False)


def _after_label(text: str, start: int, end: int) -> tuple[int, str]:
    """Where a piece begins after its bullet and its number, and that number; what is a number alone begins with it."""
    if _ROW.match(text[start:end]):
        return start, ""
    bullet = _BULLET.match(text, start, end)
    body = bullet.end() if bullet else start
    match = _LABEL.match(text, body, end)
    if match is None:
        return (body if body < end else start), ""
    label = " ".join(match["label"].split())
    label = label if label.startswith("(") else label.rstrip(".)")
    return (match.end() if match.end() < end else start), label


def _after_marks(text: str, body: int, end: int) -> int:
    """Where a heading begins after its #."""
    marks = re.compile(r"[#\s]*").match(text, body, end)
    return marks.end() if marks and marks.end() < end else body


def _is_title(body: str) -> bool:
    """Whether the text after a number is a title: one short line without a mark at its end."""
    title = body.strip()
    return 0 < len(title) < _SHORT_LINE and "\n" not in title and not _ENDS.search(title) and title[:1].isupper()
