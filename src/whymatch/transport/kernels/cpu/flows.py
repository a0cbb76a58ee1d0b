"""Optimal transport of whole units: every row sends out all it has, every column takes in all it has room for.

Successive shortest paths; units are integers, so that no mass is lost to rounding.
"""

from typing import NamedTuple

import numpy as np

from whymatch.transport.kernels.cpu.compiling import smaller, step
from whymatch.transport.kernels.cpu.steps import (
    DISTANCE,
    ENTRY,
    INF,
    OPEN,
    PARENT,
    REACH,
    SPARE,
    Floats,
    Ints,
    U,
    V,
    Work,
    begin,
    lowest,
    nearest,
    relax,
    reprice,
    settle,
)  # fmt: skip

DONE, IMPOSSIBLE, GIVEN_UP = 0, 1, 2


class Flow(NamedTuple):
    """What moves where, by column, since the search walks from columns back to rows."""

    units: Ints  # (m, n): units that column j has from row i
    holders: Ints  # (m, n): the rows with units in column j, the first held[j] entries
    held: Ints  # (m,)


@step
def move(i: int, j: int, units: int, flow: Flow) -> None:
    """Adds `units` from row i to column j, or takes them away where negative."""
    before = flow.units[j, i]
    flow.units[j, i] = before + units
    if before == 0:
        flow.holders[j, flow.held[j]] = i
        flow.held[j] += 1
    elif before + units == 0:
        t = 0
        while flow.holders[j, t] != i:
            t += 1
        flow.held[j] -= 1
        flow.holders[j, t] = flow.holders[j, flow.held[j]]


@step
def _greedy(c: Floats, supply: Ints, flow: Flow, w: Work) -> None:
    """Starts from prices that touch every column and every row, and moves what costs nothing above them."""
    n, m = c.shape
    for j in range(m):
        w.real[V, j] = INF
        flow.held[j] = 0
        for i in range(n):
            flow.units[j, i] = 0
    for i in range(n):
        for j in range(m):
            w.real[V, j] = smaller(w.real[V, j], c[i, j])
    for j in range(m):
        w.real[V, j] = w.real[V, j] if w.real[V, j] < INF else 0.0
    for i in range(n):
        w.real[U, i] = lowest(c[i], w.real[V])
        for j in range(m):
            units = min(supply[i], w.whole[SPARE, j])
            if units > 0 and c[i, j] < INF and c[i, j] - w.real[V, j] == w.real[U, i]:
                move(i, j, units, flow)
                supply[i] -= units
                w.whole[SPARE, j] -= units


@step
def _push(start: int, j: int, supply: Ints, flow: Flow, w: Work) -> bool:
    """Moves what it can from row `start` along the path that ends in column j; returns whether the path broke.

    It breaks when a row on it has nothing left in the column it was reached through.
    """
    units = min(supply[start], w.whole[SPARE, j])
    i = w.whole[PARENT, j]
    while i != start:
        units = min(units, flow.units[w.whole[ENTRY, i], i])
        i = w.whole[PARENT, w.whole[ENTRY, i]]
    supply[start] -= units
    w.whole[SPARE, j] -= units
    broke = False
    while True:
        i = w.whole[PARENT, j]
        move(i, j, units, flow)
        if i == start:
            return broke
        j = w.whole[ENTRY, i]
        move(i, j, -units, flow)
        broke |= flow.units[j, i] == 0


@step
def _send(c: Floats, start: int, supply: Ints, flow: Flow, w: Work) -> bool:
    """Sends units out of row `start` along shortest paths until it has none or a path breaks; False if none is left."""
    n, m = c.shape
    begin(n, m, w)
    w.real[REACH, start] = 0.0
    best = relax(c[start], -w.real[U, start], w.real[OPEN], start, w.real[DISTANCE], w.whole[PARENT])
    count = 0
    while best < INF:
        j, d = nearest(m, best, w), best
        if w.whole[SPARE, j] > 0:
            broke = _push(start, j, supply, flow, w)
            if broke or supply[start] == 0:
                reprice(n, d, count, w)
                return True
        settle(j, d, count, w)
        count += 1
        best = INF
        for t in range(flow.held[j]):
            i = flow.holders[j, t]
            if w.real[REACH, i] == INF:
                w.real[REACH, i] = d
                w.whole[ENTRY, i] = j
                best = relax(c[i], d - w.real[U, i], w.real[OPEN], i, w.real[DISTANCE], w.whole[PARENT])
        if best == INF:
            for j in range(m):
                best = smaller(best, w.real[DISTANCE, j])
    return False


@step
def transport(c: Floats, supply: Ints, flow: Flow, w: Work, patience: int) -> int:
    """Moves all of `supply` into the columns' SPARE units at the smallest cost: DONE, IMPOSSIBLE, or GIVEN_UP.

    Gives up after `patience` searches. Ends in an extreme point: the links form a forest, so there are at most
    n + m - 1 of them.
    """
    _greedy(c, supply, flow, w)
    for i in range(c.shape[0]):
        while supply[i] > 0:
            if patience == 0:
                return GIVEN_UP
            patience -= 1
            if w.real[U, i] == INF or not _send(c, i, supply, flow, w):
                return IMPOSSIBLE
    untangle(flow)
    return DONE


@step
def untangle(flow: Flow) -> None:
    """Removes cycles of links: every link is tight, so that moving units around a cycle costs nothing."""
    m, n = flow.units.shape
    degree = np.empty(n + m, np.int64)
    while not _is_forest(flow, degree):
        _cancel(flow, degree)


@step
def _is_forest(flow: Flow, degree: Ints) -> bool:
    """Takes off leaves until there are none; rows i and columns n + j whose `degree` is then not 0 are on cycles."""
    m, n = flow.units.shape
    partners = np.zeros(n + m, np.int64)  # of each vertex, combined by exclusive or: a leaf's value is its partner
    links = 0
    for vertex in range(n + m):
        degree[vertex] = 0
    for j in range(m):
        for t in range(flow.held[j]):
            i = flow.holders[j, t]
            degree[i] += 1
            degree[n + j] += 1
            partners[i] ^= n + j
            partners[n + j] ^= i
            links += 1
    for vertex in range(n + m):
        leaf = vertex
        while degree[leaf] == 1:
            other = partners[leaf]
            degree[leaf] = 0
            degree[other] -= 1
            partners[other] ^= leaf
            links -= 1
            leaf = other
    return links == 0


@step
def _cancel(flow: Flow, degree: Ints) -> None:
    """Walks along links until a vertex comes up again, and moves units around that cycle until one link is empty."""
    m, n = flow.units.shape
    trail, place = np.empty(n + m, np.int64), np.full(n + m, -1)
    here, before, length = 0, -1, 0
    while degree[here] == 0:
        here += 1
    while place[here] < 0:
        place[here], trail[length] = length, here
        length += 1
        there = n if here < n else 0
        while there == before or degree[there] == 0 or _units_between(here, there, flow) == 0:
            there += 1
        before, here = here, there
    cycle = trail[place[here] : length]
    units = np.iinfo(np.int64).max
    for t in range(0, cycle.size, 2):
        units = min(units, _units_between(cycle[t], cycle[t + 1], flow))
    for t in range(cycle.size):
        i, j = _ends(cycle[t], cycle[(t + 1) % cycle.size], n)
        move(i, j, units if t % 2 else -units, flow)


@step
def _ends(p: int, q: int, n: int) -> tuple[int, int]:
    """The row and the column of a link between two vertices."""
    return (p, q - n) if p < n else (q, p - n)


@step
def _units_between(p: int, q: int, flow: Flow) -> int:
    i, j = _ends(p, q, flow.units.shape[1])
    return flow.units[j, i]
