"""Optimal links: each column in at most one link, each row in a given number of them, or a given number in all."""

from whymatch.transport.kernels.cpu.steps import (
    INF,
    Floats,
    Work,
    begin,
    first,
    hand_on,
    lowest,
    nearest,
    relax,
    reprice,
    settle,
    smaller,
    step,
)  # fmt: skip

BIDS = 8  # how often rows may push each other off a column before shortest paths take over


# ---- OneTo and UpTo: each row wants `units` columns, each column at most one row; a row's unit may be left out at the
# ---- price `ceiling` (+inf: never)


@step
def bid(c: Floats, ceiling: float, w: Work) -> int:
    """A quick start: each row takes its best column, at the price that makes its second best as good.

    Returns how many rows still wait for a column.
    """
    waiting = 0
    for newcomer in range(c.shape[0]):
        i = newcomer
        for bids in range(BIDS):
            best = lowest(c[i], w.v)
            if best >= ceiling and ceiling < INF:
                w.u[i] = ceiling
                break
            j = first(c[i], w.v, best)
            price, w.v[j] = w.v[j], -INF
            second = min(lowest(c[i], w.v), ceiling)
            w.v[j] = price
            outbid = i
            if second < INF:
                outbid = w.owner[j]
                w.u[i] = second
                w.v[j] = price - (second - best)
                w.owner[j] = i
                w.spare[j] = 0
            if outbid < 0:
                break
            if second == INF or second == best or bids == BIDS - 1:
                w.waiting[waiting] = outbid
                waiting += 1
                break
            i = outbid
    return waiting


@step
def search(c: Floats, start: int, ceiling: float, w: Work) -> tuple[bool, int]:
    """Finds the shortest way to give row `start` one more unit: whether there is one, and the column to hand on.

    A way ends in a free column, or in a row that had rather be left out. Such a row hands on the column it gives up,
    none (-1) if it is `start` itself.
    """
    n, m = c.shape
    begin(n, m, w)
    w.entry[start] = -1
    i, d, count, best = start, 0.0, 0, INF
    out, given_up = INF, -1
    while True:
        if w.reach[i] == INF:
            w.reach[i] = d
            if ceiling - w.u[i] + d < out:
                out, given_up = ceiling - w.u[i] + d, w.entry[i]
            best = relax(c[i], d - w.u[i], w.open, i, w.distance, w.parent)
        else:  # again, through another of its columns
            best = INF
            for j in range(m):
                best = smaller(best, w.distance[j])
        if best >= out:
            reprice(n, out, count, w)
            return out < INF, given_up
        j, d = nearest(m, best, w), best
        if w.spare[j] > 0:
            reprice(n, d, count, w)
            return True, j
        settle(j, d, count, w)
        count += 1
        i = w.owner[j]
        if w.reach[i] == INF:
            w.entry[i] = j


@step
def assign(c: Floats, units: int, ceiling: float, w: Work) -> bool:
    """Links every row to `units` columns at the smallest total cost; returns whether that can be done."""
    n, m = c.shape
    for j in range(m):
        w.v[j], w.owner[j], w.spare[j] = 0.0, -1, 1
    waiting = n
    if units == 1:
        waiting = bid(c, ceiling, w)
    else:
        for i in range(n):
            w.waiting[i] = i
    for t in range(waiting):
        i = w.waiting[t]
        w.u[i] = min(lowest(c[i], w.v), ceiling)
        if w.u[i] == INF:
            return False
        for _ in range(units):
            found, j = search(c, i, ceiling, w)
            if not found:
                return False
            if j < 0:
                break
            hand_on(j, w)
    return True


# ---- Exactly: one link more at a time, wherever it costs least ----


@step
def no_links(c: Floats, w: Work) -> None:
    """The start: no link, and every column knows its cheapest row."""
    n, m = c.shape
    for j in range(m):
        w.v[j], w.owner[j], w.spare[j], w.near[j], w.source[j] = 0.0, -1, 1, INF, -1
    for i in range(n):
        w.entry[i] = -1  # also: not linked yet
        relax(c[i], 0.0, w.v, i, w.near, w.source)


@step
def one_more_link(c: Floats, price: float, w: Work) -> float:
    """Turns the cheapest k links into the cheapest k + 1; returns what the new one adds, +inf if there is none.

    `price` is what the last one added: the u of every row that has no link yet.
    """
    n, m = c.shape
    begin(n, m, w)
    best = INF
    for j in range(m):
        w.distance[j] = w.near[j] - price - w.v[j]
        w.parent[j] = w.source[j]
        best = smaller(best, w.distance[j])
    count = 0
    j = nearest(m, best, w)
    while best < INF and w.spare[j] == 0:
        i = w.owner[j]
        settle(j, best, count, w)
        count += 1
        w.entry[i] = j
        w.reach[i] = best
        best = relax(c[i], best - w.u[i], w.open, i, w.distance, w.parent)
        j = nearest(m, best, w)
    if best == INF:
        return INF
    reprice(n, best, count, w)
    i = hand_on(j, w)
    w.entry[i] = j
    w.u[i] = price + best
    for j in range(m):
        if w.source[j] == i:
            w.near[j] = INF
            for r in range(n):
                if w.entry[r] < 0 and c[r, j] < w.near[j]:
                    w.near[j], w.source[j] = c[r, j], r
    return price + best
