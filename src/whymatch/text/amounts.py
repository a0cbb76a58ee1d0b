"""Amounts of a text: its numbers with their units, and its dates, found together and compared."""

import re
from collections.abc import Hashable
from fractions import Fraction
from typing import TypeAlias

from whymatch.text.dates import Date, dates
from whymatch.text.measures import Quantity
from whymatch.text.quantities import quantities
from whymatch.text.spans import Span
from whymatch.text.units import word_unit

Amount: TypeAlias = Quantity | Date
_QUARTERLY = re.compile(r"\b(?:(?:every|each|once a|once per) quarter|quarterly)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"\b(?:twice|times)\W{1,3}(?:\w{1,5}\W)?$", re.IGNORECASE)  # before "every quarter"
_PREFIXED = re.compile(r"(?:bi|semi|half|tri)[- ]?$", re.IGNORECASE)  # before "weekly"
_GOES_ON = re.compile(
    r"\s+(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b|\s*(?:to|or|–|-)\s*\d", re.IGNORECASE
)
"""After "every second" or "every 5", which then is no period of its own: "every second day", "every 5 to 7 days"."""
_PER = (["a"], ["an"], ["per"], ["each"], ["every"])


def amounts(text: str) -> list[Amount]:
    """The quantities and dates of a text in order; none overlap.

    >>> [(text[start:end]) for text in ["Take 5 mg on 3 May."] for start, end in (one.span for one in amounts(text))]
    ['5 mg', '3 May']
    """
    own_dates = dates(text)
    return sorted([*own_dates, *quantities(text, [date.span for date in own_dates])], key=lambda amount: amount.span)


def periods(text: str) -> list[tuple[Span, Fraction]]:
    """The seconds between two of what recurs, with the words that say so.

    >>> [(span, float(seconds)) for span, seconds in periods("twice a day")]
    [(Span(start=0, end=11), 43200.0)]
    """
    month, recurring = word_unit("month"), list[tuple[Span, Fraction]]()
    if month:
        quarters = (match for match in _QUARTERLY.finditer(text) if not _SEVERAL.search(text, 0, match.start()))
        recurring += [(Span(*match.span()), month.base(Fraction(3))) for match in quarters]
    own = quantities(text)
    for number, one in enumerate(own):
        if one.unit is None or one.unit.dimension != "time" or one.value <= 0:
            continue
        if _PREFIXED.search(text, 0, one.span.start) or _GOES_ON.match(text, one.span.end):
            continue
        before, length = own[number - 1] if number else None, one.unit.base(one.value)
        recurs = text[max(0, one.span.start - 6) : one.span.start].lower().split()[-1:] in (["every"], ["each"])
        if before and one.vague and _counts_times(before) and text[before.span.end : one.span.start].split() in _PER:
            recurring.append((Span(before.span.start, one.span.end), length / before.value))
        elif recurs or (one.vague and text[slice(*one.span)].lower().endswith("ly")):
            recurring.append((one.span, length))
    return recurring


def _counts_times(number: Quantity) -> bool:
    return number.unit is not None and number.unit.dimension == "times" and number.value > 0


def agree(one: Amount, other: Amount) -> bool:
    """Whether both can be the same; a plain number can be the year or the day of a date."""
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return one.agrees(other)
    if isinstance(one, Date) and isinstance(other, Date):
        return one.kind == other.kind and one.agrees(other)
    date, number = (one, other) if isinstance(one, Date) else (other, one)
    if isinstance(number, Date) or isinstance(date, Quantity):
        return False
    return number.value.denominator == 1 and date.has(int(number.value)) and (number.unit is None or _ordinal(number))


def comparable(one: Amount, other: Amount) -> bool:
    """Whether two amounts that do not agree can contradict each other."""
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return _ordinal(one) == _ordinal(other)
    if isinstance(one, Date) and isinstance(other, Date):
        return one.kind == other.kind
    date, number = (one, other) if isinstance(one, Date) else (other, one)
    return isinstance(number, Quantity) and isinstance(date, Date) and date.kind == "day" and number.year


def same_dimension(one: Amount, other: Amount) -> bool:
    """Whether both are dates, or can be measures of one thing."""
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return one.same_dimension(other)
    return isinstance(one, Date) and isinstance(other, Date)


def exact_values(amount: Amount) -> frozenset[Hashable]:
    """What it is to the last digit; amounts that share a value are the same. None of a number that may be none."""
    if isinstance(amount, Date):
        return frozenset((amount.kind, reading) for reading in amount.readings)
    if amount.vague:
        return frozenset()
    if amount.unit is None:
        return frozenset({(None, amount.hedge, amount.value)})
    return frozenset({(amount.unit.dimension, amount.hedge, amount.unit.base(amount.value))})


def _ordinal(number: Quantity) -> bool:
    return number.unit is not None and number.unit.dimension == "ordinal"
