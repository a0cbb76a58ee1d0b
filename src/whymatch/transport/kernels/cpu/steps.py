"""The steps that the exact solvers share: scans of one row, and the bookkeeping of a search for a shortest path.

A solver sees a clean matrix `c`: float64, +inf where a pair is forbidden. It keeps a price for each row (u) and each
column (v) with c[i, j] - u[i] - v[j] >= 0 everywhere and = 0 on links. Such prices bound the optimum from below, which
is the certificate. Distances are sums of these reduced costs.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from whymatch.transport.kernels.cpu.compiling import smaller, step

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

INF = np.inf


class Work(NamedTuple):
    """Scratch memory for one problem, used again by the next: a row for each of the quantities below.

    Two arrays and not a dozen, because numba counts references to each array whenever it hands them on.
    """

    real: Floats
    whole: Ints


U = 0  # real: price of each row
V = 1  # price of each column
DISTANCE = 2  # to each column; +inf once it is settled
OPEN = 3  # V, but -inf for settled columns, which puts them out of reach
SPENT = 4  # the distances of settled columns, in their order
REACH = 5  # the distance at which a row was reached, +inf if it was not
NEAR = 6  # cost of each column's cheapest free row

OWNER = 0  # whole: the row a column is linked to, or -1
SPARE = 1  # the units a column can still take
PARENT = 2  # the row before each column on its shortest path
SETTLED = 3  # columns in the order of their distance
ENTRY = 4  # the column through which a row was reached, -1 where a path starts
WAITING = 5  # rows without a column


@step
def workspace(size: int) -> Work:
    """Memory for problems of up to `size` rows and columns."""
    return Work(np.empty((NEAR + 1, size)), np.empty((WAITING + 1, size), np.int64))


# ---- steps on one row of c ----


@step
def lowest(row: Floats, v: Floats) -> float:
    """min over j of row[j] - v[j]"""
    best = INF
    for j in range(row.size):
        best = smaller(best, row[j] - v[j])
    return best


@step
def first(row: Floats, v: Floats, value: float) -> int:
    """The first j with row[j] - v[j] = value."""
    place = row.size
    for j in range(row.size):
        place = min(place, j if row[j] - v[j] == value else row.size)
    return place


@step
def relax(row: Floats, offset: float, v: Floats, i: int, distance: Floats, parent: Ints) -> float:
    """Lets paths to every column run through row i at distance `offset` + row - v; returns the smallest distance."""
    best = INF
    for j in range(row.size):
        d = row[j] - v[j] + offset
        nearer = d < distance[j]
        distance[j] = d if nearer else distance[j]
        parent[j] = i if nearer else parent[j]
        best = smaller(best, distance[j])
    return best


@step
def nearest(m: int, best: float, w: Work) -> int:
    """The first column at distance `best`, one with spare units where there is one."""
    place = 2 * m
    for j in range(m):
        rank = j if w.whole[SPARE, j] > 0 else j + m
        place = min(place, rank if w.real[DISTANCE, j] == best else 2 * m)
    return place if place < m else place - m


# ---- steps on a search for the shortest augmenting path ----


@step
def begin(n: int, m: int, w: Work) -> None:
    """Forgets the last search."""
    for j in range(m):
        w.real[DISTANCE, j] = INF
        w.real[OPEN, j] = w.real[V, j]
    for i in range(n):
        w.real[REACH, i] = INF


@step
def settle(j: int, d: float, count: int, w: Work) -> None:
    """Fixes the distance of column j, the `count`-th so far."""
    w.whole[SETTLED, count] = j
    w.real[SPENT, count] = d
    w.real[DISTANCE, j] = INF
    w.real[OPEN, j] = -INF


@step
def reprice(n: int, d: float, count: int, w: Work) -> None:
    """Moves prices so that a path of length d has become free and no reduced cost negative."""
    for i in range(n):
        if w.real[REACH, i] < INF:
            w.real[U, i] += d - w.real[REACH, i]
    for t in range(count):
        w.real[V, w.whole[SETTLED, t]] -= d - w.real[SPENT, t]


@step
def hand_on(j: int, w: Work) -> None:
    """Gives column j to the row before it, that row's old column to the row before that, and so on."""
    w.whole[SPARE, j] = 0
    while True:
        i = w.whole[PARENT, j]
        w.whole[OWNER, j] = i
        if w.whole[ENTRY, i] < 0:
            return
        j = w.whole[ENTRY, i]
