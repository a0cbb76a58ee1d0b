"""The kernels for links: each program reads one problem, solves it, certifies it and writes it out.

A problem sees only its own rows and columns, so that neither padding nor a neighbour can change its result by one bit.
The certificate is computed in double precision, from the costs as they were given and the columns' prices alone: prices
that single precision has rounded still give a bound that holds.
"""

import triton
import triton.language as tl

from whymatch.transport import constraints
from whymatch.transport.kernels.gpu.links import assign, cheapest, one_more_link
from whymatch.transport.kernels.gpu.steps import Problem, at, first, in_double, in_range, least, measure, one_row
from whymatch.transport.solution import Status

OK = tl.constexpr(int(Status.OK))
INVALID = tl.constexpr(int(Status.INVALID))
INFEASIBLE = tl.constexpr(int(Status.INFEASIBLE))
OUT_OF_RANGE = tl.constexpr(int(Status.OUT_OF_RANGE))
ONE_TO, UP_TO, EXACTLY = (tl.constexpr(rule) for rule in (constraints.ONE_TO, constraints.UP_TO, constraints.EXACTLY))


@triton.jit
def _look(
    sizes: tl.tensor, N: tl.tensor, M: tl.tensor, b: tl.tensor, RAGGED: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """How problem b lies in memory: rows and columns, the strides between them, whether right spans are the rows."""
    if RAGGED:
        left = tl.load(sizes + 2 * b).to(tl.int32)
        right = tl.load(sizes + 2 * b + 1).to(tl.int32)
        left, right = tl.minimum(tl.maximum(left, 0), N), tl.minimum(tl.maximum(right, 0), M)
    else:
        left, right = N + 0, M + 0
    turned = left > right
    return (tl.minimum(left, right), tl.maximum(left, right), tl.where(turned, 1, M), tl.where(turned, M, 1), turned)


@triton.jit
def bound(
    p: Problem, v: tl.tensor, most: tl.tensor, RULE: tl.constexpr, AT_ONCE: tl.constexpr, COLUMNS: tl.constexpr
) -> tl.tensor:
    """The sum over rows of what the cheapest column at prices v costs more than `most`, if a row may be left out: less.

    With the sum of the prices, which are not positive, this bounds the cost of any links from below.
    """
    columns = tl.arange(0, COLUMNS)
    total = tl.full((), 0.0, tl.float64)
    start = tl.full((), 0, tl.int32)
    while start < p.n:
        for t in tl.static_range(AT_ONCE):
            c = one_row(p, tl.minimum(start + t, p.n - 1), columns, tl.float64)
            more = least(c - v) - most
            if RULE != ONE_TO:
                more = tl.where(more < 0, more, 0.0)
            total += tl.where(start + t < p.n, more, 0.0)
        start += AT_ONCE
    return total


@triton.jit
def _sum_up(
    p: Problem, owner: tl.tensor, zero: tl.tensor, share: tl.tensor, COLUMNS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """What links of mass `share` cost above `zero`, in double precision: as it is, and scaled.

    Also, scaled, how much they cost together above the smallest cost.
    """
    columns = tl.arange(0, COLUMNS)
    there = owner >= 0
    x = tl.load(p.costs + owner * p.across + columns * p.along, mask=there, other=0.0).to(tl.float64)
    total = tl.sum(tl.where(there, (x - zero) * share, 0.0), axis=0)
    scaled = tl.sum(tl.where(there, (x * p.scale - zero * p.scale) * share, 0.0), axis=0)
    return total, scaled, tl.sum(tl.where(there, x * p.scale - p.low, 0.0), axis=0)


@triton.jit
def _write_plan(
    plan: tl.tensor, owner: tl.tensor, share: tl.tensor, turned: tl.tensor, N: tl.tensor, M: tl.tensor, COLUMNS:
    tl.constexpr,
) -> None:  # fmt: skip
    """Writes every entry of a plan once, along memory: `share` on links, else 0."""
    columns = tl.arange(0, COLUMNS)
    left = tl.full((), 0, tl.int32)
    if turned:
        while left < N:
            partner = at(owner, columns, left)
            tl.store(plan + left * M + columns, tl.where(columns == partner, share, 0.0), mask=columns < M)
            left += 1
    else:
        while left < N:
            tl.store(plan + left * M + columns, tl.where(owner == left, share, 0.0), mask=columns < M)
            left += 1


@triton.jit(do_not_specialize=["k", "N", "M"])
def solve_links(
    costs: tl.tensor, sizes: tl.tensor, limit: tl.tensor, plan: tl.tensor, value: tl.tensor, gap: tl.tensor, status:
    tl.tensor, k: tl.tensor, N: tl.tensor, M: tl.tensor, RULE: tl.constexpr, RAGGED: tl.constexpr, HUGE: tl.constexpr,
    SHRINK: tl.constexpr, LIMIT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr, REAL:
    tl.constexpr,
) -> None:  # fmt: skip
    """`OneTo(k)`, `UpTo(k, below)` with `limit` pointing at below, or `Exactly(k)`; all links have the same mass."""
    b = tl.program_id(0).to(tl.int64)
    n, m, across, along, turned = _look(sizes, N, M, b, RAGGED)
    costs += b * N * M
    valid, low, wide = measure(costs, across, along, n, m, HUGE, AT_ONCE, COLUMNS, REAL)
    below = tl.full((), float("inf"), REAL)
    ceiling = tl.full((), float("inf"), REAL)
    if RULE == UP_TO:
        below = tl.load(limit).to(REAL)
        wide = tl.abs(below) > HUGE  # what is not below it is in no sum
    scale = tl.where(wide | (low < -HUGE), SHRINK, 1.0).to(REAL)
    low = low * scale
    units = tl.minimum(k, m)  # no row can have more links than there are columns
    if RULE == ONE_TO:
        admitted = (n >= 1) & (k <= m // tl.maximum(n, 1))
        links = units * n
    elif RULE == UP_TO:
        admitted = n >= 0
        links = tl.minimum(units * n, m)
        ceiling = tl.maximum(below * scale - low, 0.0)
    else:
        admitted = k <= n
        links = k + 0
    share = 1.0 / tl.maximum(links, 1).to(tl.float64)
    n = tl.where(valid & admitted, n, 0)  # nothing to do
    p = Problem(costs, across, along, n, m, below, low, scale)
    price = tl.full((), 0.0, REAL)
    if RULE == EXACTLY:
        owner, v, price, feasible = _exactly(p, k, ROWS, COLUMNS, AT_ONCE, REAL)
    else:
        owner, v, feasible = assign(p, ceiling, units, ROWS, COLUMNS, REAL)
    feasible = feasible & valid & admitted
    owner = tl.where(feasible, owner, -1)
    _write_plan(plan + b * N * M, owner, share.to(REAL), turned, N, M, COLUMNS)
    total, above = _certify(p, owner, v, price, units, share, RULE, LIMIT, AT_ONCE, COLUMNS)
    tl.store(value + b, tl.where(feasible, total, float("nan")))
    tl.store(gap + b, tl.where(feasible, above, float("nan")))
    solved = tl.where(tl.abs(total) < float("inf"), OK, OUT_OF_RANGE)
    tl.store(status + b, tl.where(feasible, solved, tl.where(valid, INFEASIBLE, INVALID)))


@triton.jit
def _exactly(
    p: Problem, k: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr, REAL: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """The cheapest k links: owners, columns' prices, what the last one added, and whether there are so many."""
    u, v = tl.zeros((ROWS,), REAL), tl.zeros((COLUMNS,), REAL)
    owner, linked = tl.full((COLUMNS,), -1, tl.int32), tl.zeros((ROWS,), tl.int32)
    near, near_row = cheapest(p, linked, ROWS, COLUMNS, AT_ONCE, REAL)
    price = tl.full((), 0.0, REAL)
    done = tl.full((), 0, tl.int32)
    wanted = tl.where(p.n > 0, k, 0)
    while (done < wanted) & (price < float("inf")):
        price, u, v, owner, linked, near, near_row = one_more_link(
            p, price, u, v, owner, linked, near, near_row, ROWS, COLUMNS, AT_ONCE, REAL
        )
        done += 1
    return owner, v, price, price < float("inf")


@triton.jit
def _certify(
    p: Problem, owner: tl.tensor, v: tl.tensor, price: tl.tensor, units: tl.tensor, share: tl.tensor, RULE:
    tl.constexpr, LIMIT: tl.constexpr, AT_ONCE: tl.constexpr, COLUMNS: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """The objective of links of mass `share`, ±inf beyond LIMIT, and how far at most it lies above the optimum."""
    p = in_double(p)
    v = tl.where(v < 0, v, 0.0).to(tl.float64)  # a column may stay empty
    links = tl.sum((owner >= 0).to(tl.int32), axis=0).to(tl.float64)
    most, zero = price.to(tl.float64), tl.full((), 0.0, tl.float64)
    if RULE == UP_TO:
        most, zero = p.below * p.scale - p.low, p.below
    total, scaled, above_low = _sum_up(p, owner, zero, share, COLUMNS)
    rest = bound(p, v, most, RULE, AT_ONCE, COLUMNS)
    if RULE != EXACTLY:
        rest *= units.to(tl.float64)
    above = above_low - links * most - tl.sum(v, axis=0) - rest
    return in_range(total, scaled, p.scale, LIMIT), above * share / p.scale


@triton.jit(do_not_specialize=["k", "N", "M"])
def solve_choices(
    costs: tl.tensor, sizes: tl.tensor, limit: tl.tensor, plan: tl.tensor, value: tl.tensor, gap: tl.tensor, status:
    tl.tensor, k: tl.tensor, N: tl.tensor, M: tl.tensor, RAGGED: tl.constexpr, HUGE: tl.constexpr, SHRINK: tl.constexpr,
    LIMIT: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr, REAL: tl.constexpr,
) -> None:  # fmt: skip
    """`Each(k, below)` with `limit` pointing at below: the k cheapest pairs of every left span."""
    b = tl.program_id(0).to(tl.int64)
    n, m, _, _, turned = _look(sizes, N, M, b, RAGGED)
    if turned:
        n, m = m, n  # left spans are the rows
    costs += b * N * M
    valid, low, _ = measure(costs, M, 1, n, m, HUGE, AT_ONCE, COLUMNS, REAL)
    below = tl.load(limit).to(REAL)
    scale = tl.where((tl.abs(below) > HUGE) | (low < -HUGE), SHRINK, 1.0).to(REAL)
    units = tl.minimum(k, m)
    share = 1.0 / tl.maximum(units * n, 1).to(tl.float64)
    n = tl.where(valid, n, 0)  # nothing to do
    p = Problem(costs, M, 1, n, m, below, low * scale, scale)
    q = in_double(p)
    most = q.below * q.scale - q.low
    columns = tl.arange(0, COLUMNS)
    total, scaled, above = (tl.full((), 0.0, tl.float64), tl.full((), 0.0, tl.float64), tl.full((), 0.0, tl.float64))
    left = tl.full((), 0, tl.int32)
    while left < N:
        chosen = tl.zeros((COLUMNS,), tl.int32)
        if left < n:
            chosen = _cheapest_of_row(p, left, units, COLUMNS, REAL)
            x = tl.load(costs + left * M + columns, mask=chosen > 0, other=0.0).to(tl.float64)
            total += tl.sum(tl.where(chosen > 0, (x - q.below) * share, 0.0), axis=0)
            scaled += tl.sum(tl.where(chosen > 0, (x * q.scale - q.below * q.scale) * share, 0.0), axis=0)
            c = one_row(q, left, columns, tl.float64)
            price = tl.minimum(least(tl.where(chosen > 0, float("inf"), c)), most)
            links = tl.sum(chosen, axis=0)
            above += (links - units) * (price - most)
            above += tl.sum(tl.where(chosen > 0, c - price, 0.0) - tl.where(c < price, c - price, 0.0), axis=0)
        tl.store(plan + b * N * M + left * M + columns, tl.where(chosen > 0, share, 0.0).to(REAL), mask=columns < M)
        left += 1
    total = in_range(total, scaled, q.scale, LIMIT)
    tl.store(value + b, tl.where(valid, total, float("nan")))
    tl.store(gap + b, tl.where(valid, above * share / q.scale, float("nan")))
    solved = tl.where(tl.abs(total) < float("inf"), OK, OUT_OF_RANGE)
    tl.store(status + b, tl.where(valid, solved, INVALID))


@triton.jit
def _cheapest_of_row(
    p: Problem, i: tl.tensor, units: tl.tensor, COLUMNS: tl.constexpr, REAL: tl.constexpr
) -> tl.tensor:
    """1 at the `units` cheapest columns of a row, or at all that are not forbidden; the first of equal costs."""
    columns = tl.arange(0, COLUMNS)
    rest = one_row(p, i, columns, REAL)
    chosen = tl.zeros((COLUMNS,), tl.int32)
    done = tl.full((), 0, tl.int32)
    while done < units:
        best = least(rest)
        j = first((rest == best) & (rest < float("inf")), columns, COLUMNS)
        chosen = tl.where(columns == j, 1, chosen)
        rest = tl.where(columns == j, float("inf"), rest)
        done = tl.where(j < COLUMNS, done + 1, units)
    return chosen


@triton.jit(do_not_specialize=["K", "N", "M"])
def solve_path(
    costs: tl.tensor, sizes: tl.tensor, partner: tl.tensor, value: tl.tensor, increment: tl.tensor, gap: tl.tensor,
    status: tl.tensor, K: tl.tensor, N: tl.tensor, M: tl.tensor, RAGGED: tl.constexpr, HUGE: tl.constexpr, SHRINK:
    tl.constexpr, LIMIT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr, REAL:
    tl.constexpr,
) -> None:  # fmt: skip
    """`Exactly(k)` for every k up to K, into arrays that say on entry that there are no k links."""
    b = tl.program_id(0).to(tl.int64)
    n, m, across, along, turned = _look(sizes, N, M, b, RAGGED)
    costs += b * N * M
    columns = tl.arange(0, COLUMNS)
    valid, low, wide = measure(costs, across, along, n, m, HUGE, AT_ONCE, COLUMNS, REAL)
    scale = tl.where(wide | (low < -HUGE), SHRINK, 1.0).to(REAL)
    smallest = low
    low = low * scale
    p = Problem(costs, across, along, n, m, tl.full((), float("inf"), REAL), low, scale)
    u, v = tl.zeros((ROWS,), REAL), tl.zeros((COLUMNS,), REAL)
    owner, linked = tl.full((COLUMNS,), -1, tl.int32), tl.zeros((ROWS,), tl.int32)
    near, near_row = cheapest(p, linked, ROWS, COLUMNS, AT_ONCE, REAL)
    price = tl.full((), 0.0, REAL)
    done = tl.full((), 0, tl.int32)
    last = tl.where(valid, tl.minimum(n, K), 0)
    one = tl.full((), 1.0, tl.float64)
    while (done < last) & (price < float("inf")):
        price, u, v, owner, linked, near, near_row = one_more_link(
            p, price, u, v, owner, linked, near, near_row, ROWS, COLUMNS, AT_ONCE, REAL
        )
        if price < float("inf"):
            here = b * K + done
            left = tl.where(turned, columns, owner)
            tl.store(partner + here * N + left, tl.where(turned, owner, columns), mask=owner >= 0)
            total, above = _certify(p, owner, v, price, n, one, EXACTLY, LIMIT, AT_ONCE, COLUMNS)
            rise, wide_scale = price.to(tl.float64), scale.to(tl.float64)
            added = in_range(rise / wide_scale + smallest, rise + low, wide_scale, LIMIT)
            tl.store(value + here, total)
            tl.store(increment + here, added)
            tl.store(gap + here, above)
            held = (tl.abs(total) < float("inf")) & (tl.abs(added) < float("inf"))
            tl.store(status + here, tl.where(held, OK, OUT_OF_RANGE))
        done += 1
    if valid == 0:
        while done < K:
            tl.store(value + b * K + done, float("nan"))
            tl.store(increment + b * K + done, float("nan"))
            tl.store(status + b * K + done, INVALID)
            done += 1
