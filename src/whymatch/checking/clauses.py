"""The clauses of a sentence: pieces that may have a source each. English, by conjunctions and punctuation."""

import re
from collections.abc import Iterator

from whymatch.text.spans import Span, words

MIN_WORDS = 3  # of a clause
_AND = r"(?:and|but|or|so|yet|while|whereas|although|though|because)"
_WHO = r"(?:which|who|whose|where|when)"
_BREAK = re.compile(
    rf"(?P<semicolon>[;:]\s+|(?<!\s)\s+[–—]\s+|—)(?:{_AND}\b\s*)?|,\s+(?:{_AND}\b\s*|(?={_WHO}\b))|(?<!\s)\s+(?:{_AND})\s+"
)


def clauses(text: str) -> list[Span]:
    """The clauses of a sentence, without the conjunctions between them; one span where it has only one.

    A piece of fewer than `MIN_WORDS` words, such as an item of a list, stays with what is before it.

    >>> text = "The canteen is open all day, and lunch costs 5 euros."
    >>> [text[start:end] for start, end in clauses(text)]
    ['The canteen is open all day', 'lunch costs 5 euros.']
    >>> len(clauses("Paris and London are large cities."))
    1
    """
    joined: list[Span] = []
    for span in _pieces(text):
        if joined and (_length(text, span) < MIN_WORDS or _length(text, joined[-1]) < MIN_WORDS):
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined


def _pieces(text: str) -> Iterator[Span]:
    start = 0
    for match in _BREAK.finditer(text):
        if text[start : match.start()].strip():
            yield Span(start, match.start())
            start = match.end()
    if text[start:].strip():
        yield Span(start, len(text))


def _length(text: str, span: Span) -> int:
    """The words with a letter or digit in a span."""
    piece = text[span.start : span.end]
    return sum(any(map(str.isalnum, piece[a:b])) for a, b in words(piece))
