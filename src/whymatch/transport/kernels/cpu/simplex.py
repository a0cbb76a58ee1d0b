"""Optimal transport of whole units by the network simplex method, for problems on which shortest paths are slow.

A basis is a spanning tree of rows i and columns n + j whose links are all tight. Each pivot adds a link that costs less
than its prices, moves units around the cycle this closes until a link is empty, and drops that link. Trees are kept
strongly feasible (an empty link leads from a row up to a column), so that pivots cannot go in circles.
"""

import numpy as np

from whymatch.transport.kernels.cpu.compiling import step
from whymatch.transport.kernels.cpu.flows import Flow, move
from whymatch.transport.kernels.cpu.steps import Floats, Ints, U, V, Work, first, lowest

PIVOTS_PER_SPAN = 1000  # for each span, far above what any problem took; a flow that is cut short shows in its gap
ROWS_PER_BLOCK = 32  # rows that are priced before the best of them enters
SLACK = 1e-15  # a price is not better than this share of the largest cost


# The tree `t` has a column for each vertex and these rows. The root is row 0 of the problem.
PARENT = 0
UNITS = 1  # on the link to the parent
DEPTH = 2
CHILD = 3  # the first of a vertex's children
NEXT = 4  # the next child of the same parent
BEFORE = 5  # the child before, or -1 for the first
STACK = 6
HEIGHT = 7  # how many such rows


@step
def _attach(vertex: int, parent: int, units: int, t: Ints) -> None:
    """Hangs a vertex, with all below it, under another."""
    first = t[CHILD, parent]
    t[PARENT, vertex], t[UNITS, vertex] = parent, units
    t[NEXT, vertex], t[BEFORE, vertex] = first, -1
    if first >= 0:
        t[BEFORE, first] = vertex
    t[CHILD, parent] = vertex


@step
def _detach(vertex: int, t: Ints) -> None:
    after, before = t[NEXT, vertex], t[BEFORE, vertex]
    if after >= 0:
        t[BEFORE, after] = before
    if before >= 0:
        t[NEXT, before] = after
    else:
        t[CHILD, t[PARENT, vertex]] = after


@step
def _northwest(c: Floats, supply: Ints, demand: Ints, t: Ints, w: Work) -> None:
    """The first basis: fills columns in their order from rows in theirs, whatever the cost."""
    n, m = c.shape
    for vertex in range(n + m):
        t[CHILD, vertex] = -1
    t[PARENT, 0], t[DEPTH, 0] = -1, 0
    w.real[U, 0] = 0.0
    i = j = 0
    left, room = supply[0], demand[0]
    down = True  # the link leads from row i down to column j
    while True:
        units = min(left, room)
        if down:
            _attach(n + j, i, units, t)
            t[DEPTH, n + j] = t[DEPTH, i] + 1
            w.real[V, j] = c[i, j] - w.real[U, i]
        else:
            _attach(i, n + j, units, t)
            t[DEPTH, i] = t[DEPTH, n + j] + 1
            w.real[U, i] = c[i, j] - w.real[V, j]
        left -= units
        room -= units
        if left == 0 and i + 1 < n:
            i, left, down = i + 1, supply[i + 1], False
        elif j + 1 < m:
            j, room, down = j + 1, demand[j + 1], True
        else:
            return


@step
def _entering(c: Floats, start: int, slack: float, w: Work) -> tuple[int, int]:
    """The link that costs least against its prices, of the first block of rows that has any; row -1 if none is left."""
    n = c.shape[0]
    best, row, at = -slack, -1, 0.0
    for count in range(n):
        i = (start + count) % n
        price = lowest(c[i], w.real[V])
        if price - w.real[U, i] < best:
            best, row, at = price - w.real[U, i], i, price
        if row >= 0 and count % ROWS_PER_BLOCK == ROWS_PER_BLOCK - 1:
            break
    return row, first(c[row], w.real[V], at) if row >= 0 else -1


@step
def _leaving(i: int, j: int, n: int, t: Ints) -> tuple[int, int, bool]:
    """How many units can go around the cycle that link (i, j) closes, and the vertex whose link up is then empty.

    Also whether that vertex is on the side of column j. Of several, takes the last on the way from the top down to row
    i, over the new link, and from column j up again.
    """
    a, b = i, n + j
    units, vertex, beyond = np.iinfo(np.int64).max, -1, False
    while a != b:
        if t[DEPTH, a] > t[DEPTH, b]:
            if a < n and t[UNITS, a] < units:
                units, vertex, beyond = t[UNITS, a], a, False
            a = t[PARENT, a]
        else:
            if b >= n and t[UNITS, b] <= units:
                units, vertex, beyond = t[UNITS, b], b, True
            b = t[PARENT, b]
    return units, vertex, beyond


@step
def _pivot(c: Floats, i: int, j: int, t: Ints, w: Work) -> None:
    """Brings link (i, j) into the tree."""
    n = c.shape[0]
    below = c[i, j] - w.real[U, i] - w.real[V, j]
    units, gone, beyond = _leaving(i, j, n, t)
    a, b = i, n + j
    while a != b:  # units go from i to j and back through the tree
        if t[DEPTH, a] > t[DEPTH, b]:
            t[UNITS, a] += -units if a < n else units
            a = t[PARENT, a]
        else:
            t[UNITS, b] += -units if b >= n else units
            b = t[PARENT, b]
    vertex, under = (n + j, i) if beyond else (i, n + j)
    while True:  # turn the way up from the new link to the one that leaves
        parent, carried = t[PARENT, vertex], t[UNITS, vertex]
        _detach(vertex, t)
        _attach(vertex, under, units, t)
        if vertex == gone:
            break
        vertex, under, units = parent, vertex, carried
    top = n + j if beyond else i
    raise_rows = -below if beyond else below
    t[STACK, 0] = top
    size = 1
    while size:
        size -= 1
        vertex = t[STACK, size]
        t[DEPTH, vertex] = t[DEPTH, t[PARENT, vertex]] + 1
        if vertex < n:
            w.real[U, vertex] += raise_rows
        else:
            w.real[V, vertex - n] -= raise_rows
        child = t[CHILD, vertex]
        while child >= 0:
            t[STACK, size] = child
            size += 1
            child = t[NEXT, child]


@step
def _prices(c: Floats, t: Ints, w: Work) -> None:
    """Prices that make every link of the tree tight, from the root down."""
    n = c.shape[0]
    t[STACK, 0], size = 0, 1
    while size:
        size -= 1
        vertex = t[STACK, size]
        child = t[CHILD, vertex]
        while child >= 0:
            if vertex < n:
                w.real[V, child - n] = c[vertex, child - n] - w.real[U, vertex]
            else:
                w.real[U, child] = c[child, vertex - n] - w.real[V, vertex - n]
            t[STACK, size] = child
            size += 1
            child = t[NEXT, child]


@step
def simplex(c: Floats, supply: Ints, demand: Ints, flow: Flow, w: Work) -> None:
    """The optimal flow, for finite costs and masses that are all positive."""
    n, m = c.shape
    t = np.empty((HEIGHT, n + m), np.int64)
    _northwest(c, supply, demand, t, w)
    largest = 0.0
    for i in range(n):
        for j in range(m):
            largest = max(largest, c[i, j])
    row, exact = 0, False
    for _ in range(PIVOTS_PER_SPAN * (n + m)):
        i, j = _entering(c, row, SLACK * largest, w)
        if i >= 0:
            _pivot(c, i, j, t, w)
            row, exact = i, False
        elif exact:
            break
        else:  # sums of many steps: start the prices afresh before they count
            _prices(c, t, w)
            exact = True
    for j in range(m):
        flow.held[j] = 0
        for i in range(n):
            flow.units[j, i] = 0
    for vertex in range(1, n + m):
        if t[UNITS, vertex] > 0:
            row, column = (vertex, t[PARENT, vertex] - n) if vertex < n else (t[PARENT, vertex], vertex - n)
            move(row, column, t[UNITS, vertex], flow)
