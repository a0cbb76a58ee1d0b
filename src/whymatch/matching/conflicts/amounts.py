"""Numbers and dates that contradict each other."""

from collections.abc import Sequence

from whymatch.matching.conflicts.correspondence import Conflict, Correspondence, Place
from whymatch.text.amounts import Amount, agree, comparable, same_dimension
from whymatch.text.dates import Date
from whymatch.text.measures import Quantity
from whymatch.text.spans import Span

_DASHES = ("-", "–")
_MIN_SHARED = 0.85  # of the other words: below, two texts may speak of different things
_MIN_SHARED_CLAIM = 0.5  # of a text's other words, where something else says that both texts are on one matter


def amount_conflicts(pair: Correspondence, claims: Sequence[int] = ()) -> list[Conflict]:
    """Numbers and dates that differ where they stand for the same thing.

    Amounts that agree cancel out, wherever they stand. What is left on both sides conflicts where the two correspond:
    they are aligned, have the same neighbours, or are the only ones left. What one side alone has is more information.
    `claims` are the sides of texts that the other may say more than, where something else says that both are on one
    matter.
    """
    sides = pair.amounts
    agreeing = _matching(
        [
            (-_closeness(pair, a, b), i, j)
            for i, a in enumerate(sides[0])
            for j, b in enumerate(sides[1])
            if agree(a.amount, b.amount)
        ]
    )
    own, other = ([n for n in range(len(side)) if n not in {p[k] for p in agreeing}] for k, side in enumerate(sides))
    left_over = [n for i in own for n in sides[0][i].phrase], [n for j in other for n in sides[1][j].phrase]
    enough = pair.shared(*left_over) >= _MIN_SHARED
    if not enough and all(pair.shared_of(side, left_over[side]) < _MIN_SHARED_CLAIM for side in claims):
        return []
    candidates = [
        (-_closeness(pair, a, b), i, j)
        for i, j, a, b in ((i, j, sides[0][i], sides[1][j]) for i in own for j in other)
        if comparable(a.amount, b.amount) and _corresponds(pair, a, b, sides, (len(own), len(other)))
    ]
    return [_conflict(pair, sides[0][i].amount, sides[1][j].amount) for i, j in _matching(candidates)]


def _matching(ranked: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Pairs of numbers, the closest first, each number at most once on its side."""
    chosen = list[tuple[int, int]]()
    for _, i, j in sorted(ranked):
        if all(i != a and j != b for a, b in chosen):
            chosen.append((i, j))
    return chosen


def _closeness(pair: Correspondence, a: Place, b: Place) -> int:
    """How surely two amounts stand in the same place: the higher, the surer."""
    if not (a.words and b.words):
        return 0
    equal = len(a.words) == len(b.words) and {*zip(a.words, b.words, strict=True)} <= pair.equal
    return 3 * equal + 2 * pair.linked(a.words, b.words) + pair.context(a.phrase, b.phrase)


def _corresponds(
    pair: Correspondence, a: Place, b: Place, sides: Sequence[Sequence[Place]], left_over: tuple[int, int]
) -> bool:
    """Whether two amounts that differ stand for the same thing."""
    if not (a.words and b.words):
        return False
    linked, context = pair.linked(a.words, b.words), pair.context(a.phrase, b.phrase)
    repeated = any(agree(a.amount, other.amount) for other in sides[1]) or any(
        agree(one.amount, b.amount) for one in sides[0]
    )
    if repeated or _vague(a) or _vague(b):
        return linked and context == 2
    if not same_dimension(a.amount, b.amount):
        return linked and context == 2
    if linked or context == 2:
        return True
    return left_over == (1, 1) and isinstance(a.amount, Quantity) and a.amount.unit is not None


def _vague(place: Place) -> bool:
    return isinstance(place.amount, Quantity) and place.amount.vague


def _conflict(pair: Correspondence, one: Amount, other: Amount) -> Conflict:
    years = all(isinstance(amount, Date) or amount.year for amount in (one, other))
    left, right = (
        _whole_range(text, _marked(own, against), places)
        for text, own, against, places in zip(pair.texts, (one, other), (other, one), pair.amounts, strict=True)
    )
    return Conflict("date" if years else "number", (left,), (right,))


def _whole_range(text: str, span: Span, places: Sequence[Place]) -> Span:
    """The span of an amount, with the other end of its range where it is one of two: "3-5 days"."""
    for place in places:
        start, end = place.amount.span
        if text[end : span.start].strip() in _DASHES and end <= span.start:
            return Span(start, span.end)
        if text[span.end : start].strip() in _DASHES and span.end <= start:
            return Span(span.start, end)
    return span


def _marked(amount: Amount, other: Amount) -> Span:
    """The span of an amount, with its hedge where that is all that differs: "at least 5" and "at most 5"."""
    if isinstance(amount, Quantity) and isinstance(other, Quantity) and amount.value == other.value:
        return amount.phrase or amount.span
    return amount.span
