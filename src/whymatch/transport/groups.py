"""Contiguous groups of spans, linked in the order of both texts: sentences of translations, clauses of versions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isqrt
from operator import index
from typing import NamedTuple, TypeAlias

import numpy as np

from whymatch.interruption import interruption_point
from whymatch.transport.kernels.cpu.groups import FIRST_LINK, NO_RIGHT, fill

GroupCosts: TypeAlias = Callable[[range, range], np.ndarray]
"""Gives for some left and some right spans an array (left spans, right spans, most, most): at [i, j, a, b] the cost of
linking the a + 1 left spans that end with the i-th of them with the b + 1 right spans that end with the j-th."""

_MAX_MOST = 15  # choices have 8 bits
_MAX_COSTS_AT_ONCE = 2**21
_FIRST_WIDTH = 64  # nodes on each side of the diagonal in the first band
_MIN_ROWS = 32  # of a block


@dataclass(frozen=True)
class InOrder:
    """Groups of 1 to `most` left spans with groups of 1 to `most` right spans, in the order of both texts.

    A group is contiguous, a span is in at most one, and any span may be left out. It is no `Constraint`: what a link
    costs depends on two groups, so that there is neither a matrix of costs nor a plan. `in_order` solves it.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> cost = np.full((2, 1, 2, 2), np.inf)
    >>> cost[1, 0, 1, 0] = -1.0                                    # both left spans with the right one
    >>> wm.in_order(cost, wm.InOrder(2)).links
    (GroupLink(left=range(0, 2), right=range(0, 1), cost=-1.0),)
    """

    most: int = 4

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "most", index(self.most))
        except TypeError:
            raise TypeError(f"InOrder(most) takes a whole number, got {self.most!r}.") from None
        if not 1 <= self.most <= _MAX_MOST:
            raise ValueError(f"InOrder(most) takes groups of 1 to {_MAX_MOST} spans, got {self.most}.")


class GroupLink(NamedTuple):
    """A group of left spans with a group of right spans, and what that costs.

    >>> import whymatch as wm
    >>> link = wm.transport.GroupLink(range(0, 2), range(3, 4), -1.5)
    >>> [*link.left], [*link.right], link.cost
    ([0, 1], [3], -1.5)
    """

    left: range
    right: range
    cost: float


class InOrderSolution(NamedTuple):
    """The optimal links, in order, and what proves them.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> solution = wm.in_order(np.full((2, 3, 1, 1), -1.0), wm.InOrder(1))
    >>> len(solution.links), solution.cost, solution.computed
    (2, -2.0, 1.0)
    """

    links: tuple[GroupLink, ...]
    """Groups with groups; all of them cost less than 0 together with what they replace."""
    cost: float
    """Of all links."""
    outside: float
    """What any alignment that leaves the computed band costs at least; infinite where all was computed."""
    computed: float
    """The share of the pairs of spans whose groups were looked at."""


def in_order(
    cost: np.ndarray | GroupCosts,
    rule: InOrder | None = None,
    *,
    sizes: tuple[int, int] | None = None,
    gains: tuple[np.ndarray, np.ndarray] | None = None,
) -> InOrderSolution:
    """The links under `InOrder` of the least total cost; a span that is left out costs nothing.

    With `gains` only a band around the diagonal is computed, and widened until it is proved that nothing outside of it
    costs less. Without, all pairs are. Memory grows with the smaller part: m · √(n · most) numbers, never n · m.
    Of several optimal alignments the same one is given each time: one with fewer or smaller groups, where spans go
    unlinked rather than linked at cost 0.

        >>> import numpy as np
        >>> import whymatch as wm
        >>> cost = np.full((2, 3, 2, 2), np.inf)   # +inf forbids; the groups end with span i and span j
        >>> cost[0, 1, 0, 1] = -2.0                # the first left span with the first two right ones
        >>> cost[1, 2, 0, 0] = -1.0
        >>> [(*link.left, "-", *link.right) for link in wm.in_order(cost, wm.InOrder(2)).links]
        [(0, '-', 0, 1), (1, '-', 2)]

    Args:
        cost: (n, m, most, most), or a function that gives such an array for a range of left and one of right spans.
            At [i, j, a, b] stands the cost of the a + 1 left spans that end with i and the b + 1 right spans that end
            with j. +inf forbids; a group that would begin before its text is never looked at.
        rule: `InOrder(4)` by default.
        sizes: the numbers of left and right spans, where `cost` is a function.
        gains: (n,) and (m,), for each span the most that it can gain: no link may cost less than minus the sum of the
            gains of its left spans, nor of its right spans.

    Raises:
        ValueError: if shapes do not fit together, a cost is NaN or -inf, or a gain is negative or not finite.
    """
    rule = rule or InOrder()
    if isinstance(cost, np.ndarray):
        if cost.ndim != 4 or cost.shape[2:] != (rule.most, rule.most):
            raise ValueError(f"Costs under {rule} have the shape (n, m, {rule.most}, {rule.most}), got {cost.shape}.")
        sizes, matrix = (cost.shape[0], cost.shape[1]), cost
        cost = lambda rows, columns: matrix[rows.start : rows.stop, columns.start : columns.stop]  # noqa: E731
    if sizes is None or min(sizes) < 0:
        raise ValueError(f"A function of costs needs sizes=(n, m), the numbers of spans, got {sizes}.")
    n, m = sizes
    if min(n, m) == 0:
        return InOrderSolution((), 0.0, inf, 1.0)
    rests = None if gains is None else [_rest(*both) for both in zip(gains, sizes, strict=True)]
    width = m if rests is None else _FIRST_WIDTH + rule.most + m // n
    while True:
        program = _Program(cost, rule.most, n, m, width, rests or [np.zeros(n + 1), np.zeros(m + 1)])
        if program.outside >= program.total or program.whole:
            links = tuple(program.links())
            return InOrderSolution(links, program.total, program.outside, program.computed)
        width *= 2


def _rest(gains: np.ndarray, size: int) -> np.ndarray:
    """(size + 1,): the sum of the gains from each span on."""
    gains = np.asarray(gains, np.float64)
    if gains.shape != (size,) or not (np.isfinite(gains) & (gains >= 0)).all():
        raise ValueError(f"Gains are {size} finite numbers, 0 or more, got an array of shape {gains.shape}.")
    return np.append(np.cumsum(gains[::-1])[::-1], 0.0)


class _Program:
    """The dynamic program within a band of `width` nodes on each side of the diagonal.

    Rows are filled in blocks. The rows before each block are kept, so that a block can be filled again when the links
    are followed back; the choices of all nodes are never in memory at once.
    """

    def __init__(self, costs: GroupCosts, most: int, n: int, m: int, width: int, rests: list[np.ndarray]) -> None:
        self._costs, self._most, self._n, self._m, self._rests = costs, most, n, m, rests
        diagonal = np.arange(n + 1) * m // n
        self._lows, self._highs = np.maximum(diagonal - width, 0), np.minimum(diagonal + width, m)
        self.whole = bool((self._lows == 0).all() and (self._highs == m).all())
        self.computed = float((self._highs - self._lows).sum() / ((n + 1) * m))
        after = np.minimum(np.arange(n + 1) + most, n)
        self._edges = self._lows[after]  # a path from a node before this may leave the band below
        start = np.full((most, m + 1), inf)
        start[-1, : self._highs[0] + 1] = 0.0
        self.outside = inf if self.whole else self._first_exit()
        self._blocks = [range(i, min(i + self._rows, n)) for i in range(0, n, self._rows)]
        self._before = [start]
        for block in self._blocks:
            values, self._choices, outside = self._filled(block, self._before[-1])
            self.outside = min(self.outside, outside)
            self._before.append(values[len(block) :].copy())
        self.total = float(self._before[-1][-1, m])

    @property
    def _rows(self) -> int:
        return max(self._most, isqrt(self._n * self._most), _MIN_ROWS)

    def _first_exit(self) -> float:
        """What a path costs at least that leaves the band from the first row of nodes."""
        left, right = self._rests
        below = -min(left[0], right[0]) if self._edges[0] > 0 else inf
        above = -min(left[0], right[max(0, self._highs[0] + 1 - self._most)]) if self._highs[0] < self._m else inf
        return float(min(below, above))

    def _filled(self, block: range, before: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Values (most + rows, m + 1) and choices of a block, and what paths out of the band cost there at least."""
        values = np.concatenate([before, np.full((len(block), self._m + 1), inf)])
        choices = np.full(values.shape, NO_RIGHT, np.uint8)
        outside, start = inf, block.start
        while start < block.stop:
            interruption_point()
            low = self._lows[start + 1]
            rows = range(start, min(block.stop, start + max(1, _MAX_COSTS_AT_ONCE // self._room(start))))
            columns = range(max(0, low - 1), self._highs[rows.stop])
            part = slice(rows.start + 1, rows.stop + 1)
            left, right = self._rests
            row = self._most + start - block.start
            edge = self._edges[part]
            own = self._checked(rows, columns)
            limits = self._lows[part], self._highs[part]
            outside = min(outside, fill(own, columns.start, row, *limits, values, choices, left[part], right, edge))
            start = rows.stop
        return values, choices, outside

    def _room(self, row: int) -> int:
        """How many costs a row of the band has, with those of the rows after it."""
        end = min(row + self._rows, self._n)
        return int(self._highs[end] - self._lows[row] + 1) * self._most**2

    def _checked(self, rows: range, columns: range) -> np.ndarray:
        costs = np.ascontiguousarray(self._costs(rows, columns), np.float64)
        expected = (len(rows), len(columns), self._most, self._most)
        if costs.shape != expected:
            raise ValueError(f"The function of costs gave an array of shape {costs.shape} in place of {expected}.")
        if not (costs > -inf).all():
            raise ValueError("A cost is NaN or -inf. Use +inf for groups that may not be linked.")
        return costs

    def links(self) -> Iterator[GroupLink]:
        """The links of an optimal path, in order."""
        found, row, j = list[tuple[range, range]](), self._n, self._m
        for number in reversed(range(len(self._blocks))):
            block = self._blocks[number]
            choices = self._choices
            if number < len(self._blocks) - 1:
                _, choices, _ = self._filled(block, self._before[number])
            while row > block.start:
                choice = int(choices[self._most + row - 1 - block.start, j])
                if choice >= FIRST_LINK:
                    a, b = divmod(choice - FIRST_LINK, self._most)
                    found.append((range(row - 1 - a, row), range(j - 1 - b, j)))
                    row, j = row - 1 - a, j - 1 - b
                elif choice == NO_RIGHT:
                    j -= 1
                else:
                    row -= 1
        for left, right in reversed(found):
            last = self._costs(range(left[-1], left[-1] + 1), range(right[-1], right[-1] + 1))
            yield GroupLink(left, right, float(last[0, 0, len(left) - 1, len(right) - 1]))
