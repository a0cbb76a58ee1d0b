"""Optimal transport of whole units on the GPU: rows send out all they have, columns take in all they have room for.

Successive shortest paths, as on the CPU; units are integers, so that no mass is lost to rounding. Paths that move few
units each can be very many: after some patience it starts over with the same prices and moves half of the largest
supply at a time, then a quarter, and so on, which bounds the number of searches by spans times digits.

What moves where is in memory, by column (`flow`, with `wide` numbers per column). A barrier follows every write, since
another thread may read it.
"""

import triton
import triton.language as tl

from whymatch.transport.kernels.gpu.steps import Problem, at, first, least, nearest, one_row

SEARCHES_PER_SPAN = tl.constexpr(4)  # searches for each span, before it starts over with large units
MAX_SEARCHES = tl.constexpr(1 << 20)  # more searches than there ever are


@triton.jit
def move(flow: tl.tensor, wide: tl.tensor, i: tl.tensor, j: tl.tensor, units: tl.tensor) -> tl.tensor:
    """Adds `units` from row i to column j, or takes them away where negative; returns what was there before."""
    place = flow + j * wide + i
    before = tl.load(place)
    tl.debug_barrier()
    tl.store(place, before + units)
    tl.debug_barrier()
    return before


@triton.jit
def _greedy(
    p: Problem, flow: tl.tensor, wide: tl.tensor, supply: tl.tensor, room: tl.tensor, ROWS: tl.constexpr, COLUMNS:
    tl.constexpr, REAL: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:  # fmt: skip
    """Starts from prices that touch every column and every row, and moves what costs nothing above them.

    Returns the prices of rows and columns, what the rows have left, and the room that is left in columns.
    """
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    u = tl.zeros((ROWS,), REAL)
    v = tl.full((COLUMNS,), float("inf"), REAL)
    i = tl.full((), 0, tl.int32)
    while i < p.n:
        c = one_row(p, i, columns, REAL)
        v = tl.where(c < v, c, v)
        i += 1
    v = tl.where(v < float("inf"), v, 0.0)
    i = tl.full((), 0, tl.int32)
    while i < p.n:
        c = one_row(p, i, columns, REAL) - v
        price = least(c)
        u = tl.where(rows == i, tl.where(price < float("inf"), price, 0.0), u)
        has = at(supply, rows, i)
        tight = tl.where((c == price) & (c < float("inf")), 1, 0)
        j = first((tight > 0) & (room > 0), columns, COLUMNS)
        while (has > 0) & (j < COLUMNS):
            units = tl.minimum(has, at(room, columns, j))
            move(flow, wide, i, j, units)
            has -= units
            room = tl.where(columns == j, room - units, room)
            tight = tl.where(columns == j, 0, tight)
            j = first((tight > 0) & (room > 0), columns, COLUMNS)
        supply = tl.where(rows == i, has, supply)
        i += 1
    return u, v, supply, room


@triton.jit
def _push(
    flow: tl.tensor, wide: tl.tensor, start: tl.tensor, end: tl.tensor, units: tl.tensor, delta: tl.tensor, via:
    tl.tensor, entry: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """Moves what it can of `units`, in multiples of `delta`, from row `start` along the path that ends in column `end`.

    Returns how many, and whether the path broke: whether a row on it has nothing left in the column it was reached by.
    """
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    i = at(via, columns, end)
    turns = tl.full((), 0, tl.int32)
    while (i != start) & (turns <= ROWS):
        j = at(entry, rows, i)
        units = tl.minimum(units, tl.load(flow + j * wide + i))
        i = at(via, columns, j)
        turns += 1
    units = units // delta * delta
    broke = tl.full((), 0, tl.int32)
    i, j = at(via, columns, end), end
    move(flow, wide, i, j, units)
    turns = tl.full((), 0, tl.int32)
    while (i != start) & (turns <= ROWS):
        j = at(entry, rows, i)
        broke = tl.where(move(flow, wide, i, j, -units) == units, 1, broke)
        i = at(via, columns, j)
        move(flow, wide, i, j, units)
        turns += 1
    return units, broke


@triton.jit
def _send(
    p: Problem, flow: tl.tensor, wide: tl.tensor, start: tl.tensor, delta: tl.tensor, u: tl.tensor, v: tl.tensor, has:
    tl.tensor, room: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr, REAL: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor]:  # fmt: skip
    """Sends units of row `start`, at least `delta` at a time, along shortest paths until one breaks or none is left.

    Returns new prices, what the row still has, the room left in columns, and whether there was a path at all.
    """
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    reach = tl.where(rows == start, 0.0, float("inf")).to(REAL)
    waits = tl.where(rows == start, 1, 0)  # reached, but paths through it were not looked at yet
    entry = tl.zeros((ROWS,), tl.int32)
    spent = tl.full((COLUMNS,), float("inf"), REAL)
    distance = tl.full((COLUMNS,), float("inf"), REAL)
    via = tl.zeros((COLUMNS,), tl.int32)
    d = tl.full((), 0.0, REAL)
    going, succeeded = tl.full((), 1, tl.int32), tl.full((), 1, tl.int32)
    turns, had = tl.full((), 0, tl.int32), has
    while (going > 0) & (turns <= 2 * (ROWS + COLUMNS)):
        i = first(waits > 0, rows, ROWS)
        if i < ROWS:
            waits = tl.where(rows == i, 0, waits)
            price = at(u, rows, i)
            slack = one_row(p, i, columns, REAL) - price - v
            x = at(reach, rows, i) + tl.where(slack > 0, slack, 0.0)
            nearer = (x < distance) & (spent == float("inf"))
            distance = tl.where(nearer, x, distance)
            via = tl.where(nearer, i, via)
        else:
            reachable = tl.where(spent < float("inf"), float("inf"), distance)
            best, j, full = nearest(reachable, tl.where(room >= delta, -1, 0), columns, COLUMNS)
            succeeded = tl.where(best < float("inf"), 1, 0)
            going = succeeded
            if succeeded > 0:
                d = best
                if full < 0:
                    units, broke = _push(
                        flow, wide, start, j, tl.minimum(has, at(room, columns, j)), delta, via, entry, ROWS, COLUMNS
                    )
                    has -= units
                    room = tl.where(columns == j, room - units, room)
                    going = tl.where((broke > 0) | (has < delta), 0, 1)
                else:
                    spent = tl.where(columns == j, best, spent)
                    holds = tl.load(flow + j * wide + rows, mask=rows < p.n, other=0)
                    new = (holds > 0) & (reach == float("inf"))
                    reach = tl.where(new, best, reach)
                    entry = tl.where(new, j, entry)
                    waits = tl.where(new, 1, waits)
        turns += 1
    if (succeeded > 0) | (has < had):  # units that moved need prices under which their path costs nothing
        u = tl.where(reach < float("inf"), u + (d - reach), u)
        v = tl.where(spent < float("inf"), v - (d - spent), v)
    return u, v, has, room, succeeded


@triton.jit
def transport(
    p: Problem, flow: tl.tensor, wide: tl.tensor, sent: tl.tensor, taken: tl.tensor, ROWS: tl.constexpr, COLUMNS:
    tl.constexpr, REAL: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """Moves what is `sent` into what can be `taken` at the smallest cost: columns' prices, whether it can be done."""
    rows = tl.arange(0, ROWS)
    u, v, supply, room = _greedy(p, flow, wide, sent, taken, ROWS, COLUMNS, REAL)
    largest = tl.max(sent, axis=0)
    delta = tl.full((), 1, tl.int64)
    skipped = tl.zeros((ROWS,), tl.int32)  # rows that cannot send this many at a time
    patience, searches = (p.n + p.m) * SEARCHES_PER_SPAN, tl.full((), 0, tl.int32)
    possible = tl.full((), 1, tl.int32)
    while (delta > 0) & (possible > 0) & (searches < MAX_SEARCHES):
        start = first((supply >= delta) & (skipped == 0), rows, ROWS)
        if start == ROWS:
            delta = delta // 2
            skipped = tl.zeros((ROWS,), tl.int32)
        elif searches == patience:
            j = tl.full((), 0, tl.int32)
            while j < p.m:
                tl.store(flow + j * wide + rows, tl.zeros((ROWS,), tl.int64), mask=rows < p.n)
                j += 1
            tl.debug_barrier()
            supply, room = sent, taken
            while delta * 2 <= largest:
                delta = delta * 2
        else:
            has = at(supply, rows, start)
            u, v, has, room, succeeded = _send(p, flow, wide, start, delta, u, v, has, room, ROWS, COLUMNS, REAL)
            supply = tl.where(rows == start, has, supply)
            skipped = tl.where(rows == start, 1 - succeeded, skipped)
            possible = tl.where(delta == 1, succeeded, possible)
        searches += 1
    return v, tl.where(tl.max(supply, axis=0) > 0, 0, possible)


@triton.jit
def untangle(
    flow: tl.tensor, wide: tl.tensor, n: tl.tensor, m: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr
) -> None:
    """Removes cycles of links: every link is tight, so that moving units around a cycle costs nothing."""
    tangled = tl.where(n > 0, 1, 0)
    turns = tl.full((), 0, tl.int32)
    while (tangled > 0) & (turns < ROWS * COLUMNS):
        alive_rows, alive_columns = _on_cycles(flow, wide, n, m, ROWS, COLUMNS)
        tangled = tl.max(alive_rows, axis=0)
        if tangled > 0:
            _cancel(flow, wide, n, m, alive_rows, alive_columns, ROWS, COLUMNS)
        turns += 1


@triton.jit
def _on_cycles(
    flow: tl.tensor, wide: tl.tensor, n: tl.tensor, m: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """The rows and columns that remain when leaves are taken off until there are none."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    alive_rows, alive_columns = (rows < n).to(tl.int32), (columns < m).to(tl.int32)
    left, before = n + m, n + m + 1
    while left < before:
        before = left
        degree = tl.zeros((ROWS,), tl.int32)
        j = tl.full((), 0, tl.int32)
        while j < m:
            holds = tl.load(flow + j * wide + rows, mask=rows < n, other=0)
            links = tl.where(holds > 0, alive_rows, 0) * at(alive_columns, columns, j)
            keeps = tl.where(tl.sum(links, axis=0) > 1, 1, 0)
            alive_columns = tl.where(columns == j, keeps, alive_columns)
            degree += links * keeps
            j += 1
        alive_rows = tl.where(degree > 1, alive_rows, 0)
        left = tl.sum(alive_rows, axis=0) + tl.sum(alive_columns, axis=0)
    return alive_rows, alive_columns


@triton.jit
def _cancel(
    flow: tl.tensor, wide: tl.tensor, n: tl.tensor, m: tl.tensor, alive_rows: tl.tensor, alive_columns: tl.tensor, ROWS:
    tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """Walks along links until a row comes up again, and moves units around that cycle until one link is empty."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    visited = tl.zeros((ROWS,), tl.int32)
    after_row, after_column = tl.zeros((ROWS,), tl.int32), tl.full((COLUMNS,), -1, tl.int32)
    i, came = first(alive_rows > 0, rows, ROWS), tl.full((), -1, tl.int32)
    seen, turns = tl.full((), 0, tl.int32), tl.full((), 0, tl.int32)
    while (seen == 0) & (turns <= ROWS):
        visited = tl.where(rows == i, 1, visited)
        of_row = tl.load(flow + columns * wide + i, mask=columns < m, other=0)
        j = first((of_row > 0) & (alive_columns > 0) & (columns != came), columns, COLUMNS)
        after_row = tl.where(rows == i, j, after_row)
        of_column = tl.load(flow + j * wide + rows, mask=rows < n, other=0)
        onward = first((of_column > 0) & (alive_rows > 0) & (rows != i), rows, ROWS)
        earlier = at(after_column, columns, j)
        onward = tl.where(earlier >= 0, earlier, onward)  # a column that came up before closes the cycle
        after_column = tl.where(columns == j, onward, after_column)
        seen = at(visited, rows, onward)
        i, came = onward, j
        turns += 1
    units = tl.load(flow + at(after_row, rows, i) * wide + i)
    r = at(after_column, columns, at(after_row, rows, i))
    while (r != i) & (turns <= 2 * ROWS + 1):
        j = at(after_row, rows, r)
        units = tl.minimum(units, tl.load(flow + j * wide + r))
        r = at(after_column, columns, j)
        turns += 1
    going = tl.full((), 1, tl.int32)
    while (going > 0) & (turns <= 4 * ROWS + 2):
        j = at(after_row, rows, r)
        move(flow, wide, r, j, -units)
        r = at(after_column, columns, j)
        move(flow, wide, r, j, units)
        going = tl.where(r == i, 0, 1)
        turns += 1
