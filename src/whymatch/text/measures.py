"""What a quantity is: a number with its unit, and how two of them compare and add."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from whymatch.text.spans import Span
from whymatch.text.units import Unit


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
        phrase: the number with its unit and its hedge, "no more than 5 mg"; None where it has no hedge.
    """

    span: Span
    value: Fraction
    unit: Unit | None = None
    hedge: str = ""
    step: Fraction = Fraction(0)
    vague: bool = False
    year: bool = False
    phrase: Span | None = None

    def agrees(self, other: "Quantity") -> bool:
        """Whether both can be the same quantity: a unit may be missing, and a hedged number may be near.

        A unit with several meanings may have any of them, but the same in both quantities if both have that unit.
        """
        return any(one._agrees(two) for one, two in meanings(self, other))

    def same_dimension(self, other: "Quantity") -> bool:
        """Whether both can be measures of one thing, or both are plain numbers."""
        pairs = meanings(self, other)
        return any((a.unit and a.unit.dimension) == (b.unit and b.unit.dimension) for a, b in pairs)

    def _agrees(self, other: "Quantity") -> bool:
        pairs, tolerance = [(self.value, other.value)], 0.0
        if {self.hedge, other.hedge} == {"over", "under"}:
            return False
        if self._rounds(other) or other._rounds(self):
            return True
        if self.unit and other.unit:
            if self.unit.dimension != other.unit.dimension:
                return False
            pairs = [(self.unit.base(self.value), other.unit.base(other.value))]
            tolerance = self.unit.tolerance(other.unit)
        elif self.unit or other.unit:
            percent, plain = (self, other) if self.unit else (other, self)
            if percent.unit and percent.unit.dimension == "percent":
                if percent._rounds_share(plain):
                    return True
                pairs.append((self._share(), other._share()))
        return any(_near(a, b, self.hedge, other.hedge, tolerance) for a, b in pairs)

    def _rounds(self, other: "Quantity") -> bool:
        """Whether it is the other one with fewer decimals but three digits or more: "28.7 billion" and "28.71"."""
        if self.unit != other.unit or not other.step or abs(self.value) < 100 * (self.step or 1):
            return False
        return other.step < (self.step or 1) and abs(self.value - other.value) < (self.step or 1)

    def _rounds_share(self, plain: "Quantity") -> bool:
        """Whether a percentage is a share of the whole, such as two thirds, to the last digit of either."""
        steps = (self.step or 1) / 100, plain.step
        return 0 < plain.value < 1 and abs(self._share() - plain.value) <= Fraction(max(steps)) / 2

    def _share(self) -> Fraction:
        """A percentage or a plain number as a share of the whole."""
        return self.value if self.unit is None else self.value / 100


def meanings(one: Quantity, other: Quantity) -> Iterator[tuple[Quantity, Quantity]]:
    """Two quantities with every meaning of their units."""
    own, others = ([*quantity.unit.readings] if quantity.unit else [None] for quantity in (one, other))
    pairs = zip(own, others, strict=True) if one.unit == other.unit else product(own, others)
    return ((replace(one, unit=a), replace(other, unit=b)) for a, b in pairs)


def _near(a: Fraction, b: Fraction, hedge_a: str, hedge_b: str, tolerance: float) -> bool:
    if a == b or (tolerance and abs(a - b) <= tolerance * max(abs(a), abs(b))):
        return True
    hedges = {hedge_a, hedge_b}
    if len(hedges) == 1 and not tolerance:
        return False
    if "about" in hedges:
        return abs(a - b) <= max(abs(a), abs(b)) * Fraction(1, 10)
    if len(hedges) == 1:
        return False
    (low, high) = (a, b) if hedge_a == "over" or hedge_b == "under" else (b, a)
    return low <= high <= low * Fraction(3, 2)


def total(one: Quantity, other: Quantity, between: list[str]) -> Quantity | None:
    """The sum of two quantities where the second counts parts of the first's unit.

    `between` has the words between them, with those of the second if it is "a half".
    """
    span, phrase = Span(one.span.start, other.span.end), one.phrase and Span(one.phrase.start, other.span.end)
    if one.unit and between == ["and", "a", "half"]:
        return replace(one, span=span, phrase=phrase, value=one.value + Fraction(1, 2), vague=False)
    if between not in ([], ["and"]) or other.hedge or other.vague or min(one.value, other.value) < 0:
        return None
    for a, b in meanings(one, other):
        if not (a.unit and b.unit) or a.unit.dimension != b.unit.dimension or a.unit.offset or b.unit.offset:
            continue
        if b.unit.factor < a.unit.factor and b.unit.base(b.value) < a.unit.factor:
            value = (a.unit.base(a.value) + b.unit.base(b.value)) / b.unit.factor
            return replace(b, span=span, phrase=phrase, value=value, hedge=one.hedge, step=Fraction(0))
    return None
