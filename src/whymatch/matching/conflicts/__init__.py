"""Where two texts that match contradict each other: the words on both sides, found by rules and a word alignment."""

from collections.abc import Iterable, Sequence

from whymatch.matching.conflicts.amounts import amount_conflicts
from whymatch.matching.conflicts.correspondence import Conflict, Correspondence, Kind
from whymatch.matching.conflicts.names import name_conflicts
from whymatch.matching.conflicts.opposites import opposite_conflicts
from whymatch.matching.conflicts.roles import role_conflicts
from whymatch.text.spans import Span

__all__ = ["Conflict", "Kind", "conflicts"]


def conflicts(
    left: str,
    right: str,
    words: Iterable[tuple[Span, Span]],
    *,
    same: Iterable[tuple[Span, Span]] | None = None,
    claim: bool = False,
    contradictory: bool = False,
) -> tuple[Conflict, ...]:
    """What contradicts in two texts that match, in the order of the left text.

    Args:
        left, right: two spans that are linked, such as sentences.
        words: the offsets of words of the left and of the right text that a word aligner links.
        same: those of `words` that mean the same, all by default; the others only stand in the same place.
        claim: whether the left text is a claim, and the right one of the same matter and may say more: numbers and
            dates are then compared where the right text has half of the claim's other words, and antonyms where it has
            nearly all.
        contradictory: whether the texts are known to contradict each other: numbers and dates are then compared where
            either text has half of the other's other words.

    >>> left, right = "Take 5 mg of it.", "Take 50 mg of it."
    >>> conflicts(left, right, [(Span(0, 4), Span(0, 4)), (Span(5, 6), Span(5, 7))])
    (Conflict(kind='number', left=(Span(start=5, end=9),), right=(Span(start=5, end=10),)),)
    """
    links = [(Span(*one), Span(*other)) for one, other in words]
    alike = links if same is None else [(Span(*one), Span(*other)) for one, other in same]
    if (right, left) < (left, right):  # one order of the texts, so that conflicts of (right, left) are these mirrored
        mirrored = (((other, one) for one, other in pairs) for pairs in (links, alike))
        sides = (0, 1) if contradictory else (1,) if claim else ()
        exchanged = _conflicts(Correspondence(right, left, *mirrored), sides)
        return _sorted(Conflict(one.kind, one.right, one.left) for one in exchanged)
    sides = (0, 1) if contradictory else (0,) if claim else ()
    return _sorted(_conflicts(Correspondence(left, right, links, alike), sides))


def _conflicts(pair: Correspondence, claims: Sequence[int]) -> list[Conflict]:
    return [
        *amount_conflicts(pair, claims),
        *name_conflicts(pair),
        *opposite_conflicts(pair, claims),
        *role_conflicts(pair),
    ]


def _sorted(unsorted: Iterable[Conflict]) -> tuple[Conflict, ...]:
    return tuple(sorted(unsorted, key=lambda one: (one.left or one.right, one.kind)))
