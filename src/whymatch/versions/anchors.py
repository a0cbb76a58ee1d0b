"""Blocks that both versions have, word for word: which of them stand in the same order, and which have moved."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

Pairs = list[tuple[int, int]]


def anchors(left: Sequence[str], right: Sequence[str]) -> tuple[Pairs, Pairs]:
    """Numbers of equal blocks that keep their order, and of others that moved; takes time of blocks · log(blocks).

    Blocks that each version has once are matched first. Of those the heaviest chain in the order of both texts is
    kept, by characters, so that a short piece counts as moved and not the long one that it passed. Repeated blocks
    are matched where they stand next to others that are.
    """
    pairs = _unique(left, right)
    chain = heaviest_chain(pairs, [1 + len(left[i]) for i, _ in pairs])
    moved = sorted({*pairs} - {*chain})
    return _grown(left, right, chain, moved), moved


def repeated(left: Sequence[str], right: Sequence[str], free: tuple[Sequence[int], Sequence[int]]) -> Pairs:
    """Equal blocks among those of both versions that are still free, the first with the first."""
    waiting: dict[str, list[int]] = {}
    for j in reversed(free[1]):
        waiting.setdefault(right[j], []).append(j)
    return [(i, waiting[left[i]].pop()) for i in free[0] if waiting.get(left[i])]


def _unique(left: Sequence[str], right: Sequence[str]) -> Pairs:
    """The blocks that are once in each version."""
    counts = Counter(left), Counter(right)
    places = {text: j for j, text in enumerate(right)}
    return [(i, places[text]) for i, text in enumerate(left) if counts[0][text] == 1 == counts[1][text]]


def heaviest_chain(pairs: Pairs, weights: Sequence[int]) -> Pairs:
    """Pairs that rise on both sides and have the largest weight together; the left numbers rise already."""
    order = sorted(j for _, j in pairs)
    best: list[tuple[int, int]] = [(0, -1)] * (len(order) + 1)  # a Fenwick tree of maxima: weight, and last pair
    before = []
    for number, ((_, j), weight) in enumerate(zip(pairs, weights, strict=True)):
        rank = bisect_left(order, j)
        chain, place = (0, -1), rank
        while place > 0:
            chain, place = max(chain, best[place]), place & (place - 1)
        before.append(chain[1])
        here, place = (chain[0] + weight, number), rank + 1
        while place < len(best):
            best[place], place = max(best[place], here), place + (place & -place)
    chosen, (_, number) = [], max(best)
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _grown(left: Sequence[str], right: Sequence[str], chain: Pairs, moved: Pairs) -> Pairs:
    """The chain with equal blocks that follow or precede one of its pairs, without those that moved."""
    gone = {i for i, _ in moved}, {j for _, j in moved}
    grown, fences = [], [(-1, -1), *chain, (len(left), len(right))]
    for (i, j), (k, l) in pairwise(fences):  # noqa: E741
        lefts = [n for n in range(i + 1, k) if n not in gone[0]]
        rights = [n for n in range(j + 1, l) if n not in gone[1]]
        forward = _equal(left, right, lefts, rights)
        lefts, rights = lefts[len(forward) :], rights[len(forward) :]
        grown += [*forward, *reversed(_equal(left, right, lefts[::-1], rights[::-1]))]
        grown += [(k, l)] if k < len(left) else []
    return grown


def _equal(left: Sequence[str], right: Sequence[str], lefts: Sequence[int], rights: Sequence[int]) -> Pairs:
    """The equal blocks at the beginning of two lists of numbers."""
    pairs = []
    for i, j in zip(lefts, rights, strict=False):
        if left[i] != right[j]:
            break
        pairs.append((i, j))
    return pairs
