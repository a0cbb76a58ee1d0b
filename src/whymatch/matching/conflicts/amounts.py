"""Numbers and dates that contradict each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whymatch.matching.conflicts.correspondence import Conflict, Correspondence
from whymatch.text.dates import Date, dates
from whymatch.text.quantities import Quantity, quantities

_Amount: TypeAlias = Quantity | Date
MIN_SHARED = 0.85
"""The share of the other words that two texts have in common, below which they may speak of different things."""


@dataclass(frozen=True)
class _Place:
    """An amount, and the numbers of its words in its text."""

    amount: _Amount
    words: range


def amount_conflicts(pair: Correspondence, min_shared: float = MIN_SHARED) -> list[Conflict]:
    """Numbers and dates that differ where they stand for the same thing.

    Amounts that agree cancel out, wherever they stand. What is left on both sides conflicts where the two correspond:
    they are aligned, have the same neighbours, or are the only ones left. What one side alone has is more information.
    """
    sides = [_amounts(pair, 0), _amounts(pair, 1)]
    agreeing = _matching(
        [
            (-_closeness(pair, a, b), i, j)
            for i, a in enumerate(sides[0])
            for j, b in enumerate(sides[1])
            if _agree(a, b)
        ]
    )
    own, other = ([n for n in range(len(side)) if n not in {p[k] for p in agreeing}] for k, side in enumerate(sides))
    left_over = [n for i in own for n in sides[0][i].words], [n for j in other for n in sides[1][j].words]
    if pair.shared(*left_over) < min_shared:
        return []
    candidates = [
        (-_closeness(pair, a, b), i, j)
        for i, j, a, b in ((i, j, sides[0][i], sides[1][j]) for i in own for j in other)
        if _comparable(a, b) and _corresponds(pair, a, b, sides, (len(own), len(other)))
    ]
    return [_conflict(sides[0][i].amount, sides[1][j].amount) for i, j in _matching(candidates)]


def _amounts(pair: Correspondence, side: int) -> list[_Place]:
    text = pair.texts[side]
    own_dates = dates(text)
    amounts: list[_Amount] = [*own_dates, *quantities(text, [date.span for date in own_dates])]
    amounts.sort(key=lambda amount: amount.span)
    return [_Place(*both) for both in zip(amounts, pair.numbers(side, [a.span for a in amounts]), strict=True)]


def _matching(ranked: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Pairs of numbers, the closest first, each number at most once on its side."""
    chosen = list[tuple[int, int]]()
    for _, i, j in sorted(ranked):
        if all(i != a and j != b for a, b in chosen):
            chosen.append((i, j))
    return chosen


def _closeness(pair: Correspondence, a: _Place, b: _Place) -> int:
    """How surely two amounts stand in the same place: the higher, the surer."""
    if not (a.words and b.words):
        return 0
    equal = len(a.words) == len(b.words) and {*zip(a.words, b.words, strict=True)} <= pair.equal
    return 3 * equal + 2 * pair.linked(a.words, b.words) + pair.context(a.words, b.words)


def _agree(a: _Place, b: _Place) -> bool:
    one, other = a.amount, b.amount
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return one.agrees(other)
    if isinstance(one, Date) and isinstance(other, Date):
        return one.kind == other.kind and one.agrees(other)
    date, number = (one, other) if isinstance(one, Date) else (other, one)
    if isinstance(number, Date) or isinstance(date, Quantity):
        return False
    return number.value.denominator == 1 and date.has(int(number.value)) and _bare(number)


def _bare(number: Quantity) -> bool:
    return number.unit is None or number.unit.dimension == "ordinal"


def _comparable(a: _Place, b: _Place) -> bool:
    one, other = a.amount, b.amount
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return _ordinal(one) == _ordinal(other)
    if isinstance(one, Date) and isinstance(other, Date):
        return one.kind == other.kind
    date, number = (one, other) if isinstance(one, Date) else (other, one)
    return isinstance(number, Quantity) and isinstance(date, Date) and date.kind == "day" and number.year


def _ordinal(number: Quantity) -> bool:
    return number.unit is not None and number.unit.dimension == "ordinal"


def _corresponds(
    pair: Correspondence, a: _Place, b: _Place, sides: Sequence[Sequence[_Place]], left_over: tuple[int, int]
) -> bool:
    """Whether two amounts that differ stand for the same thing."""
    if not (a.words and b.words):
        return False
    linked, context = pair.linked(a.words, b.words), pair.context(a.words, b.words)
    repeated = any(_agree(a, other) for other in sides[1]) or any(_agree(one, b) for one in sides[0])
    if repeated or _vague(a) or _vague(b):
        return linked and context == 2
    if not _same_dimension(a.amount, b.amount):
        return linked and context == 2
    if linked or context == 2:
        return True
    return left_over == (1, 1) and isinstance(a.amount, Quantity) and a.amount.unit is not None


def _vague(place: _Place) -> bool:
    return isinstance(place.amount, Quantity) and place.amount.vague


def _same_dimension(one: _Amount, other: _Amount) -> bool:
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return (one.unit and one.unit.dimension) == (other.unit and other.unit.dimension)
    return isinstance(one, Date) and isinstance(other, Date)


def _conflict(one: _Amount, other: _Amount) -> Conflict:
    years = all(isinstance(amount, Date) or amount.year for amount in (one, other))
    return Conflict("date" if years else "number", (one.span,), (other.span,))
