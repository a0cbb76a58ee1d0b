"""Finds the quantities of a text: numbers with their units, hedges and signs."""

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from whymatch.text.measures import Quantity, total
from whymatch.text.numerals import CARDINALS, ORDINALS, SIGNS, NumberReader, parse_numeral
from whymatch.text.spans import Span, without
from whymatch.text.units import CURRENCY_SIGNS, Unit, symbol_unit, word_unit

_TIMES = {"once": 1, "twice": 2, "thrice": 3}
_RECURRING = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annually": "year",
}
_ARTICLES = ("a", "an", "per", "each", "every")

_BEGINNINGS = frozenset({*CARDINALS, *ORDINALS, *_TIMES, *_RECURRING, *_ARTICLES, *SIGNS, "half", "quarter", "/"})

_HEDGE_WORDS = {
    "about": "about around approximately approx roughly nearly almost some circa ca close_to ~ ≈",
    "over": "over above exceeding exceeds exceeded more_than greater_than at_least upwards_of > ≥",
    "under": "under below less_than fewer_than at_most up_to as_many_as as_much_as < ≤",
}
_HEDGES = {tuple(one.split("_")): hedge for hedge, words in _HEDGE_WORDS.items() for one in words.split()}
_OPPOSITE_HEDGES = {"over": "under", "under": "over"}
_ITEM_ENDS = re.compile(r"[.)]\s+\D")
_PRONOUNS_BEFORE_ONE = frozenset(str.split("no any some every the this that each which another other"))
_YEARS_FOLLOW = frozenset(
    str.split("in since until till by from of before after during around circa year summer winter spring")
)


def quantities(text: str, but: Sequence[Span] = ()) -> list[Quantity]:
    """The quantities of a text in order; nothing is read inside the spans `but`, such as dates, which are in order.

    >>> [(text[start:end], str(value)) for text in ["Take twenty-four (24) pills of 1,000 mg."]
    ...     for (start, end), value in [(one.span, one.value) for one in quantities(text)]]
    [('twenty-four', '24'), ('24', '24'), ('1,000 mg', '1000')]
    """
    text = without(text, but)
    numbers = [quantity for quantity in _Reader(text).read() if not _enumerates(text, quantity.span)]
    return _compounded(text, _with_shared_units(text, numbers))


def _enumerates(text: str, span: Span) -> bool:
    """Whether a number counts the item of a list: it begins a line, and a point or bracket follows it."""
    if not _ITEM_ENDS.match(text, span.end):
        return False
    end = span.start - text.startswith("(", span.start - 1) if span.start else 0
    start = end
    while start and text[start - 1].isspace():
        start -= 1
    return not start or "\n" in text[start:end]


def _with_shared_units(text: str, quantities: list[Quantity]) -> list[Quantity]:
    """Numbers that share the unit of the next one have it too: "5 to 10 mg", "twenty-four (24) months"."""
    result = list[Quantity]()
    for quantity in reversed(quantities):
        following = result[-1] if result else None
        if following and following.unit and following.unit.shared and quantity.unit is None and not quantity.year:
            between = text[quantity.span.end : following.span.start].strip().lower()
            joined = between in ("-", "–", "—", "to", "or", "and")
            if joined or (between == "(" and quantity.value == following.value):
                result.append(replace(quantity, unit=following.unit))
                continue
        result.append(quantity)
    return result[::-1]


def _compounded(text: str, quantities: list[Quantity]) -> list[Quantity]:
    """Quantities in several units as one: "5 feet 6 inches", "2 hours and 15 minutes", "an hour and a half"."""
    result = list[Quantity]()
    for quantity in quantities:
        last = result[-1] if result else None
        after = text[last.span.end : quantity.span.start] if last else ""
        if text[slice(*quantity.span)].lower() == "a half":
            after += "a half"
        between = after.replace(",", " ").lower().split()
        counts = last and (not last.vague or (between[:1] == ["and"] and _has_article(text, last, result[:-1])))
        whole = total(last, quantity, between) if last and counts else None
        result[-1:] = [whole] if whole else [*result[-1:], quantity]
    return result


def _has_article(text: str, quantity: Quantity, before: Sequence[Quantity]) -> bool:
    """Whether a vague quantity follows an article that counts it: that of "an hour", not of "5 km an hour"."""
    start = before[-1].span.end if before else 0
    words = text[max(start, quantity.span.start - 10) : quantity.span.start].lower().split()
    return words[-1:] in (["a"], ["an"]) and (len(words) > 1 or not before)


class _Reader(NumberReader):
    """Reads the quantities of one text from left to right."""

    def read(self) -> list[Quantity]:
        result, place = list[Quantity](), 0
        while place < len(self.tokens):
            token, after = self.tokens[place], place + 1
            if token.kind in ("numeral", "identifier") or token.lower in _BEGINNINGS:
                quantities, after = self._quantity(place)
                result += quantities
            place = max(after, place + 1)
        return result

    def _quantity(self, place: int) -> tuple[list[Quantity], int]:
        """The quantities that begin at a place, several for a list of numbers, and the place after them."""
        token = self.at(place)
        if token.kind == "identifier":
            return self._identifier(place)
        if token.kind == "word" and token.lower in _TIMES:
            unit = word_unit("times")
            return [Quantity(Span(token.start, token.end), Fraction(_TIMES[token.lower]), unit)], place + 1
        if token.kind == "word" and token.lower in _RECURRING:
            unit = word_unit(_RECURRING[token.lower])
            return [Quantity(Span(token.start, token.end), Fraction(1), unit, vague=True)], place + 1
        if token.kind == "numeral" and len(values := parse_numeral(token.text)) > 1:
            return [Quantity(Span(token.start, token.end), value) for value in values], place + 1
        if ordinal := self.ordinal(place):
            return self._measured(place, *ordinal, word_unit("ordinal"))
        number = self.number(place)
        return self._one_unit(place) if number is None else self._measured(place, *number, None)

    def _measured(self, place: int, value: Fraction, after: int, unit: Unit | None) -> tuple[list[Quantity], int]:
        """A number with the unit around it, its sign and hedge."""
        first = place
        if unit is None and (currency := self._currency_before(place)):
            unit, first = currency
            if self.at(after).lower in ("m", "b") and self.touch(after - 1, after):
                value *= 10**6 if self.at(after).lower == "m" else 10**9
                after += 1
        if unit is None:
            half_a = self.at(after - 1).lower == "half" and self.at(after).lower in ("a", "an")
            unit, end = self._unit(after + half_a)
            after = end if unit else after
        if unit is None and self.at(place - 1).text == "(" and self.at(after).text == ")":
            unit = self._unit(after + 1)[0]  # "twenty-four (24) months"
        vague = self.at(place).lower == "one" and after == place + 1
        if vague and (self.at(place - 1).lower in _PRONOUNS_BEFORE_ONE or self.at(after).lower in ("another", "self")):
            return [], after
        if unit == word_unit("decade of") and value < 100:
            value += 1900
        (hedge, begin), step, negative = self._hedge(first), self._step(place, value), self._negative(place, first)
        span = Span(self.at(first - negative).start, self.at(after - 1).end)
        phrase = Span(self.at(begin).start, span.end) if hedge else None
        year = unit is None and self._looks_like_year(place)
        return [Quantity(span, -value if negative else value, unit, hedge, step, vague, year, phrase)], after

    def _negative(self, place: int, first: int) -> bool:
        """Whether a minus stands before the number at a place, whose currency begins at the place `first`."""
        sign = self.at(first - 1)
        before = self.text[max(0, sign.start - 1) : sign.start]
        touches = sign.text in ("-", "−", "–") and sign.end == self.at(first).start and not before.strip(" (\n\t")
        digits = self.at(place).kind == "numeral" and self.at(first - 2).kind != "numeral"
        return sign.lower == "minus" or (touches and digits)

    def _looks_like_year(self, place: int) -> bool:
        before = self.at(place - 1)
        year = re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", self.at(place).text)
        return bool(year) and (before.lower in _YEARS_FOLLOW or before.text in (",", "("))

    def _step(self, place: int, value: Fraction) -> Fraction:
        """What the last decimal of the numeral at a place is worth; 0 if it has none."""
        numeral = re.fullmatch(r"[\d, ]*\.(\d+)", self.at(place).text)
        own = parse_numeral(self.at(place).text)[0] if numeral else Fraction(0)
        return abs(value) / own / 10 ** len(numeral[1]) if numeral and own else Fraction(0)

    def _one_unit(self, place: int) -> tuple[list[Quantity], int]:
        """The quantity of "a week" or "per day", which may well be no number."""
        token, unit = self.at(place), word_unit(self.at(place + 1).lower)
        follows = self.at(place + 1)
        if (
            (token.lower in _ARTICLES or token.text == "/")
            and unit
            and unit.dimension == "time"
            and len(follows.text) > 2
        ):
            return [Quantity(Span(follows.start, follows.end), Fraction(1), unit, vague=True)], place + 2
        return [], place + 1

    def _identifier(self, place: int) -> tuple[list[Quantity], int]:
        """A number that is part of a name: "COVID-19", "F-16"; "mid-1990s" has a number of its own."""
        token = self.at(place)
        head, digits, tail = re.fullmatch(r"([^\W\d_]+)[-‐]?(\d+)([\w-]*)", token.text).groups()  # type: ignore[union-attr]
        if head.lower() in ("mid", "pre", "post", "early", "late", "ca", "c"):
            span = Span(token.start + token.text.index(digits), token.end)
            return [Quantity(span, Fraction(int(digits)), word_unit("decade of") if tail == "s" else None)], place + 1
        unit = Unit(f"{head.lower()}-{tail.lower()}", Fraction(1), shared=False)
        return [Quantity(Span(token.start, token.end), Fraction(int(digits)), unit)], place + 1

    def _currency_before(self, place: int) -> tuple[Unit, int] | None:
        """The currency before a number, and the place where it begins: "$5", "US$ 5", "EUR 5"."""
        sign = self.at(place - 1)
        if sign.text in CURRENCY_SIGNS:
            national = self.at(place - 2).text in ("US", "C", "A", "AU", "CA", "HK") and self.touch(
                place - 2, place - 1
            )
            unit = symbol_unit(self.at(place - 2).text + sign.text) if national else symbol_unit(sign.text)
            return (unit, place - 1 - national) if unit else None
        coded = sign.kind == "currency" or (sign.kind == "word" and sign.text.isupper() and len(sign.text) == 3)
        code = symbol_unit(sign.text.upper()) if coded else None
        return (code, place - 1) if code else None

    def _unit(self, place: int) -> tuple[Unit | None, int]:
        """The unit at a place, and the place after it; the place itself if there is none."""
        first = place + (self.at(place).text in ("-", "‐") and self.touch(place - 1, place + 1))
        words = [self.at(first + n).lower for n in range(3)]
        if words[0] == "s" and self.touch(first - 1, first) and self.at(first - 1).kind == "numeral":
            return (word_unit("decade of"), first + 1) if len(self.at(first - 1).text) in (2, 4) else (None, place)
        for length in (3, 2, 1):
            joined = (" " if words[0].isalpha() and length > 1 and words[1].isalpha() else "").join(words[:length])
            unit = word_unit(joined)
            if unit is None and self.at(first - 1).kind == "numeral":
                unit = symbol_unit("".join(self.at(first + n).text for n in range(length)))
            if unit:
                return unit, first + length
        if words[0] in ("us", "american") and (unit := word_unit(words[1])):
            return unit, first + 2
        return None, place

    def _hedge(self, place: int) -> tuple[str, int]:
        """What stands before the number at a place to say that it is not exact, and where that begins."""
        while self.at(place - 1).lower in ("the", "an", "a", "estimated"):
            place -= 1
        for length in (3, 2, 1):
            if hedge := _HEDGES.get(tuple(self.at(place - length + n).lower for n in range(length))):
                first = place - length
                negated = hedge in _OPPOSITE_HEDGES and self.at(first - 1).lower in ("no", "not")
                return (_OPPOSITE_HEDGES[hedge], first - 1) if negated else (hedge, first)
        return "", place
