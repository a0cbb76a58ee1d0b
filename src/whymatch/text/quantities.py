"""Quantities in a text: numbers with their units, compared as values."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from whymatch.text.numerals import CARDINALS, ORDINALS, SIGNS, NumberReader, parse_numeral
from whymatch.text.spans import Span
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
_PRONOUNS_BEFORE_ONE = frozenset(str.split("no any some every the this that each which another other"))
_YEARS_FOLLOW = frozenset(
    str.split("in since until till by from of before after during around circa year summer winter spring")
)


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, as it stands in a text.

    Args:
        span: the number with its unit.
        value: the number alone.
        unit: None for a plain number.
        hedge: "about", "over" or "under" where the text says that the number is not exact.
        step: what its last digit is worth where it has decimals, otherwise 0.
        vague: whether it may be no number at all, as "one" and the article in "a week".
        year: whether it looks like a year.
    """

    span: Span
    value: Fraction
    unit: Unit | None = None
    hedge: str = ""
    step: Fraction = Fraction(0)
    vague: bool = False
    year: bool = False

    def agrees(self, other: "Quantity") -> bool:
        """Whether both can be the same quantity: a unit may be missing, and a hedged number may be near."""
        pairs, tolerance = [(self.value, other.value)], 0.0
        if self._rounds(other) or other._rounds(self):
            return True
        if self.unit and other.unit:
            if self.unit.dimension != other.unit.dimension:
                return self._share() is not None and self._share() == other._share()
            pairs = [(self.unit.base(self.value), other.unit.base(other.value))]
            tolerance = self.unit.tolerance(other.unit)
        elif self.unit or other.unit:
            pairs += [(a, b) for a, b in [(self._share(), other._share())] if a is not None and b is not None]
        return any(_near(a, b, self.hedge, other.hedge, tolerance) for a, b in pairs)

    def _rounds(self, other: "Quantity") -> bool:
        """Whether it is the other one with fewer decimals but three digits or more: "28.7 billion" and "28.71"."""
        if self.unit != other.unit or not other.step or abs(self.value) < 100 * (self.step or 1):
            return False
        return other.step < (self.step or 1) and abs(self.value - other.value) < (self.step or 1)

    def _share(self) -> Fraction | None:
        """A percentage or a plain number as a share of the whole."""
        if self.unit is None:
            return self.value
        return self.value / 100 if self.unit.dimension == "percent" else None


def _near(a: Fraction, b: Fraction, hedge_a: str, hedge_b: str, tolerance: float) -> bool:
    if a == b or (tolerance and abs(a - b) <= tolerance * max(abs(a), abs(b))):
        return True
    hedges = {hedge_a, hedge_b}
    if len(hedges) == 1 and not tolerance:
        return False
    if "about" in hedges:
        return abs(a - b) <= max(abs(a), abs(b)) * Fraction(1, 10)
    if len(hedges) == 1 or hedges == {"over", "under"}:
        return False
    (low, high) = (a, b) if hedge_a == "over" or hedge_b == "under" else (b, a)
    return low <= high <= low * Fraction(3, 2)


def quantities(text: str, without: Iterable[Span] = ()) -> list[Quantity]:
    """The quantities of a text in order; nothing is read inside the spans `without`, such as dates.

    >>> [(text[start:end], str(value)) for text in ["Take twenty-four (24) pills of 1,000 mg."]
    ...     for (start, end), value in [(one.span, one.value) for one in quantities(text)]]
    [('twenty-four', '24'), ('24', '24'), ('1,000 mg', '1000')]
    """
    for start, end in without:
        text = text[:start] + "\0" * (end - start) + text[end:]
    reader = _Reader(text)
    numbers = [quantity for quantity in reader.read() if not _enumerates(text, quantity.span)]
    return _with_shared_units(text, numbers)


def _enumerates(text: str, span: Span) -> bool:
    """Whether a number counts the item of a list: it begins a line, and a point or bracket follows it."""
    before, after = text[: span.start], text[span.end :]
    return bool(re.search(r"(?:^|\n)\s*\(?$", before) and re.match(r"(?:\.|\))\s+\D", after))


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
        hedge, step, negative = self._hedge(first), self._step(place, value), self._negative(place, first)
        span = Span(self.at(first - negative).start, self.at(after - 1).end)
        year = unit is None and self._looks_like_year(place)
        return [Quantity(span, -value if negative else value, unit, hedge, step, vague, year)], after

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
        unit: Unit | None = Unit(f"{head.lower()}-{tail.lower()}", Fraction(1), shared=False)
        if head.lower() in ("mid", "pre", "post", "early", "late", "ca", "c"):
            unit = word_unit("decade of") if tail == "s" else None
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

    def _hedge(self, place: int) -> str:
        """What stands before a number to say that it is not exact."""
        while self.at(place - 1).lower in ("the", "an", "a", "estimated"):
            place -= 1
        for length in (3, 2, 1):
            if hedge := _HEDGES.get(tuple(self.at(place - length + n).lower for n in range(length))):
                negated = self.at(place - length - 1).lower in ("no", "not")
                return {"over": "under", "under": "over"}.get(hedge, hedge) if negated else hedge
        return ""
