"""Where two texts that match contradict each other: the words on both sides, found by rules and a word alignment."""

from collections.abc import Iterable

from whymatch.matching.conflicts.amounts import MIN_SHARED, amount_conflicts
from whymatch.matching.conflicts.correspondence import Conflict, Correspondence, Kind
from whymatch.matching.conflicts.names import name_conflicts
from whymatch.matching.conflicts.opposites import opposite_conflicts
from whymatch.matching.conflicts.roles import role_conflicts
from whymatch.text.spans import Span

__all__ = ["Conflict", "Kind", "conflicts"]


def conflicts(
    left: str, right: str, words: Iterable[tuple[Span, Span]], *, min_shared: float = MIN_SHARED
) -> tuple[Conflict, ...]:
    """What contradicts in two texts that match, in the order of the left text.

    Args:
        left, right: two spans that are linked, such as sentences.
        words: the offsets of words of the left and of the right text that a word aligner links.
        min_shared: the share of their other words that two texts must have in common for numbers and dates to be
            compared; less where something else says that they speak of the same matter.

    >>> left, right = "Take 5 mg of it.", "Take 50 mg of it."
    >>> conflicts(left, right, [(Span(0, 4), Span(0, 4)), (Span(5, 6), Span(5, 7))])
    (Conflict(kind='number', left=(Span(start=5, end=9),), right=(Span(start=5, end=10),)),)
    """
    links = [(Span(*one), Span(*other)) for one, other in words]
    if (right, left) < (
        left,
        right,
    ):  # one order of the texts, so that the conflicts of (right, left) are these mirrored
        mirrored = _conflicts(right, left, [(other, one) for one, other in links], min_shared)
        return _sorted(Conflict(one.kind, one.right, one.left) for one in mirrored)
    return _sorted(_conflicts(left, right, links, min_shared))


def _conflicts(left: str, right: str, links: list[tuple[Span, Span]], min_shared: float) -> list[Conflict]:
    pair = Correspondence(left, right, links)
    return [
        *amount_conflicts(pair, min_shared),
        *name_conflicts(pair),
        *opposite_conflicts(pair),
        *role_conflicts(pair),
    ]


def _sorted(unsorted: Iterable[Conflict]) -> tuple[Conflict, ...]:
    return tuple(sorted(unsorted, key=lambda one: (one.left or one.right, one.kind)))
