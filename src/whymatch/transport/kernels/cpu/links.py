"""Optimal links: each column in at most one link, each row in a given number of them, or a given number in all."""

from whymatch.transport.kernels.cpu.compiling import smaller, step
from whymatch.transport.kernels.cpu.steps import (
    DISTANCE,
    ENTRY,
    INF,
    NEAR,
    OPEN,
    OWNER,
    PARENT,
    REACH,
    SPARE,
    WAITING,
    Floats,
    U,
    V,
    Work,
    begin,
    first,
    hand_on,
    lowest,
    nearest,
    relax,
    reprice,
    settle,
)  # fmt: skip

FEW_COLUMNS = 8  # columns that are looked up one by one
MAX_BIDS = 8  # how often rows may push each other off a column before shortest paths take over


# ---- OneTo and UpTo: each row wants `units` columns, each column at most one row; a row's unit may be left out at the
# ---- price `ceiling` (+inf: never)


@step
def _bid(c: Floats, ceiling: float, w: Work) -> int:
    """A quick start: each row takes its best column, at the price that makes its second best as good.

    Returns how many rows still wait for a column.
    """
    waiting = 0
    for newcomer in range(c.shape[0]):
        i = newcomer
        for bids in range(MAX_BIDS):
            best = lowest(c[i], w.real[V])
            if best >= ceiling and ceiling < INF:
                w.real[U, i] = ceiling
                break
            j = first(c[i], w.real[V], best)
            price, w.real[V, j] = w.real[V, j], -INF
            second = min(lowest(c[i], w.real[V]), ceiling)
            w.real[V, j] = price
            outbid = i
            if second < INF:
                outbid = w.whole[OWNER, j]
                w.real[U, i] = second
                w.real[V, j] = price - (second - best)
                w.whole[OWNER, j] = i
                w.whole[SPARE, j] = 0
            if outbid < 0:
                break
            if second == INF or second == best or bids == MAX_BIDS - 1:
                w.whole[WAITING, waiting] = outbid
                waiting += 1
                break
            i = outbid
    return waiting


@step
def _search(c: Floats, start: int, units: int, ceiling: float, w: Work) -> tuple[bool, int]:
    """Finds the shortest way to give row `start` one more unit: whether there is one, and the column to hand on.

    A way ends in a free column, or in a row that had rather be left out. Such a row hands on the column it gives up,
    none (-1) if it is `start` itself.
    """
    n, m = c.shape
    begin(n, m, w)
    w.whole[ENTRY, start] = -1
    i, d, count = start, 0.0, 0
    out, given_up = INF, -1
    while True:
        w.real[REACH, i] = d
        if ceiling - w.real[U, i] + d < out:
            out, given_up = ceiling - w.real[U, i] + d, w.whole[ENTRY, i]
        if units > 1:  # all the columns of a row are as near as the row
            for j in range(m):
                if w.whole[OWNER, j] == i:
                    settle(j, d, count, w)
                    count += 1
        elif i != start:
            settle(w.whole[ENTRY, i], d, count, w)
            count += 1
        best = relax(c[i], d - w.real[U, i], w.real[OPEN], i, w.real[DISTANCE], w.whole[PARENT])
        if best >= out:
            reprice(n, out, count, w)
            return out < INF, given_up
        j, d = nearest(m, best, w), best
        if w.whole[SPARE, j] > 0:
            reprice(n, d, count, w)
            return True, j
        i = w.whole[OWNER, j]
        w.whole[ENTRY, i] = j


@step
def assign(c: Floats, units: int, ceiling: float, w: Work) -> bool:
    """Links every row to `units` columns at the smallest total cost; returns whether that can be done."""
    n, m = c.shape
    for j in range(m):
        w.real[V, j], w.whole[OWNER, j], w.whole[SPARE, j] = 0.0, -1, 1
    waiting = n
    if units == 1:
        waiting = _bid(c, ceiling, w)
    else:
        for i in range(n):
            w.whole[WAITING, i] = i
    for t in range(waiting):
        i = w.whole[WAITING, t]
        w.real[U, i] = min(lowest(c[i], w.real[V]), ceiling)
        if w.real[U, i] == INF:
            return False
        for _ in range(units):
            succeeded, j = _search(c, i, units, ceiling, w)
            if not succeeded:
                return False
            if j < 0:
                break
            hand_on(j, w)
    return True


# ---- Exactly: one link more at a time, wherever it costs least ----


@step
def no_links(c: Floats, w: Work) -> None:
    """The start: no link, and every column knows what its cheapest row costs."""
    n, m = c.shape
    near = w.real[NEAR]
    for j in range(m):
        w.real[V, j], w.whole[OWNER, j], w.whole[SPARE, j], near[j] = 0.0, -1, 1, INF
    for i in range(n):
        w.whole[ENTRY, i] = -1  # also: not linked yet
        for j in range(m):
            near[j] = smaller(near[j], c[i, j])


@step
def one_more_link(c: Floats, price: float, w: Work) -> float:
    """Turns the cheapest k links into the cheapest k + 1; returns what the new one adds, +inf if there is none.

    `price` is what the last one added: the u of every row that has no link yet.
    """
    n, m = c.shape
    begin(n, m, w)
    best = INF
    for j in range(m):
        w.real[DISTANCE, j] = w.real[NEAR, j] - price - w.real[V, j]
        w.whole[PARENT, j] = -1  # some row without a link
        best = smaller(best, w.real[DISTANCE, j])
    count = 0
    j = nearest(m, best, w)
    while best < INF and w.whole[SPARE, j] == 0:
        i = w.whole[OWNER, j]
        settle(j, best, count, w)
        count += 1
        w.whole[ENTRY, i] = j
        w.real[REACH, i] = best
        best = relax(c[i], best - w.real[U, i], w.real[OPEN], i, w.real[DISTANCE], w.whole[PARENT])
        j = nearest(m, best, w)
    if best == INF:
        return INF
    reprice(n, best, count, w)
    price += max(best, 0.0)  # rounding can leave a distance a little below 0
    source = j
    while w.whole[PARENT, source] >= 0:
        source = w.whole[ENTRY, w.whole[PARENT, source]]
    i = 0
    while w.whole[ENTRY, i] >= 0 or c[i, source] != w.real[NEAR, source]:
        i += 1
    w.whole[PARENT, source] = i
    hand_on(j, w)
    w.whole[ENTRY, i] = source
    w.real[U, i] = price
    _forget(c, i, w)
    return price


@step
def _forget(c: Floats, i: int, w: Work) -> None:
    """Brings up to date what the cheapest row costs, for the columns where it was row i."""
    n, m = c.shape
    near = w.real[NEAR]
    stale = 0
    for j in range(m):
        stale += c[i, j] == near[j]
    for j in range(m):
        if c[i, j] == near[j]:
            near[j] = INF
            if stale <= FEW_COLUMNS:
                for r in range(n):
                    if w.whole[ENTRY, r] < 0:
                        near[j] = min(near[j], c[r, j])
    if stale > FEW_COLUMNS:  # along memory, which pays when there are many
        for r in range(n):
            if w.whole[ENTRY, r] < 0:
                for j in range(m):
                    near[j] = smaller(near[j], c[r, j])
