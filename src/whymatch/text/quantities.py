"""Quantities in a text: numbers in digits or in words, with their units, read as exact values.

Separators follow English use. A comma before groups of exactly three digits, and a blank, separates thousands: "2,000" and
"2 000" are 2000; any other single comma is a decimal one: "2,5" is 2.5. A single point is a decimal point, so "2.000"
is 2; several points separate thousands if groups of three digits follow, and otherwise the parts of a version. Where both
occur, the last is the decimal one: "2.000,5" is 2000.5.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from whymatch.text.spans import Span
from whymatch.text.units import CURRENCY_SIGNS, Unit, symbol_unit, word_unit

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_ONES += ["seventeen", "eighteen", "nineteen"]
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_CARDINALS = {word: value for value, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}
_CARDINALS |= {"fourty": 40, "nought": 0}
_POWERS = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_SHORT_POWERS = {"k": 10**3, "mn": 10**6, "mln": 10**6, "bn": 10**9, "tn": 10**12}
_IRREGULAR_ORDINALS = {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
_ORDINALS = {word + "th": value for word, value in _CARDINALS.items() if value} | {
    word[:-1] + "ieth": value for word, value in _CARDINALS.items() if word.endswith("y")
}
_ORDINALS |= {word + "th": value for word, value in _POWERS.items()} | _IRREGULAR_ORDINALS
_FRACTIONS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4, "third": 3, "fourth": 4}
_FRACTIONS |= {word + "s": value for word, value in _ORDINALS.items() if 3 <= value <= 10}
_SIGNS = {"¼": Fraction(1, 4), "½": Fraction(1, 2), "¾": Fraction(3, 4), "⅓": Fraction(1, 3), "⅔": Fraction(2, 3)}
_TIMES = {"once": 1, "twice": 2, "thrice": 3}
_RECURRING = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year"}
_ARTICLES = ("a", "an", "per", "each", "every")

_ABOUT = "about around approximately approx roughly nearly almost some circa ca close_to ~ ≈".split()
_OVER = "over above exceeding exceeds exceeded more_than greater_than at_least upwards_of > ≥".split()
_UNDER = "under below less_than fewer_than at_most up_to as_many_as as_much_as < ≤".split()
_HEDGES = {tuple(words.split("_")): hedge for hedge in ("about", "over", "under") for words in
           {"about": _ABOUT, "over": _OVER, "under": _UNDER}[hedge]}  # fmt: skip

_TOKEN = re.compile(
    r"(?P<currency>(?i:rmb|usd|eur|gbp|cny|jpy|inr|chf|cad|aud|hkd)(?=\d))"
    r"|(?P<identifier>[^\W\d_]+[-‐]?\d[\w-]*)"
    r"|(?P<numeral>\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?(?!\w)|\d+(?:[.,]\d+)*|(?<![\w.])\.\d+)"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
    r"|(?P<sign>\S)"
)
_PRONOUNS_BEFORE_ONE = frozenset("no any some every the this that each which another other".split())
_YEARS_FOLLOW = frozenset("in since until till by from of before after during around circa year summer winter spring".split())


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
        """Whether it is the other one with fewer decimals, and three digits or more: "28.7 billion" for "28.71 billion"."""
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


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower()


def parse_numeral(text: str) -> list[Fraction]:
    """The numbers that digits with separators stand for: one, or several where they are a list such as "1,2,4".

    >>> [parse_numeral(text) for text in ("2,000", "2 000", "2.000,5", "2,5", "1,2,4")]
    [[Fraction(2000, 1)], [Fraction(2000, 1)], [Fraction(4001, 2)], [Fraction(5, 2)], [Fraction(1, 1), Fraction(2, 1), Fraction(4, 1)]]
    """
    text = re.sub(r"[^\d.,]", "", text)
    points, commas = text.count("."), text.count(",")
    grouped = re.fullmatch(r"[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*", text)
    if points and commas:
        last = max(text.rfind("."), text.rfind(","))
        if text.count(text[last]) == 1:
            return [Fraction(re.sub(r"[.,]", "", text[:last]) + "." + text[last + 1 :])]
        return [Fraction(part) for part in re.split(r"[.,]", text)]
    if grouped and (commas or points > 1):
        return [Fraction(re.sub(r"[.,]", "", text))]
    if points > 1:  # a version: its parts are as digits of a very large base
        return [sum((Fraction(part) / 10 ** (6 * n) for n, part in enumerate(text.split("."))), Fraction(0))]
    if commas > 1:
        return [Fraction(part) for part in text.split(",")]
    return [Fraction(text.replace(",", "."))]


def quantities(text: str, without: Iterable[Span] = ()) -> list[Quantity]:
    """The quantities of a text in order; nothing is read inside the spans `without`, such as dates.

    >>> [(text[start:end], str(value)) for text in ["Take twenty-four (24) pills of 1,000 mg."]
    ...     for (start, end), value in [(one.span, one.value) for one in quantities(text)]]
    [('twenty-four', '24'), ('24', '24'), ('1,000 mg', '1000')]
    """
    for start, end in without:
        text = text[:start] + "\0" * (end - start) + text[end:]
    reader = _Reader(text)
    found = [quantity for quantity in reader.read() if not _enumerates(text, quantity.span)]
    return _with_shared_units(text, found)


def _enumerates(text: str, span: Span) -> bool:
    """Whether a number counts the item of a list: it begins a line, and a point or bracket follows it."""
    before, after = text[: span.start], text[span.end :]
    return bool(re.search(r"(?:^|\n)\s*\(?$", before) and re.match(r"(?:\.|\))\s+\D", after))


def _with_shared_units(text: str, found: list[Quantity]) -> list[Quantity]:
    """Numbers that share the unit of the next one have it too: "5 to 10 mg", "twenty-four (24) months"."""
    result = list[Quantity]()
    for quantity in reversed(found):
        if result and quantity.unit is None and (unit := result[-1].unit) and not quantity.year:
            between = text[quantity.span.end : result[-1].span.start].strip().lower()
            if between in ("-", "–", "—", "to", "or", "and") or (between == "(" and quantity.value == result[-1].value):
                if unit.shared:
                    quantity = replace(quantity, unit=unit)
        result.append(quantity)
    return result[::-1]


class _Reader:
    """Reads the quantities of one text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            _Token(str(match.lastgroup), match[0], *match.span()) for match in _TOKEN.finditer(text) if match[0] != "\0"
        ]

    def at(self, place: int) -> _Token:
        """The token at a place, an empty one outside the text."""
        inside = 0 <= place < len(self.tokens)
        return self.tokens[place] if inside else _Token("", "", len(self.text), len(self.text))

    def read(self) -> list[Quantity]:
        result, place = list[Quantity](), 0
        while place < len(self.tokens):
            found, after = self._quantity(place)
            result += found
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
        read = self._ordinal(place) or self._number(place)
        if read is None:
            return self._one_unit(place)
        value, after, unit = read
        return self._measured(place, value, after, unit)

    def _measured(self, place: int, value: Fraction, after: int, unit: Unit | None) -> tuple[list[Quantity], int]:
        """A number with the unit around it, its sign and hedge."""
        start, first = self.at(place).start, place
        currency = unit is None and self._currency_before(place)
        if currency:
            unit, first = currency
            start = self.at(first).start
        if self.at(after).lower in ("m", "b") and currency and self._touch(after - 1, after):
            value *= 10**6 if self.at(after).lower == "m" else 10**9
            after += 1
        if unit is None:
            unit, after = self._unit(after)
        if unit is None and self.at(place - 1).text == "(" and self.at(after).text == ")":
            unit = self._unit(after + 1)[0]  # "twenty-four (24) months"
        minus = self.at(first - 1)
        if minus.text in ("-", "−", "–") and minus.end == start and not self.text[: minus.start][-1:].strip(" ("):
            if self.at(place).kind == "numeral" and self.at(first - 2).kind != "numeral":
                value, start = -value, minus.start
        if minus.lower == "minus":
            value, start = -value, minus.start
        vague = self.at(place).lower == "one" and after == place + 1
        if vague and (self.at(place - 1).lower in _PRONOUNS_BEFORE_ONE or self.at(after).lower in ("another", "self")):
            return [], after
        year = unit is None and bool(re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", self.at(place).text))
        year = year and (self.at(place - 1).lower in _YEARS_FOLLOW or self.at(place - 1).text in (",", "("))
        if unit == word_unit("decade of") and value < 100:
            value += 1900
        span = Span(start, self.at(after - 1).end)
        return [Quantity(span, value, unit, self._hedge(first), self._step(place, value), vague, year)], after

    def _step(self, place: int, value: Fraction) -> Fraction:
        """What the last decimal of the numeral at a place is worth; 0 if it has none."""
        numeral = re.fullmatch(r"[\d, ]*\.(\d+)", self.at(place).text)
        own = parse_numeral(self.at(place).text)[0] if numeral else Fraction(0)
        return abs(value) / own / 10 ** len(numeral[1]) if numeral and own else Fraction(0)

    def _number(self, place: int) -> tuple[Fraction, int, Unit | None] | None:
        """A cardinal number or a fraction in digits or words: its value and the place after it."""
        token = self.at(place)
        if token.text in _SIGNS:
            return _SIGNS[token.text], place + 1, None
        if token.lower in ("a", "an") and (self.at(place + 1).lower in _POWERS):
            return self._powers(Fraction(1), place + 1)
        if token.lower in ("half", "quarter") or (token.lower in ("a", "one") and self.at(place + 1).lower in _FRACTIONS):
            return self._fraction(place)
        if token.kind == "numeral":
            return self._powers(*self._digits(place))
        if token.lower in _CARDINALS:
            return self._words(place)
        return None

    def _digits(self, place: int) -> tuple[Fraction, int]:
        """A numeral, with the fraction that follows it: "3/4", "1 1/2", "2½"."""
        value = parse_numeral(self.at(place).text)[0]
        if self.at(place + 1).text in _SIGNS:
            return value + _SIGNS[self.at(place + 1).text], place + 2
        slash, below = self.at(place + 1), self.at(place + 2)
        if slash.text in ("/", "⁄") and below.kind == "numeral" and self._touch(place, place + 2):
            divisor = parse_numeral(below.text)[0]
            if divisor and value.denominator == divisor.denominator == 1 and divisor <= 100 and value <= 100:
                return value / divisor, place + 3
        if self.at(place + 1).kind == "numeral" and self.at(place + 2).text == "/" and value.denominator == 1:
            part, after = self._digits(place + 1)
            if part < 1 and after == place + 4 and self.text[slash.start - 1] == " ":
                return value + part, after
        return value, place + 1

    def _words(self, place: int) -> tuple[Fraction, int, Unit | None] | None:
        """A number in words, such as "two hundred and five thousand", or "two thirds"."""
        total, current, lowest, after = 0, 0, 100, place
        while True:
            step = after + (after > place and self.at(after).text in ("-", "‐", "–") and self._touch(after - 1, after + 1))
            if after > place and self.at(after).lower == "and" and lowest == 100 and current % 100 == 0:
                step = after + 1 if self.at(after + 1).lower in _CARDINALS else step
            word = self.at(step).lower
            if word in _CARDINALS and _CARDINALS[word] < lowest and (after == place or _CARDINALS[word]):
                current += _CARDINALS[word]
                lowest = 10 if word in _TENS else 0
            elif word == "hundred" and 0 < current < 100 and after > place:
                current, lowest = current * 100, 100
            elif (power := _POWERS.get(word.removesuffix("s") if current else "", 0)) >= 1000 and current:
                total, current, lowest = total + current * power, 0, 100
            else:
                break
            after = step + 1
        value = Fraction(total + current)
        if (ordinal := self._after_hyphen(after)) is not None and lowest == 10:
            return None if ordinal else (value, after, None)
        parts = self.at(after + (self.at(after).text == "-")).lower
        if parts in _FRACTIONS and 0 < value < 20 and (parts.endswith("s") or value == 1):
            return value / _FRACTIONS[parts], after + 1 + (self.at(after).text == "-"), None
        point = self.at(after).lower == "point" and _CARDINALS.get(self.at(after + 1).lower, 10)
        if point and point < 10:
            value, after = value + Fraction(point, 10), after + 2
        return self._powers(value, after)

    def _after_hyphen(self, place: int) -> bool | None:
        """Whether an ordinal below ten follows, as after "twenty-"; None if not."""
        return True if _ORDINALS.get(self.at(place + (self.at(place).text == "-")).lower, 10) < 10 else None

    def _powers(self, value: Fraction, after: int) -> tuple[Fraction, int, Unit | None]:
        """A number times the powers of ten that follow it, and a half: "2.5 million", "5k", "two and a half"."""
        if [self.at(after + n).lower for n in range(3)] == ["and", "a", "half"]:
            value, after = value + Fraction(1, 2), after + 3
        elif [self.at(after + n).lower for n in range(6)] == ["-", "and", "-", "a", "-", "half"]:
            value, after = value + Fraction(1, 2), after + 6
        while True:
            word = self.at(after).lower
            hyphen = word == "-" and self.at(after + 1).lower in _POWERS
            word = self.at(after + hyphen).lower
            if (power := _POWERS.get(word, _POWERS.get(word.removesuffix("s"), 0))) and word != "hundreds":
                value, after = value * power, after + 1 + hyphen
            elif word in _SHORT_POWERS and self.at(after - 1).kind == "numeral" and self.at(after).text != "K":
                value, after = value * _SHORT_POWERS[word], after + 1
            else:
                return value, after, None

    def _fraction(self, place: int) -> tuple[Fraction, int, Unit | None] | None:
        """ "half", "half a million", "a third of", "one quarter"; not "a third man"."""
        after = place + (self.at(place).lower in ("a", "one"))
        value = Fraction(1, _FRACTIONS[self.at(after).lower])
        word = self.at(after).lower
        if word not in ("half",) and not (self.at(after + 1).lower == "of" or self.at(place).lower == "one"):
            return None
        after += 1
        if self.at(after).lower in ("a", "an") and self.at(after + 1).lower in _POWERS:
            after += 1
        elif self.at(after).lower in ("a", "an") and word_unit(self.at(after + 1).lower):
            unit, end = self._unit(after + 1)
            return value, end, unit
        return self._powers(value, after)

    def _ordinal(self, place: int) -> tuple[Fraction, int, Unit | None] | None:
        """An ordinal number in digits or words: "3rd", "third", "twenty-first"."""
        token, unit = self.at(place), word_unit("ordinal")
        if token.kind == "numeral" and self.at(place + 1).lower in ("st", "nd", "rd", "th") and self._touch(place, place + 1):
            return parse_numeral(token.text)[0], place + 2, unit
        if token.lower in _TENS and self._after_hyphen(place + 1):
            after = place + 1 + (self.at(place + 1).text == "-")
            return Fraction(_CARDINALS[token.lower] + _ORDINALS[self.at(after).lower]), after + 1, unit
        if token.lower in _ORDINALS and not (self.at(place - 1).lower in ("a", "one") and self.at(place + 1).lower == "of"):
            return Fraction(_ORDINALS[token.lower]), place + 1, unit
        return None

    def _one_unit(self, place: int) -> tuple[list[Quantity], int]:
        """The quantity of "a week" or "per day", which may well be no number."""
        token, unit = self.at(place), word_unit(self.at(place + 1).lower)
        follows = self.at(place + 1)
        if (token.lower in _ARTICLES or token.text == "/") and unit and unit.dimension == "time" and len(follows.text) > 2:
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
            national = self.at(place - 2).text in ("US", "C", "A", "AU", "CA", "HK") and self._touch(place - 2, place - 1)
            unit = symbol_unit(self.at(place - 2).text + sign.text) if national else symbol_unit(sign.text)
            return (unit, place - 1 - national) if unit else None
        coded = sign.kind == "currency" or (sign.kind == "word" and sign.text.isupper() and len(sign.text) == 3)
        code = symbol_unit(sign.text.upper()) if coded else None
        return (code, place - 1) if code else None

    def _unit(self, place: int) -> tuple[Unit | None, int]:
        """The unit at a place, and the place after it; the place itself if there is none."""
        first = place + (self.at(place).text in ("-", "‐") and self._touch(place - 1, place + 1))
        words = [self.at(first + n).lower for n in range(3)]
        if words[0] == "s" and self._touch(first - 1, first) and self.at(first - 1).kind == "numeral":
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

    def _touch(self, first: int, last: int) -> bool:
        """Whether no blank stands between the tokens from first to last."""
        return all(self.at(place).end == self.at(place + 1).start for place in range(first, last))

