"""Dates, weekdays and times of day in a text, with every way to read them."""

import re
from dataclasses import dataclass
from typing import TypeAlias

from whymatch.text.spans import Span, without
from whymatch.text.units import symbol_unit, word_unit

Reading: TypeAlias = tuple[int | None, ...]
"""Year, month and day; or the weekday; or the minutes since midnight. None where the text does not say."""

MONTHS = str.split("january february march april may june july august september october november december")
WEEKDAYS = str.split("monday tuesday wednesday thursday friday saturday sunday")
_MONTH_NUMBERS = {name: n for n, month in enumerate(MONTHS, start=1) for name in (month, month[:3])} | {"sept": 9}
_AMBIGUOUS_MONTHS = ("march", "may", "august")  # which are other words too
_NOT_WHOLE = "".join(rf"(?<!\b{month})" for month in MONTHS)
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\b(?:{_NOT_WHOLE}\.)?"
_DAY = (
    r"(?P<day>\d{1,3})(?:\s?(?:st|nd|rd|th))?\b"  # whether there is such a day, or year, is not asked: a typo is a date
)
_YEAR = r"(?P<year>\d{4,5})\b(?![.,]\d)"
_HOURS = r"(?P<hour>[01]?\d|2[0-4])"
_HALF = r"(?P<half>[ap])(?:\.\s?m\b\.?|m\b)"

_PATTERNS = [
    ("day", r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b"),
    (
        "numeric",
        r"(?<![\w./-])(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d)\b(?![./-]\d)",
    ),
    ("day", rf"(?<![\w.,]){_DAY}\s*(?:of\s+)?-?{_MONTH}(?:\s*,)?[\s-]*{_YEAR}"),
    ("day", rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}(?:\s*,)?\s+{_YEAR}"),
    ("day", rf"\b{_MONTH}(?:\s+of|\s*,)?[\s-]+{_YEAR}"),
    ("day", rf"(?<![\w.,/]){_DAY}\s+(?:of\s+)?-?{_MONTH}"),
    ("day", rf"\b{_MONTH}[\s-]+(?:the\s+)?{_DAY}(?!\s*[ap]\.?m\b|[:.,]\d)"),
    ("month", rf"\b(?P<month>{'|'.join(MONTHS)})\b"),
    ("weekday", rf"\b(?P<weekday>{'|'.join(WEEKDAYS)})(?=s?\b)"),
    ("time", rf"(?<![\w.,:]){_HOURS}(?:[:.](?P<minute>[0-5]\d))?\s*{_HALF}"),
    ("time", rf"(?<![\w.,:]){_HOURS}:(?P<minute>[0-5]\d)(?::[0-5]\d)?\b(?!:)"),
    ("time", rf"(?<![\w.,:]){_HOURS}\s+o\s?['’]\s?clock\b"),
    ("time", r"\b(?P<named>noon|midday|midnight)\b"),
]
_COMPILED = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS]
_MONTH_FOLLOWS = "in|since|until|by|of|early|late|mid|during|last|next|from|to"
_BEFORE_MONTH = re.compile(rf"\b(?:{_MONTH_FOLLOWS})[\s-]?$", re.IGNORECASE)
_BEFORE_DAY = re.compile(rf"\b(?:{_MONTH_FOLLOWS}|on|before|after)(?:\s+the)?[\s-]?$", re.IGNORECASE)
_MAX_BEFORE = 30  # characters that are looked at
_NEXT_WORD = re.compile(r"[\s-]*([^\W\d_]+|[%°])")
_NAMED_TIMES = {"noon": 720, "midday": 720, "midnight": 0}


@dataclass(frozen=True)
class Date:
    """A date, weekday or time of day as it stands in a text; only those of one kind can be compared."""

    span: Span
    kind: str
    readings: frozenset[Reading]

    def agrees(self, other: "Date") -> bool:
        """Whether some reading of both agrees in all that both say."""
        return any(
            all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))
            for one in self.readings
            for two in other.readings
        )

    def has(self, value: int) -> bool:
        """Whether a number alone can stand for it: its year or its day."""
        return self.kind == "day" and any(value in (reading[0], reading[2]) for reading in self.readings)


def dates(text: str) -> list[Date]:
    """The dates, weekdays and times of a text in order; none overlap.

    >>> [sorted(date.readings) for date in dates("on 3 May 2020, at 5 pm")]
    [[(2020, 5, 3)], [(1020,)]]
    """
    read, free = list[Date](), text
    for kind, pattern in _COMPILED:
        matches = [(match, _readings(kind, match)) for match in pattern.finditer(free)]
        own = [
            Date(Span(*match.span()), "day" if kind in ("numeric", "month") else kind, readings)
            for match, readings in matches
            if readings
        ]
        free = without(free, [date.span for date in own])
        read += own
    return sorted(read, key=lambda date: date.span)


def _readings(kind: str, match: re.Match[str]) -> frozenset[Reading]:
    """The ways to read a match; none if it is no date after all."""
    parts = match.groupdict()
    if kind == "numeric":
        return _numeric(int(parts["first"]), int(parts["second"]), parts["year"])
    if kind == "weekday":
        return frozenset({(WEEKDAYS.index(parts["weekday"].lower()),)})
    if kind == "time":
        return _times(parts)
    name = parts["month"]
    complete = None not in (parts.get("day"), parts.get("year"))
    if not complete and ((name.lower() in _AMBIGUOUS_MONTHS and not _names_month(match)) or _counts_units(match)):
        return frozenset()
    month = int(name) if name.isdigit() else _MONTH_NUMBERS[name.lower()]
    day, year = (None if parts.get(part) is None else int(parts[part]) for part in ("day", "year"))
    return frozenset({(year, month, day)})


def _names_month(match: re.Match[str]) -> bool:
    """Whether "May" or "March" is a month: it follows "in" or the like, or has a capital.

    A capital at the beginning of a sentence says so only where a day or year stands beside it: "May 5 was cold."
    """
    numbered = match.groupdict().keys() & {"day", "year"}
    follows = _BEFORE_DAY if numbered else _BEFORE_MONTH
    before, beside = (
        match.string[max(0, end - _MAX_BEFORE) : end].rstrip() for end in (match.start(), match.start("month"))
    )
    if follows.search(before) or follows.search(beside):
        return True
    return match["month"].istitle() and (bool(numbered) or (bool(before) and before[-1] not in '.!?:"“('))


def _counts_units(match: re.Match[str]) -> bool:
    """Whether the number at the end of a match has a unit: "march 20 miles"."""
    follows = _NEXT_WORD.match(match.string, match.end())
    if follows is None or not match[0][-1].isdigit():
        return False
    return word_unit(follows[1].lower()) is not None or symbol_unit(follows[1]) is not None


def _numeric(first: int, second: int, year: str) -> frozenset[Reading]:
    """Dates such as 03/05/2020, whose day may come first or second."""
    years = [int(year)] if len(year) == 4 else [1900 + int(year), 2000 + int(year)]
    orders = [(first, second), (second, first)]
    valid = [(month, day) for month, day in orders if 1 <= month <= 12 and 1 <= day <= 31]
    return frozenset((own, month, day) for own in years for month, day in valid or orders)


def _times(parts: dict[str, str | None]) -> frozenset[Reading]:
    """Minutes since midnight; without "am" or "pm" an hour up to 12 may be either."""
    if parts.get("named"):
        return frozenset({(_NAMED_TIMES[str(parts["named"]).lower()],)})
    hour, minute, half = int(str(parts["hour"])), int(parts.get("minute") or 0), parts.get("half")
    if half is not None:
        if hour > 12:
            return frozenset()
        return frozenset({((hour % 12 + 12 * (half.lower() == "p")) * 60 + minute,)})
    hours = {hour % 24, (hour + 12) % 24} if 0 < hour <= 12 else {hour % 24}
    return frozenset((own * 60 + minute,) for own in hours)
