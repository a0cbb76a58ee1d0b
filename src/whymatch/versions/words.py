"""Which words differ between two versions of a passage."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np

from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS
from whymatch.text.spans import Span, words
from whymatch.transport.groups import InOrder, in_order

Marks: TypeAlias = tuple[tuple[Span, ...], tuple[Span, ...]]

_CONTENT, _FUNCTION, _PUNCTUATION = 1.0, 0.5, 0.25  # what it is worth to keep a word in place


def differing(left: str, right: str) -> Marks:
    """The words of each text that the other does not have in the same place, as spans; neighbours are one span.

    The words that are kept are a common subsequence of both texts of the largest worth, where content words are worth
    most. What is left of both texts without the spans is the same, word by word.

    >>> differing("It ends after 24 months.", "It ends after 36 months.")
    ((Span(start=14, end=16),), (Span(start=14, end=16),))
    """
    if right < left:  # one order of the texts, so that the other way round marks the same words
        return differing(right, left)[::-1]
    own, other = words(left), words(right)
    lefts, rights = [left[a:b] for a, b in own], [right[a:b] for a, b in other]
    kept = kept_words(lefts, rights)
    return _marked(left, own, {i for i, _ in kept}), _marked(right, other, {j for _, j in kept})


def kept_words(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """The numbers of the words that two lists have in common, in order."""
    before = _common(left, right, lambda i: i)
    n, m = len(left) - before, len(right) - before
    after = _common(left[before:], right[before:], lambda i: -1 - i)
    n, m = n - after, m - after
    inner = _subsequence(left[before : before + n], right[before : before + m])
    middle = [(before + i, before + j) for i, j in inner]
    ends = [(len(left) - after + i, len(right) - after + i) for i in range(after)]
    return [*((i, i) for i in range(before)), *middle, *ends]


def _common(left: Sequence[str], right: Sequence[str], place: Callable[[int], int]) -> int:
    """How many words are equal from one end of both lists."""
    count = 0
    while count < min(len(left), len(right)) and left[place(count)] == right[place(count)]:
        count += 1
    return count


def _subsequence(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """The common subsequence of the largest worth."""
    numbers: dict[str, int] = {}
    rows, columns = (np.array([numbers.setdefault(word, len(numbers)) for word in side]) for side in (left, right))
    worth = np.array([_worth(word) for word in numbers])

    def cost(own: range, other: range) -> np.ndarray:
        lefts, rights = rows[own.start : own.stop], columns[other.start : other.stop]
        equal = np.equal.outer(lefts, rights)
        return np.where(equal, -worth[lefts][:, None], np.inf)[:, :, None, None]

    links = in_order(cost, InOrder(1), sizes=(len(left), len(right))).links
    return [(link.left[0], link.right[0]) for link in links]


def _worth(word: str) -> float:
    if not any(map(str.isalnum, word)):
        return _PUNCTUATION
    return _FUNCTION if word.lower() in FUNCTION_WORDS else _CONTENT


def _marked(text: str, spans: Sequence[Span], kept: set[int]) -> tuple[Span, ...]:
    """The words that are not kept; those that follow one another are one span."""
    marked = [number for number in range(len(spans)) if number not in kept]
    runs = [[n for _, n in run] for _, run in groupby(enumerate(marked), lambda one: one[1] - one[0])]
    return tuple(Span(spans[run[0]].start, spans[run[-1]].end) for run in runs)
