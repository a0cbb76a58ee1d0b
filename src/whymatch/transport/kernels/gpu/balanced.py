"""`Balanced()` on the GPU: each program reads one problem, solves it, certifies it and writes it out."""

import triton
import triton.language as tl

from whymatch.transport.kernels.gpu.batches import INFEASIBLE, INVALID, OK, OUT_OF_RANGE
from whymatch.transport.kernels.gpu.flows import transport, untangle
from whymatch.transport.kernels.gpu.steps import Problem, at, in_double, in_range, measure, one_row, resized


@triton.jit
def _bound_masses(
    p: Problem, sent: tl.tensor, taken: tl.tensor, v: tl.tensor, ROWS: tl.constexpr, COLUMNS: tl.constexpr
) -> tl.tensor:
    """A lower bound on the cost, whatever the columns' prices: every column takes all it can."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    v = v.to(tl.float64)
    total = tl.sum(taken.to(tl.float64) * v, axis=0)
    i = tl.full((), 0, tl.int32)
    while i < p.n:
        c = one_row(p, i, columns, tl.float64)
        units = at(sent, rows, i).to(tl.float64)
        price = tl.min(tl.where(columns < p.m, c - v, float("inf")), axis=0)
        total += tl.where(units > 0, units * price, 0.0)
        i += 1
    return total


@triton.jit
def _write_flow(
    p: Problem, flow: tl.tensor, plan: tl.tensor, wide: tl.tensor, unit: tl.tensor, crumb: tl.tensor, turned: tl.tensor,
    N: tl.tensor, M: tl.tensor, LIMIT: tl.constexpr, SIDE: tl.constexpr, REAL: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:  # fmt: skip
    """Writes every entry of a plan once.

    Returns what it costs, what its units cost (scaled), what they cost above the smallest cost (scaled), and whether
    some mass is above LIMIT or has become 0. Links of `crumb` units or less come from rounding the masses, and are
    dropped.
    """
    spans = tl.arange(0, SIDE)
    total, scaled = tl.full((), 0.0, tl.float64), tl.full((), 0.0, tl.float64)
    above, lost = tl.full((), 0.0, tl.float64), tl.full((), 0, tl.int32)
    left = tl.full((), 0, tl.int32)
    while left < N:
        last = tl.where(left < tl.where(turned, p.m, p.n), tl.where(turned, p.n, p.m), 0)
        place = tl.where(turned, left * wide + spans, spans * wide + left)
        units = tl.load(flow + place, mask=spans < last, other=0)
        x = tl.load(p.costs + left * M + spans, mask=(spans < last) & (units > 0), other=0.0).to(tl.float64)
        mass = tl.where(units > crumb, units.to(tl.float64) * unit, 0.0)
        tl.store(plan + left * M + spans, mass.to(REAL), mask=spans < M)
        total += tl.sum(x * mass, axis=0)
        scaled += tl.sum(x * p.scale * units.to(tl.float64), axis=0)
        above += tl.sum(tl.where(units > 0, (x * p.scale - p.low) * units.to(tl.float64), 0.0), axis=0)
        bad = (mass > LIMIT) | ((units > crumb) & (mass.to(REAL) == 0))
        lost = tl.maximum(lost, tl.max(bad.to(tl.int32), axis=0))
        left += 1
    return total, scaled, above, lost


@triton.jit(do_not_specialize=["N", "M"])
def solve_masses(
    costs: tl.tensor, sizes: tl.tensor, supply: tl.tensor, demand: tl.tensor, units: tl.tensor, crumbs: tl.tensor, flow:
    tl.tensor, plan: tl.tensor, value: tl.tensor, gap: tl.tensor, status: tl.tensor, N: tl.tensor, M: tl.tensor, HUGE:
    tl.constexpr, SHRINK: tl.constexpr, LIMIT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE:
    tl.constexpr, REAL: tl.constexpr,
) -> None:  # fmt: skip
    """`Balanced()` for each problem whose status is ok: as many units on the left as on the right.

    Rows are the longer text's spans, which send: fewer paths break that way. `flow` comes in as zeros.
    """
    b = tl.program_id(0).to(tl.int64)
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    left, right = tl.load(sizes + 2 * b).to(tl.int32), tl.load(sizes + 2 * b + 1).to(tl.int32)
    turned = left < right
    n, m = tl.maximum(left, right), tl.minimum(left, right)
    across, along = tl.where(turned, 1, M), tl.where(turned, M, 1)
    between = tl.maximum(N, M)
    costs, flow, plan = costs + b * N * M, flow + b * N * M, plan + b * N * M
    wanted = tl.load(status + b) == OK
    n, m = tl.where(wanted, n, 0), tl.where(wanted, m, 0)
    valid, low, wide = measure(costs, across, along, n, m, HUGE, AT_ONCE, COLUMNS, REAL)
    scale = tl.where(wide | (low < -HUGE), SHRINK, 1.0).to(REAL)
    low = low * scale
    n, m = tl.where(valid, n, 0), tl.where(valid, m, 0)
    p = Problem(costs, across, along, n, m, tl.full((), float("inf"), REAL), low, scale)
    of_left, of_right = supply + b * N, demand + b * M
    from_left = tl.load(of_left + rows, mask=rows < tl.where(turned, 0, n), other=0)
    from_right = tl.load(of_right + rows, mask=rows < tl.where(turned, n, 0), other=0)
    to_left = tl.load(of_left + columns, mask=columns < tl.where(turned, m, 0), other=0)
    to_right = tl.load(of_right + columns, mask=columns < tl.where(turned, 0, m), other=0)
    sent, taken = from_left + from_right, to_left + to_right
    v, possible = transport(p, flow, between, sent, taken, ROWS, COLUMNS, REAL)
    feasible = wanted & valid & (possible > 0)
    n, m = tl.where(feasible, n, 0), tl.where(feasible, m, 0)
    untangle(flow, between, n, m, ROWS, COLUMNS)
    unit, crumb = tl.load(units + b), tl.load(crumbs + b)
    p = resized(in_double(p), n, m)
    total, scaled, above, lost = _write_flow(p, flow, plan, between, unit, crumb, turned, N, M, LIMIT, ROWS, REAL)
    total = in_range(total, scaled * unit, p.scale, LIMIT)
    least_cost = _bound_masses(p, sent, taken, v, ROWS, COLUMNS)
    tl.store(value + b, tl.where(feasible, total, float("nan")))
    tl.store(gap + b, tl.where(feasible, (above - least_cost) * unit / p.scale, float("nan")))
    if wanted & (feasible == 0):
        tl.store(status + b, tl.where(valid, INFEASIBLE, INVALID))
    elif feasible & ((lost > 0) | (tl.abs(total) == float("inf"))):
        tl.store(status + b, OUT_OF_RANGE)
