"""Blocks of a document: headings, rows of tables, and the sentences of paragraphs, list items and numbered clauses."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from whymatch.text.spans import Span, is_blank, sentences
from whymatch.versions.numbering import Number, after_bullet, in_sequence, number_at, starts_numbered

_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+\S")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_RULE = re.compile(r"[ \t]*(?:[-=*_~]{3,}[ \t]*$|`{3,})|(?=.*--)[ \t:|-]+$")  # takes time linear in a line's length
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_MARKS = re.compile(r"[#\s]*")
_ENTRY = re.compile(r":\s+[^\w\s]?\d")  # what a price list or a form has
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
        number: what may be its number; where it is not sure that it is one, it counts as words.
    """

    span: Span
    body: int
    label: str
    heading: bool
    number: Number | None = None


def blocks(text: str) -> list[Block]:
    """The blocks of plain text or Markdown, in order.

    A number such as "3." or "3.2" belongs to the first sentence after it. It is a number where it stands in a sequence
    of such, or behind "#" or a word such as "Article" before a title, and else words of that sentence. Rules between
    rows and fences of code are no blocks.

    >>> text = "# Lease\\n\\n1. Rent\\n1.1 The tenant pays 900 EUR. It is due on\\nthe third day.\\n- gas\\n- water\\n"
    >>> [text[block.span.start : block.span.end] for block in blocks(text)]
    ['# Lease', '1. Rent', '1.1 The tenant pays 900 EUR.', 'It is due on\\nthe third day.', '- gas', '- water']
    """
    own = [block for start, end in _items(text) for block in _of_item(text, start, end)]
    return with_numbers(text, own, sure_numbers(text, own))


def of_spans(text: str, spans: Iterable[Span]) -> list[Block]:
    """Spans of any splitter as blocks, with the numbers that some of them begin with."""
    own = [
        Block(span, after_bullet(text, *span), "", bool(_HEADING.match(text[slice(*span)])), _number(text, *span))
        for span in spans
    ]
    return with_numbers(text, own, sure_numbers(text, own))


def sure_numbers(text: str, own: Sequence[Block]) -> list[bool]:
    """Which blocks of a text begin with the number of a clause, as far as this text says."""
    sure = in_sequence([block.number for block in own])
    return [
        block.number is not None
        and (certain or (block.number.titled and _is_title(text[block.number.body : block.span.end])))
        for block, certain in zip(own, sure, strict=True)
    ]


def with_numbers(text: str, own: Sequence[Block], numbered: Sequence[bool]) -> list[Block]:
    """The blocks, of which some begin with a number; what may be one of others counts as their first words."""
    return [
        block if block.number is None else _with_number(text, block, block.number, certain)
        for block, certain in zip(own, numbered, strict=True)
    ]


def _with_number(text: str, block: Block, number: Number, certain: bool) -> Block:
    start, end = block.span
    begin = number.body if certain and number.body < end else after_bullet(text, start, end)
    body = _after_marks(text, begin, end)
    heading = bool(_HEADING.match(text[start:end])) or _is_heading(text, start, number.body if certain else body, end)
    return replace(block, body=body, label=number.label if certain else "", heading=heading)


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
    return starts_numbered(line) or bool(_HEADING.match(line) or _ROW.match(line))


def _complete(last: str, line: str) -> bool:
    """Whether the line before this one is a heading or a row, or a short one without a mark at its end."""
    if _HEADING.match(last) or _ROW.match(last):
        return True
    return len(last.strip()) < _SHORT_LINE and not _ENDS.search(last) and line.lstrip(_OPENING)[:1].isupper()


def _of_item(text: str, start: int, end: int) -> Iterator[Block]:
    """The blocks of an item: one of a heading or a row, else its sentences, the first with its number or bullet."""
    piece = text[start:end]
    start, end = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    number = _number(text, start, end)
    body = start if _ROW.match(text[start:end]) else after_bullet(text, start, end)
    begin = body if number is None else number.body
    heading = bool(_HEADING.match(text[start:end])) or _is_heading(text, start, begin, end)
    if heading or begin == end or _ROW.match(text[start:end]):
        yield Block(Span(start, end), _after_marks(text, body, end), "", heading, number)
        return
    for place, one in enumerate(sentences(text[begin:end])):
        span = Span(begin + one.start if place else start, begin + one.end)
        yield Block(span, begin + one.start if place else body, "", False, None if place else number)


def _number(text: str, start: int, end: int) -> Number | None:
    return None if _ROW.match(text[start:end]) else number_at(text, start, end)


def _after_marks(text: str, body: int, end: int) -> int:
    """Where a heading begins after its #."""
    marks = _MARKS.match(text, body, end)
    return marks.end() if marks and marks.end() < end else body


def _is_heading(text: str, start: int, body: int, end: int) -> bool:
    """Whether a line is a title that stands behind no bullet and is no entry of a list, such as "Gas: 5 EUR"."""
    return after_bullet(text, start, end) == start and _is_title(text[body:end]) and not _ENTRY.search(text, body, end)


def _is_title(body: str) -> bool:
    """Whether a text is a title: one short line without a mark at its end."""
    title = body.strip()
    return 0 < len(title) < _SHORT_LINE and "\n" not in title and not _ENDS.search(title) and title[:1].isupper()
