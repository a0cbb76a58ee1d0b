"""Numbers in digits and in words, read as exact values.

Separators follow English use. A comma before groups of exactly three digits, and a blank, separates thousands: "2,000"
and "2 000" are 2000; any other single comma is a decimal one: "2,5" is 2.5. A single point is a decimal point, so
"2.000" is 2; several points separate thousands if groups of three digits follow, and otherwise the parts of a version.
Where both occur, the last is the decimal one: "2.000,5" is 2000.5. More than 100 characters are no number that people
compare, and are not read.
"""

import re
from fractions import Fraction
from typing import NamedTuple

_ONES = str.split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_ONES += ["seventeen", "eighteen", "nineteen"]
_TENS = str.split("twenty thirty forty fifty sixty seventy eighty ninety")
CARDINALS = {word: value for value, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}
CARDINALS |= {"fourty": 40, "nought": 0}
_POWERS = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_SHORT_POWERS = {"k": 10**3, "mn": 10**6, "mln": 10**6, "bn": 10**9, "tn": 10**12}
_IRREGULAR_ORDINALS = {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
ORDINALS = {word + "th": value for word, value in CARDINALS.items() if value} | {
    word[:-1] + "ieth": value for word, value in CARDINALS.items() if word.endswith("y")
}
ORDINALS |= {word + "th": value for word, value in _POWERS.items()} | _IRREGULAR_ORDINALS
_FRACTIONS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4, "third": 3, "fourth": 4}
_FRACTIONS |= {word + "s": value for word, value in ORDINALS.items() if 3 <= value <= 10}
SIGNS = {"¼": Fraction(1, 4), "½": Fraction(1, 2), "¾": Fraction(3, 4), "⅓": Fraction(1, 3), "⅔": Fraction(2, 3)}
NUMBER_WORDS = frozenset({*CARDINALS, *ORDINALS, *_POWERS})

_MAX_LENGTH = 100  # of a numeral
_MAX_VALUE = 10**30  # that is still multiplied by a word such as "million"
_TOKEN = re.compile(
    r"(?P<currency>(?i:rmb|usd|eur|gbp|cny|jpy|inr|chf|cad|aud|hkd)(?=\d))"
    r"|(?P<identifier>[^\W\d_]+[-‐]?\d[\w-]*)"
    r"|(?P<numeral>\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?(?!\w)|\d+(?:[.,]\d+)*|(?<![\w.])\.\d+)"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
    r"|(?P<sign>\S)"
)


class Token(NamedTuple):
    kind: str
    text: str
    lower: str
    start: int
    end: int


def _kind(match: re.Match[str]) -> str:
    """The kind of a token; numerals and identifiers that are too long are signs."""
    kind, (start, end) = str(match.lastgroup), match.span()
    return "sign" if kind in ("numeral", "identifier") and end - start > _MAX_LENGTH else kind


def parse_numeral(text: str) -> list[Fraction]:
    """The numbers that digits with separators stand for: one, or several where they are a list such as "1,2,4".

    >>> [str(*parse_numeral(text)) for text in ("2,000", "2 000", "2.000,5", "2,5", "2.5")]
    ['2000', '2000', '4001/2', '5/2', '5/2']
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


class NumberReader:
    """The tokens of a text, and the numbers that begin at each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.outside = Token("", "", "", len(text), len(text))
        self.tokens = [
            Token(_kind(match), match[0], match[0].lower(), *match.span())
            for match in _TOKEN.finditer(text)
            if match[0] != "\0"
        ]

    def at(self, place: int) -> Token:
        """The token at a place, an empty one outside the text."""
        inside = 0 <= place < len(self.tokens)
        return self.tokens[place] if inside else self.outside

    def number(self, place: int) -> tuple[Fraction, int] | None:
        """A cardinal number or a fraction in digits or words: its value and the place after it."""
        token = self.at(place)
        if token.text in SIGNS:
            return SIGNS[token.text], place + 1
        if token.lower in ("a", "an") and (self.at(place + 1).lower in _POWERS):
            return self._powers(Fraction(1), place + 1)
        if token.lower in ("half", "quarter") or (
            token.lower in ("a", "one") and self.at(place + 1).lower in _FRACTIONS
        ):
            return self._fraction(place)
        if token.kind == "numeral":
            return self._powers(*self._digits(place))
        if token.lower in CARDINALS:
            return self._words(place)
        return None

    def _digits(self, place: int) -> tuple[Fraction, int]:
        """A numeral, with the fraction that follows it: "3/4", "1 1/2", "2½"."""
        value = parse_numeral(self.at(place).text)[0]
        if self.at(place + 1).text in SIGNS:
            return value + SIGNS[self.at(place + 1).text], place + 2
        slash, below = self.at(place + 1), self.at(place + 2)
        if slash.text in ("/", "⁄") and below.kind == "numeral" and self.touch(place, place + 2):
            divisor = parse_numeral(below.text)[0]
            if divisor and value.denominator == divisor.denominator == 1 and divisor <= 100 and value <= 100:
                return value / divisor, place + 3
        if self.at(place + 1).kind == "numeral" and self.at(place + 2).text == "/" and value.denominator == 1:
            part, after = self._digits(place + 1)
            if part < 1 and after == place + 4 and self.text[slash.start - 1] == " ":
                return value + part, after
        return value, place + 1

    def _words(self, place: int) -> tuple[Fraction, int] | None:
        """A number in words, such as "two hundred and five thousand", or "two thirds"."""
        total, current, lowest, after = 0, 0, 100, place
        while True:
            hyphen = after > place and self.at(after).text in ("-", "‐", "–") and self.touch(after - 1, after + 1)
            step = after + hyphen
            if after > place and self.at(after).lower == "and" and lowest == 100 and current % 100 == 0:
                step = after + 1 if self.at(after + 1).lower in CARDINALS else step
            word = self.at(step).lower
            if word in _TENS and self._ordinal_follows(step + 1):
                break
            if word in CARDINALS and CARDINALS[word] < lowest and (after == place or CARDINALS[word]):
                current += CARDINALS[word]
                lowest = 10 if word in _TENS else 0
            elif word == "hundred" and 0 < current < 100 and after > place:
                current, lowest = current * 100, 100
            elif (power := _POWERS.get(word.removesuffix("s") if current else "", 0)) >= 1000 and total < _MAX_VALUE:
                total, current, lowest = total + current * power, 0, 100
            else:
                break
            after = step + 1
        if after == place:
            return None
        value = Fraction(total + current)
        parts = self.at(after + (self.at(after).text == "-")).lower
        if parts in _FRACTIONS and 0 < value < 20 and (parts.endswith("s") or value == 1):
            return value / _FRACTIONS[parts], after + 1 + (self.at(after).text == "-")
        point = self.at(after).lower == "point" and CARDINALS.get(self.at(after + 1).lower, 10)
        if point and point < 10:
            value, after = value + Fraction(point, 10), after + 2
        return self._powers(value, after)

    def _ordinal_follows(self, place: int) -> bool:
        """Whether an ordinal below ten follows, with a hyphen or without, as after "twenty"."""
        return ORDINALS.get(self.at(place + (self.at(place).text == "-")).lower, 10) < 10

    def _powers(self, value: Fraction, after: int) -> tuple[Fraction, int]:
        """A number times the powers of ten that follow it, and a half: "2.5 million", "5k", "two and a half"."""
        if [self.at(after + n).lower for n in range(3)] == ["and", "a", "half"]:
            value, after = value + Fraction(1, 2), after + 3
        elif [self.at(after + n).lower for n in range(6)] == ["-", "and", "-", "a", "-", "half"]:
            value, after = value + Fraction(1, 2), after + 6
        while True:
            word = self.at(after).lower
            hyphen = word == "-" and self.at(after + 1).lower in _POWERS
            word = self.at(after + hyphen).lower
            power = _POWERS.get(word, _POWERS.get(word.removesuffix("s"), 0)) if value < _MAX_VALUE else 0
            if power and word != "hundreds":
                value, after = value * power, after + 1 + hyphen
            elif word in _SHORT_POWERS and self.at(after - 1).kind == "numeral" and self.at(after).text != "K":
                value, after = value * _SHORT_POWERS[word], after + 1
            else:
                return value, after

    def _fraction(self, place: int) -> tuple[Fraction, int] | None:
        """ "half", "half a million", "a third of", "one quarter"; not "a third man"."""
        after = place + (self.at(place).lower in ("a", "one"))
        value = Fraction(1, _FRACTIONS[self.at(after).lower])
        if self.at(after).lower != "half" and not (self.at(after + 1).lower == "of" or self.at(place).lower == "one"):
            return None
        after += 1
        if self.at(after).lower in ("a", "an") and self.at(after + 1).lower in _POWERS:
            after += 1
        return self._powers(value, after)

    def ordinal(self, place: int) -> tuple[Fraction, int] | None:
        """An ordinal number in digits or words: "3rd", "third", "twenty-first"."""
        token, ending = self.at(place), self.at(place + 1)
        if token.kind == "numeral" and ending.lower in ("st", "nd", "rd", "th") and self.touch(place, place + 1):
            return parse_numeral(token.text)[0], place + 2
        if token.lower in _TENS and self._ordinal_follows(place + 1):
            after = place + 1 + (self.at(place + 1).text == "-")
            return Fraction(CARDINALS[token.lower] + ORDINALS[self.at(after).lower]), after + 1
        if token.lower in ORDINALS and not (
            self.at(place - 1).lower in ("a", "one") and self.at(place + 1).lower == "of"
        ):
            return Fraction(ORDINALS[token.lower]), place + 1
        return None

    def touch(self, first: int, last: int) -> bool:
        """Whether no blank stands between the tokens from first to last."""
        return all(self.at(place).end == self.at(place + 1).start for place in range(first, last))
