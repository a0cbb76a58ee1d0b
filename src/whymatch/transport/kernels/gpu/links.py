"""Optimal links: each column in at most one link, each row in a given number of them, or a given number in all.

The algorithms of the CPU kernels, with a vector where those have an array. A search moves along rows; whatever rounding
does to prices, it hands on columns along a path, so that the number of links is right; how good they are is what the
certificate says. Each turn of a loop settles a column, takes a unit or counts a bid, so that every loop ends.
"""

import triton
import triton.language as tl

from whymatch.transport.kernels.gpu.steps import (
    Problem,
    at,
    first,
    hand_on,
    least,
    nearest,
    one_row,
    resized,
    transposed,
)

MAX_BIDS = tl.constexpr(8)  # how often rows may push each other off a column before shortest paths take over
FEW_COLUMNS = tl.constexpr(8)  # columns that are looked up one by one
LEFT_OUT = tl.constexpr(-1)  # how a search can end other than in a column: the row had rather have no more links
SEARCHING = tl.constexpr(-2)
IMPOSSIBLE = tl.constexpr(-3)


# ---- OneTo and UpTo: each row wants `units` columns, each column at most one row; a row's unit may be left out at the
# ---- price `ceiling` (+inf: never)


@triton.jit
def _bid(
    p: Problem, ceiling: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr, REAL: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """A quick start: each row takes its best column, at the price that makes its second best as good.

    Returns the prices of rows and columns, the owner of each column, and which rows still want one.
    """
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    u, v = tl.zeros((ROWS,), REAL), tl.zeros((COLUMNS,), REAL)
    owner = tl.full((COLUMNS,), -1, tl.int32)
    wants = (rows < p.n).to(tl.int32)
    newcomer = tl.full((), 0, tl.int32)
    while newcomer < p.n:
        i = newcomer
        bids = tl.full((), 0, tl.int32)
        while (i >= 0) & (bids < MAX_BIDS):
            x = one_row(p, i, columns, REAL) - v
            best = least(x)
            j = first(x == best, columns, COLUMNS)
            second = tl.minimum(least(tl.where(columns == j, float("inf"), x)), ceiling)
            content = (best >= ceiling) & (ceiling < float("inf"))
            takes = (best < ceiling) & (second < float("inf"))
            j = tl.where(takes, j, COLUMNS)  # no column at all
            outbid = tl.where(takes, at(owner, columns, j), -1)
            v = tl.where(columns == j, v - (second - best), v)
            owner = tl.where(columns == j, i, owner)
            u = tl.where(rows == i, tl.where(content, ceiling, second), u)
            wants = tl.where(rows == i, tl.where(content | takes, 0, 1), wants)
            wants = tl.where(rows == outbid, 1, wants)
            i = tl.where(second > best, outbid, -1)
            bids += 1
        newcomer += 1
    return u, v, owner, wants


@triton.jit
def _search(
    p: Problem, ceiling: tl.tensor, start: tl.tensor, u: tl.tensor, v: tl.tensor, owner: tl.tensor, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, REAL: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:  # fmt: skip
    """Gives row `start` one more unit along the shortest path: new prices and owners, and how the search ended.

    A path ends in a free column, or in a row that had rather be left out and hands on the column it was reached by.
    """
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    reach = tl.full((ROWS,), float("inf"), REAL)  # the distance at which a row was reached
    spent = tl.full((COLUMNS,), float("inf"), REAL)  # the distance at which a column was settled
    distance = tl.full((COLUMNS,), float("inf"), REAL)
    via = tl.zeros((COLUMNS,), tl.int32)
    d, out = tl.full((), 0.0, REAL), tl.full((), float("inf"), REAL)
    i, entry = start, tl.full((), -1, tl.int32)
    given, end = tl.full((), -1, tl.int32), tl.full((), -2, tl.int32)
    turns = tl.full((), 0, tl.int32)
    while (end == SEARCHING) & (turns <= ROWS):
        row = one_row(p, i, columns, REAL)
        price = at(u, rows, i)
        reach = tl.where(rows == i, d, reach)
        spent = tl.where(owner == i, d, spent)  # all the columns of a row are as near as the row
        stay = d + tl.maximum(ceiling - price, 0.0)
        given = tl.where(stay < out, entry, given)
        out = tl.minimum(stay, out)
        slack = row - price - v
        x = d + tl.where(slack > 0, slack, 0.0)  # rounding can leave it a little below 0
        nearer = x < distance
        distance = tl.where(nearer, x, distance)
        via = tl.where(nearer, i * (2 * COLUMNS) + entry + 1, via)
        reachable = tl.where(spent < float("inf"), float("inf"), distance)
        best, j, holder = nearest(reachable, owner, columns, COLUMNS)
        stops = best >= out
        end = tl.where(stops, tl.where(out < float("inf"), given, IMPOSSIBLE), tl.where(holder < 0, j, SEARCHING))
        d = tl.where(stops, out, best)
        i, entry = holder, j
        turns += 1
    u = tl.where(reach < float("inf"), u + (d - reach), u)
    v = tl.where(spent < float("inf"), v - (d - spent), v)
    owner, _ = hand_on(end, via, owner, columns, COLUMNS)
    return u, v, owner, end


@triton.jit
def assign(
    p: Problem, ceiling: tl.tensor, units: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr, REAL: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Links every row to `units` columns at the smallest cost: owners, columns' prices, whether it can be done."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    bidders = tl.where(units == 1, p.n, 0)
    u, v, owner, wants = _bid(resized(p, bidders, p.m), ceiling, ROWS, COLUMNS, REAL)
    wants = tl.where(rows < p.n - bidders, units, wants)
    start = first(wants > 0, rows, ROWS)
    end = tl.full((), 0, tl.int32)
    while (start < ROWS) & (end != IMPOSSIBLE):
        row = one_row(p, start, columns, REAL)
        price = tl.minimum(least(row - v), ceiling)
        u = tl.where(rows == start, tl.where(price < float("inf"), price, 0.0), u)
        u, v, owner, end = _search(p, ceiling, start, u, v, owner, ROWS, COLUMNS, REAL)
        wants = tl.where(rows == start, tl.where(end == LEFT_OUT, 0, wants - 1), wants)
        start = first(wants > 0, rows, ROWS)
    return owner, v, end != IMPOSSIBLE


# ---- Exactly: one link more at a time, wherever it costs least ----


@triton.jit
def cheapest(
    p: Problem, linked: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr, REAL: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """What each column's cheapest row without a link costs, and which row that is."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    near = tl.full((COLUMNS,), float("inf"), REAL)
    near_row = tl.zeros((COLUMNS,), tl.int32)
    start = tl.full((), 0, tl.int32)
    while start < p.n:
        for t in tl.static_range(AT_ONCE):
            i = start + t
            free = tl.where((i < p.n) & (at(linked, rows, i) == 0), p.m, 0)
            c = one_row(resized(p, p.n, free), i, columns, REAL)
            near_row = tl.where(c < near, i, near_row)
            near = tl.where(c < near, c, near)
        start += AT_ONCE
    return near, near_row


@triton.jit
def _forget(
    p: Problem, linked: tl.tensor, near: tl.tensor, near_row: tl.tensor, i: tl.tensor, ROWS: tl.constexpr, COLUMNS:
    tl.constexpr, AT_ONCE: tl.constexpr, REAL: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """Brings up to date what the cheapest row costs, for the columns where it was row i, which has a link now."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    stale = ((near_row == i) & (near < float("inf"))).to(tl.int32)
    if tl.sum(stale, axis=0) > FEW_COLUMNS:
        near, near_row = cheapest(p, linked, ROWS, COLUMNS, AT_ONCE, REAL)
    else:
        j = first(stale > 0, columns, COLUMNS)
        while j < COLUMNS:
            column = one_row(transposed(p), j, rows, REAL)
            column = tl.where(linked > 0, float("inf"), column)
            best = least(column)
            near = tl.where(columns == j, best, near)
            near_row = tl.where(columns == j, first(column == best, rows, ROWS), near_row)
            stale = tl.where(columns == j, 0, stale)
            j = first(stale > 0, columns, COLUMNS)
    return near, near_row


@triton.jit
def one_more_link(
    p: Problem, price: tl.tensor, u: tl.tensor, v: tl.tensor, owner: tl.tensor, linked: tl.tensor, near: tl.tensor,
    near_row: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr, REAL: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor]:  # fmt: skip
    """Turns the cheapest k links into the cheapest k + 1, by a shortest path from any row without a link.

    `price` is what the last link added, the u of every row that has none yet; it leaves as what this one adds, +inf if
    there is no further link.
    """
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    reach = tl.full((ROWS,), float("inf"), REAL)
    spent = tl.full((COLUMNS,), float("inf"), REAL)
    slack = near - price - v
    distance = tl.where(slack > 0, slack, 0.0)
    via = near_row * (2 * COLUMNS)  # a path starts there: no column before
    best, j, holder = nearest(distance, owner, columns, COLUMNS)
    turns = tl.full((), 0, tl.int32)
    while (best < float("inf")) & (holder >= 0) & (turns <= ROWS):
        row = one_row(p, holder, columns, REAL)
        of_row = at(u, rows, holder)
        reach = tl.where(rows == holder, best, reach)
        spent = tl.where(columns == j, best, spent)
        slack = row - of_row - v
        x = best + tl.where(slack > 0, slack, 0.0)
        nearer = x < distance
        distance = tl.where(nearer, x, distance)
        via = tl.where(nearer & (spent == float("inf")), holder * (2 * COLUMNS) + j + 1, via)
        reachable = tl.where(spent < float("inf"), float("inf"), distance)
        best, j, holder = nearest(reachable, owner, columns, COLUMNS)
        turns += 1
    if best < float("inf"):
        u = tl.where(reach < float("inf"), u + (best - reach), u)
        v = tl.where(spent < float("inf"), v - (best - spent), v)
        owner, source = hand_on(j, via, owner, columns, COLUMNS)
        u = tl.where(rows == source, price + best, u)
        linked = tl.where(rows == source, 1, linked)
        near, near_row = _forget(p, linked, near, near_row, source, ROWS, COLUMNS, AT_ONCE, REAL)
    return price + best, u, v, owner, linked, near, near_row
