"""Which blocks of two versions belong together: identical ones first, then groups in order, then what moved."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

import numpy as np

from whymatch.text.encoders import Encoder
from whymatch.transport.constraints import UpTo
from whymatch.transport.exact import solve
from whymatch.transport.groups import InOrder, in_order
from whymatch.versions.anchors import Pairs, anchors, heaviest_chain, repeated
from whymatch.versions.likeness import Features, GroupGains, features

MOVED_FROM = 0.5
"""The least likeness of a block that was moved and edited; without its place there is less to go by."""
_MIN_MOVED_WORDS = 4  # of a block that was moved and edited
_MAX_MOVED_PAIRS = 2**22  # of blocks that are left over on both sides
TOO_MANY = "Too many passages are left over on both sides to look for those that were moved and edited."


@dataclass(frozen=True)
class Side:
    """The blocks of one version: their texts without numbers, their words, and each as one string of words."""

    texts: Sequence[str]
    words: Sequence[Sequence[str]]
    keys: Sequence[str]


@dataclass(frozen=True)
class Joined:
    """Blocks of the left version and blocks of the right one that belong together, by their numbers."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    moved: bool = False


def joined(left: Side, right: Side, encoder: Callable[[], Encoder], rule: InOrder) -> tuple[list[Joined], list[str]]:
    """What belongs together, each block at most once; and remarks.

    The encoder is asked for only where blocks of both versions are left over after identical ones were matched.
    """
    if [*right.keys] < [*left.keys]:  # one order of the versions, so that the other way round gives the mirrored links
        links, remarks = joined(right, left, encoder, rule)
        return [Joined(one.right, one.left, one.moved) for one in links], remarks
    chain, moved = anchors(left.keys, right.keys)
    free = _free(len(left.keys), len(right.keys), [*chain, *moved])
    links, remarks = [Joined((i,), (j,)) for i, j in chain], []
    if all(map(len, free)):
        texts = [[side.texts[n] for n in numbers] for side, numbers in zip((left, right), free, strict=True)]
        sides = features(texts[0], texts[1], [*left.words, *right.words], encoder())
        links += _in_gaps(chain, free, sides, rule, (len(left.keys), len(right.keys)))
        more, remarks = _left_over(left, right, free, sides, links)
        moved = [*moved, *more]
    return _with_moves([*links, *(Joined((i,), (j,)) for i, j in moved)], left), remarks


def unmatched(left: Side, right: Side) -> tuple[list[int], list[int]]:
    """The numbers of the blocks of each version that are left where identical ones were matched."""
    chain, moved = anchors(left.keys, right.keys)
    return _free(len(left.keys), len(right.keys), [*chain, *moved])


def _with_moves(links: Sequence[Joined], left: Side) -> list[Joined]:
    """The links in the order of the left version; single blocks outside of the heaviest chain in both orders moved.

    This is decided when all links are known: a long clause that moved past edited ones was an anchor before.
    """
    ordered = sorted(links, key=lambda one: one.left)
    pairs = [(one.left[0], one.right[0]) for one in ordered]
    weights = [1 + sum(len(left.texts[n]) for n in one.left) for one in ordered]
    chain = {*heaviest_chain(pairs, weights)}
    alone = [len(one.left) == len(one.right) == 1 for one in ordered]
    return [
        replace(one, moved=single and pair not in chain)
        for one, pair, single in zip(ordered, pairs, alone, strict=True)
    ]


def _left_over(
    left: Side, right: Side, free: tuple[list[int], list[int]], sides: Sequence[Features], links: Sequence[Joined]
) -> tuple[Pairs, list[str]]:
    """Pairs among the free blocks that are in no link: equal ones, then those that were moved and edited; and remarks.

    `sides` are the features of the free blocks.
    """
    gone = {n for one in links for n in one.left}, {n for one in links for n in one.right}
    rest = [[n for n in numbers if n not in own] for numbers, own in zip(free, gone, strict=True)]
    pairs = repeated(left.keys, right.keys, (rest[0], rest[1]))
    taken = {i for i, _ in pairs}, {j for _, j in pairs}
    rest = [[n for n in numbers if n not in own] for numbers, own in zip(rest, taken, strict=True)]
    if len(rest[0]) * len(rest[1]) > _MAX_MOVED_PAIRS:
        return pairs, [TOO_MANY]
    rows = [
        side.take([bisect_left(numbers, n) for n in own]) for side, numbers, own in zip(sides, free, rest, strict=True)
    ]
    return [*pairs, *((rest[0][i], rest[1][j]) for i, j in _moved_and_edited(rows[0], rows[1]))], []


def _free(left: int, right: int, pairs: Pairs) -> tuple[list[int], list[int]]:
    """The numbers of blocks that are in no pair."""
    gone = {i for i, _ in pairs}, {j for _, j in pairs}
    return [n for n in range(left) if n not in gone[0]], [n for n in range(right) if n not in gone[1]]


def _in_gaps(
    chain: Pairs, free: tuple[list[int], list[int]], sides: Sequence[Features], rule: InOrder, sizes: tuple[int, int]
) -> Iterator[Joined]:
    """Groups in order between each two identical blocks that follow one another, each gap on its own."""
    fences = [(-1, -1), *chain, sizes]
    starts = [0, 0]
    for _, end in pairwise(fences):
        stops = [bisect_left(own, limit, start) for own, start, limit in zip(free, starts, end, strict=True)]
        numbers = [own[start:stop] for own, start, stop in zip(free, starts, stops, strict=True)]
        if all(numbers):
            rows = [side.take(range(start, stop)) for side, start, stop in zip(sides, starts, stops, strict=True)]
            follows = tuple(np.diff(own, prepend=-2) == 1 for own in numbers)
            gains = GroupGains(rows[0], rows[1], (follows[0], follows[1]), rule.most)
            found = in_order(gains, rule, sizes=(len(numbers[0]), len(numbers[1])), gains=gains.gains)
            for link in found.links:
                yield Joined(tuple(numbers[0][n] for n in link.left), tuple(numbers[1][n] for n in link.right))
        starts = stops


def _moved_and_edited(left: Features, right: Features) -> Pairs:
    """Blocks that belong together although nothing says so but what they have in common: an optimal assignment."""
    if not (len(left.lengths) and len(right.lengths)):
        return []
    likeness = left.combined(0, len(left.lengths), 1) @ right.combined(0, len(right.lengths), 1).T
    shorter = np.minimum.outer(left.lengths, right.lengths).astype(np.float64)
    allowed = (likeness > MOVED_FROM) & (shorter >= _MIN_MOVED_WORDS)
    rows, columns = allowed.any(axis=1), allowed.any(axis=0)
    if not rows.any():
        return []
    cost = np.where(allowed, -shorter * (likeness - MOVED_FROM), inf)[rows][:, columns]
    plan = solve(cost, UpTo(1, below=0)).plan
    own, other = np.flatnonzero(rows), np.flatnonzero(columns)
    return [(int(own[i]), int(other[j])) for i, j in np.argwhere(plan > 0)]
